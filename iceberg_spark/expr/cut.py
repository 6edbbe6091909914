"""A text of SQL as tokens: where they stand, and of which kind."""

from __future__ import annotations

from functools import lru_cache

from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.tokenizer_core import Token

_LONGEST_CACHED = 100_000
"""Characters: of longer texts nothing is kept."""


def tokenize(text: str, grammar: type[Grammar]) -> tuple[Token, ...]:
    """Return a text's tokens; those of the last few texts are kept, for a query asks often.

    Raises SqlglotError for what can't be cut.
    """
    return _cached(text, grammar) if len(text) <= _LONGEST_CACHED else _cut(text, grammar)


def _cut(text: str, grammar: type[Grammar]) -> tuple[Token, ...]:
    return tuple(grammar().tokenize(text))


_cached = lru_cache(maxsize=16)(_cut)
