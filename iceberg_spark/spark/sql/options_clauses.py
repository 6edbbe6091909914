"""`FROM t WITH (key = value, ...)`: read options in a query, which sqlglot does not parse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.expr.grammar import grammar, tokenize
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spark.sql.statements.properties import read_properties

_WORD = "WITH"
_NO_TABLE = frozenset({
    "ALL", "AND", "AS", "BETWEEN", "BY", "CASE", "DISTINCT", "DIV", "ELSE", "FROM", "HAVING", "IN",
    "IS", "JOIN", "LATERAL", "LIKE", "LIMIT", "NOT", "OF", "OFFSET", "ON", "OR", "RLIKE", "SELECT",
    "TABLE", "THEN", "USING", "VALUES", "WHEN", "WHERE",
})  # fmt: skip
"""Words after which `with(...)` is a function or an alias with columns."""
_LITERALS = (TokenType.STRING, TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE)
_SUFFIXED = re.compile("(-?[0-9]+)[lLsSyY]")
"""An integer literal with a suffix, as parameters are written: `5L`."""


@dataclass(frozen=True, slots=True)
class OptionsClause:
    """The clause from `start` to `end` in a text (Spark's grammar: optionsClause)."""

    start: int
    end: int
    text: str
    dialect: Dialect

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """Keys and values. Raises InvalidInputError if the clause has anything else."""
        inside = range(self.start + len(_WORD), self.end)
        tokens = [token for token in tokens_of(self.text, self.dialect) if token.start in inside]
        cursor = Cursor(self.text, tokens, self.dialect)
        properties = read_properties(cursor, _without_suffix)
        cursor.done()
        return tuple(properties.items())


def options_clauses(text: str, dialect: Dialect) -> tuple[OptionsClause, ...]:
    """Return a query's clauses: WITH after a possible table, then a key and value in brackets."""
    if _WORD not in text.upper():
        return ()
    tokens = tokenize(text, grammar(dialect))
    clauses = []
    for index, token in enumerate(tokens[1:-1], 1):
        is_with = token.token_type is TokenType.WITH
        if is_with and _may_end_table(tokens[index - 1]) and _begins_options(tokens, index + 1):
            end = _closing(tokens, index + 1)
            if end is not None:
                clauses.append(OptionsClause(token.start, end, text, dialect))
    return tuple(clauses)


def without_clauses(text: str, clauses: Sequence[OptionsClause]) -> str:
    """Return a text with blanks in place of its clauses, so that positions stay the same."""
    for clause in clauses:
        text = text[: clause.start] + " " * (clause.end - clause.start) + text[clause.end :]
    return text


def clause_behind(
    clauses: Sequence[OptionsClause], tokens: Sequence[Token], position: int
) -> OptionsClause | None:
    """Return the clause that comes next in a text; `tokens` are those outside of clauses."""
    for clause in clauses:
        if clause.start >= position and not any(
            position <= token.start < clause.start for token in tokens
        ):
            return clause
    return None


def _without_suffix(value: str) -> str:
    number = _SUFFIXED.fullmatch(value)
    return value if number is None else number[1]


def _may_end_table(token: Token) -> bool:
    """Return whether the name of a table, or the value of its AS OF, may end with a token."""
    if token.token_type in (TokenType.IDENTIFIER, TokenType.R_PAREN, *_LITERALS):
        return True
    return token.text.isidentifier() and token.text.upper() not in _NO_TABLE


def _begins_options(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a bracket begins with a key and its value (Spark's grammar: property)."""
    if tokens[index].token_type is not TokenType.L_PAREN:
        return False
    for before, token in zip(tokens[index:], tokens[index + 1 :], strict=False):
        is_part = token.text.isidentifier() or token.token_type is TokenType.IDENTIFIER
        is_first = before.token_type is TokenType.L_PAREN
        if is_first and token.token_type is TokenType.STRING:
            continue
        if is_first or before.token_type in (TokenType.DOT, TokenType.DASH):
            if not is_part:
                return False
        elif token.token_type not in (TokenType.DOT, TokenType.DASH):
            return token.token_type in (TokenType.EQ, *_LITERALS) or is_part
    return False


def _closing(tokens: Sequence[Token], index: int) -> int | None:
    depth = 0
    for token in tokens[index:]:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0:
            return token.end + 1
    return None
