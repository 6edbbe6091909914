"""The tables that a query names, with the places in its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.errors import InvalidInputError

Node: TypeAlias = Any  # sqlglot's root class has changed its name between versions

_VERSION = ("VERSION", "SYSTEM_VERSION")
_TIMESTAMP = ("TIMESTAMP", "SYSTEM_TIME")


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table as a query names it.

    `start` and `end` are positions in the text, around the name and its AS OF clause. `version`
    is a snapshot id, branch or tag; `timestamp` the SQL of a moment.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    alias: str | None
    version: str | None = None
    timestamp: str | None = None
    node: Node = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name as people write it."""
        return ".".join(self.parts)


def parse_query(text: str) -> Node:
    """Return the syntax tree of a query in Spark's dialect.

    Raises InvalidInputError for what can't be parsed and for statements that are no queries.
    """
    try:
        tree: Node = sqlglot.parse_one(text, dialect=Spark)
    except SqlglotError as cause:
        reason = str(cause).splitlines()[0].rstrip(".")
        raise InvalidInputError(f"The query can't be parsed: {reason}") from cause
    except RecursionError as cause:
        raise InvalidInputError("The query is nested too deeply") from cause
    if not isinstance(tree, exp.Query):
        raise InvalidInputError(
            f"Only queries can be run here, not {type(tree).__name__.upper()}: use the table API, "
            "such as t.append, t.delete or t.merge"
        )
    return tree


def table_references(tree: Node, text: str) -> list[TableReference]:
    """Return the named tables of a query in the order of its text."""
    tokens = Spark().tokenize(text)
    found = [
        _reference(node, tokens, text)
        for node in tree.find_all(exp.Table)
        if all("start" in part.meta for part in node.parts)
    ]
    return sorted(found, key=lambda one: one.start)


def _reference(node: Node, tokens: Sequence[Token], text: str) -> TableReference:
    metas = [part.meta for part in node.parts]
    start, end = metas[0]["start"], metas[-1]["end"] + 1
    parts = tuple(part.name for part in node.parts)
    alias = node.alias or None
    clause = node.args.get("version")
    if clause is None:
        return TableReference(parts, start, end, alias, node=node)
    after = [token for token in tokens if token.start >= end]
    kind, first, last = _as_of(after)
    moment = text[first:last]
    if kind in _TIMESTAMP:
        return TableReference(parts, start, last, alias, timestamp=moment, node=node)
    if not isinstance(clause.expression, exp.Literal):
        raise InvalidInputError(
            f"VERSION AS OF {moment}: a snapshot id, or a branch or tag in quotes, is needed"
        )
    return TableReference(parts, start, last, alias, version=clause.expression.name, node=node)


def _as_of(tokens: Sequence[Token]) -> tuple[str, int, int]:
    """Return the kind of an AS OF clause and where its value stands in the text."""
    at = 1 if tokens[0].text.upper() == "FOR" else 0
    kind = tokens[at].text.upper()
    value = tokens[at + 3 :]  # behind VERSION AS OF, TIMESTAMP AS OF
    ends = list(_value_ends(value))
    return kind, value[0].start, ends[0]


def _value_ends(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield where a literal, a typed literal (`DATE '...'`), a call or a bracket ends."""
    literal = (TokenType.STRING, TokenType.NUMBER)
    depth = 0
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type is TokenType.L_PAREN:
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
        opens = following is not None and (
            following.token_type is TokenType.L_PAREN
            or (token.token_type not in literal and following.token_type in literal)
        )
        if depth == 0 and not opens:
            yield token.end + 1
