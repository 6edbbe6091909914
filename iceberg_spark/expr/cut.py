"""A text of SQL as tokens: where they stand, and of which kind."""

from __future__ import annotations

from functools import lru_cache

from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.tokenizer_core import Token

_LONGEST_KEPT = 100_000
"""Characters: of longer texts nothing is kept."""


def cut(text: str, grammar: type[Grammar]) -> tuple[Token, ...]:
    """Return a text's tokens; those of the last few texts are kept, for a query asks often.

    Raises SqlglotError for what can't be cut.
    """
    return _kept(text, grammar) if len(text) <= _LONGEST_KEPT else _cut(text, grammar)


def _cut(text: str, grammar: type[Grammar]) -> tuple[Token, ...]:
    return tuple(grammar().tokenize(text))


_kept = lru_cache(maxsize=16)(_cut)
