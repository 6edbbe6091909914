"""Names with dots in a text, such as columns that are qualified with the full name of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.cursor import tokens_of
from iceberg_spark.spec.quoted_name import quote

Name: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """Two or more names, the last may be a star; `starts` and `ends` are their positions."""

    parts: Name
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def text(self) -> str:
        """The names with dots between them."""
        return ".".join(self.parts)

    def cut_before(self, size: int) -> Edit:
        """Return an edit that lets the path begin with the last of the first `size` names."""
        return Edit(self.starts[0], self.starts[size - 1])

    def behind(self, size: int, name: str) -> Edit:
        """Return an edit that replaces the first `size` names by one name."""
        return Edit(self.starts[0], self.ends[size - 1], quote(name))


def paths(text: str, dialect: Dialect) -> Iterator[Path]:
    """Yield the names of several parts in a text, except those of called functions."""
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


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """The replacement of the text from `start` to `end` by `text`."""

    start: int
    end: int
    text: str = ""


def apply_edits(text: str, start: int, end: int, edits: Iterable[Edit]) -> str:
    """Return a part of a text with the edits inside it applied. The edits are in order."""
    pieces = []
    for edit in edits:
        if start <= edit.start and edit.end <= end:
            pieces += [text[start : edit.start], edit.text]
            start = edit.end
    return "".join([*pieces, text[start:end]])
