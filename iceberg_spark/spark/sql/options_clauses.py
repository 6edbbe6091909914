"""`FROM t WITH (key = value, ...)`: options of a read in a query, which sqlglot does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.expr.cut import cut
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.expr.grammar import grammar
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spark.sql.statements.properties import read_properties

_WORD = "WITH"


@dataclass(frozen=True, slots=True)
class OptionsClause:
    """The clause from `start` up to `end` in a text (Spark's grammar: optionsClause)."""

    start: int
    end: int
    text: str
    dialect: Dialect

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """Keys and values. Raises InvalidInputError for what are none."""
        inside = range(self.start + len(_WORD), self.end)
        tokens = [one for one in tokens_of(self.text, self.dialect) if one.start in inside]
        cursor = Cursor(self.text, tokens, self.dialect)
        found = read_properties(cursor)
        cursor.done()
        return tuple(found.items())


def options_clauses(text: str, dialect: Dialect) -> tuple[OptionsClause, ...]:
    """Return a query's clauses: nothing else in one is WITH before a bracket."""
    if _WORD not in text.upper():
        return ()
    tokens = cut(text, grammar(dialect))
    found = []
    for place, token in enumerate(tokens[1:-1], 1):
        opens = tokens[place + 1].token_type is TokenType.L_PAREN
        if token.token_type is TokenType.WITH and opens:
            end = _closing(tokens, place + 1)
            if end is not None:
                found.append(OptionsClause(token.start, end, text, dialect))
    return tuple(found)


def without_clauses(text: str, clauses: Sequence[OptionsClause]) -> str:
    """Return a text with spaces for its clauses, so that every other sign stays in its place."""
    for one in clauses:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def clause_behind(
    clauses: Sequence[OptionsClause], tokens: Sequence[Token], at: int
) -> OptionsClause | None:
    """Return the clause that comes next in a text; `tokens` are those that are no clause's."""
    for one in clauses:
        if one.start >= at and not any(at <= token.start < one.start for token in tokens):
            return one
    return None


def _closing(tokens: Sequence[Token], place: int) -> int | None:
    depth = 0
    for token in tokens[place:]:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0:
            return token.end + 1
    return None
