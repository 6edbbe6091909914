"""The CTEs of a statement, copied into the subqueries of its conditions and values."""

from __future__ import annotations

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of

_QUERIES = ("SELECT", "FROM", "VALUES", "TABLE")


def with_ctes(text: str, with_clause: str, dialect: Dialect) -> str:
    """Return an expression whose outermost subqueries begin with a WITH clause.

    Spark gets the condition of a command without its statement, so it would not know the CTEs. A
    subquery's own CTEs follow. Raises InvalidInputError.
    """
    if not with_clause:
        return text
    pieces, position = [], 0
    tokens = tokens_of(text, dialect)
    for index, token in enumerate(tokens):
        cursor = Cursor(text, tokens[index:], dialect)
        if token.start < position or not cursor.sees_open():
            continue
        inner = cursor.brackets()
        start = inner.position
        if any(inner.sees(word) for word in _QUERIES):
            pieces += [text[position:start], f"{with_clause} ", text[start : cursor.end]]
            position = cursor.end
        elif inner.takes("WITH"):
            head = f"{_recursive(with_clause) if inner.takes('RECURSIVE') else with_clause}, "
            pieces += [text[position:start], head, text[inner.position : cursor.end]]
            position = cursor.end
    return "".join([*pieces, text[position:]])


def _recursive(with_clause: str) -> str:
    is_so = with_clause.split()[1].upper() == "RECURSIVE"
    return with_clause if is_so else f"WITH RECURSIVE {with_clause[len('WITH') :].lstrip()}"
