"""Names with dots between them in a text, such as columns behind their table's whole name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.cursor import tokens_of
from iceberg_spark.spark.sql.text_edits import Edit
from iceberg_spark.spec.quoted_name import quoted

Name: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """Two or more names, a star may be the last; `starts` and `ends` are each one's place."""

    parts: Name
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def text(self) -> str:
        """The names as people write them."""
        return ".".join(self.parts)

    def cut_before(self, size: int) -> Edit:
        """Return the edit after which the last of the first `size` names begins the path."""
        return Edit(self.starts[0], self.starts[size - 1])

    def behind(self, size: int, name: str) -> Edit:
        """Return the edit after which one name stands for the first `size`."""
        return Edit(self.starts[0], self.ends[size - 1], quoted(name))


def paths(text: str, dialect: Dialect) -> Iterator[Path]:
    """Yield the names of several parts in a text, none of functions that are called."""
    tokens = tokens_of(text, dialect)
    at = 0
    while at < len(tokens):
        found = _path(tokens, at)
        at += max(2 * len(found) - 1, 1)
        is_called = at < len(tokens) and tokens[at].token_type is TokenType.L_PAREN
        if len(found) > 1 and not is_called:
            yield Path(
                tuple(one.text for one in found),
                tuple(one.start for one in found),
                tuple(one.end + 1 for one in found),
            )


def _path(tokens: Sequence[Token], at: int) -> list[Token]:
    found = []
    while at < len(tokens) and tokens[at].token_type is not TokenType.STRING:
        found.append(tokens[at])
        if at + 1 >= len(tokens) or tokens[at + 1].token_type is not TokenType.DOT:
            return found
        at += 2
    return found
