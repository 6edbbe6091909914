"""Columns under their table's whole name: `cat.db.t.id` is `t.id` where the table is a frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.cursor import tokens_of
from iceberg_spark.spark.sql.text_edits import Edit

Name: TypeAlias = tuple[str, ...]


def prefixes(text: str, names: Sequence[Name], dialect: Dialect) -> tuple[Edit, ...]:
    """Return the edits without catalog and namespace before a table's name and a column.

    `names` are whole names of tables; each edit ends where the table's own name begins.
    """
    wanted = {
        tuple(part.lower() for part in name[at:]) for name in names for at in range(len(name))
    }
    wanted = {name for name in wanted if len(name) > 1}
    if not wanted or text.count(".") < 2:
        return ()
    return tuple(_found(tokens_of(text, dialect), wanted, max(map(len, wanted))))


def _found(tokens: list[Token], wanted: set[Name], longest: int) -> Iterator[Edit]:
    at = 0
    while at < len(tokens):
        path = _path(tokens, at)
        size = next(
            (
                size
                for size in range(min(longest, len(path) - 1), 1, -1)
                if tuple(path[:size]) in wanted
            ),
            0,
        )
        if size:
            yield Edit(tokens[at].start, tokens[at + 2 * (size - 1)].start)
        at += max(2 * len(path) - 1, 1)


def _path(tokens: list[Token], at: int) -> list[str]:
    """Return the names with dots between them that begin here; a star may be the last."""
    found = []
    while at < len(tokens) and tokens[at].token_type is not TokenType.STRING:
        found.append(tokens[at].text.lower())
        if at + 1 >= len(tokens) or tokens[at + 1].token_type is not TokenType.DOT:
            return found
        at += 2
    return found
