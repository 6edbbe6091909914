"""Tokens of a SQL text, with their positions and kinds."""

from __future__ import annotations

from functools import lru_cache

from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.tokenizer_core import Token

_LONGEST_CACHED = 100_000
"""Characters: longer texts are not cached."""


def tokenize(text: str, grammar: type[Grammar]) -> tuple[Token, ...]:
    """Return a text's tokens; the last few texts are cached, since a query tokenizes one often.

    Raises SqlglotError for a text that can't be tokenized.
    """
    return _cached(text, grammar) if len(text) <= _LONGEST_CACHED else _cut(text, grammar)


def _cut(text: str, grammar: type[Grammar]) -> tuple[Token, ...]:
    return tuple(grammar().tokenize(text))


_cached = lru_cache(maxsize=16)(_cut)
