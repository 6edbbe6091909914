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
    index = 0
    while index < len(tokens):
        parts = _path(tokens, index)
        index += max(2 * len(parts) - 1, 1)
        is_called = index < len(tokens) and tokens[index].token_type is TokenType.L_PAREN
        if len(parts) > 1 and not is_called:
            yield Path(
                tuple(part.text for part in parts),
                tuple(part.start for part in parts),
                tuple(part.end + 1 for part in parts),
            )


def _path(tokens: Sequence[Token], index: int) -> list[Token]:
    parts = []
    while index < len(tokens) and tokens[index].token_type is not TokenType.STRING:
        parts.append(tokens[index])
        if index + 1 >= len(tokens) or tokens[index + 1].token_type is not TokenType.DOT:
            return parts
        index += 2
    return parts
