"""EXECUTE IMMEDIATE and SET VARIABLE, whose expressions may contain Iceberg tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.sql.statements.cursor import Cursor


@dataclass(frozen=True, slots=True)
class ExecuteImmediate:
    """A statement whose text is the value of an expression.

    `into` are session variables for the only row of a query, as written. `values` are the
    expressions of its parameters with their names, if they have one: a variable has its own.
    """

    text: str
    into: str | None = None
    values: tuple[tuple[str | None, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SetVariable:
    """Assignments of session variables: the text before a value, and the value, in order."""

    assignments: tuple[tuple[str, str], ...]


SessionState: TypeAlias = ExecuteImmediate | SetVariable


def read_session_state(cursor: Cursor) -> SessionState | None:
    """Read EXECUTE IMMEDIATE or SET VARIABLE; None for another statement."""
    if cursor.sees("EXECUTE", "IMMEDIATE"):
        return read_execute(cursor)
    if cursor.sees("SET", "VAR") or cursor.sees("SET", "VARIABLE"):
        return read_set_variable(cursor)
    return None


def read_execute(cursor: Cursor) -> ExecuteImmediate:
    """Read a statement that begins with EXECUTE. Raises InvalidInputError."""
    cursor.needs("EXECUTE", "IMMEDIATE")
    text = cursor.until(("INTO",), ("USING",))
    into = cursor.until(("USING",)) if cursor.takes("INTO") else None
    values: list[tuple[str | None, str]] = []
    if cursor.takes("USING"):
        inner = cursor.brackets() if cursor.sees_open() else cursor
        values = [_value(item) for item in inner.items()]
    cursor.done()
    return ExecuteImmediate(text, into, tuple(values))


def read_set_variable(cursor: Cursor) -> SetVariable:
    """Read a statement that begins with SET. Raises InvalidInputError."""
    start, assignments = cursor.position, []
    while True:
        cursor.until(("=",))
        cursor.needs("=")
        head = cursor.text[start : cursor.end]
        assignments.append((head, cursor.until((",",))))
        start = cursor.position
        if not cursor.takes(","):
            return SetVariable(tuple(assignments))


def _value(item: Cursor) -> tuple[str | None, str]:
    named = item.fresh()
    expression = item.until(("AS",))
    if item.takes("AS"):
        name = item.identifier()
        item.done()
        return name, expression
    try:
        own = named.name()[-1]
    except InvalidInputError:
        return None, expression
    return (own if named.at_end else None), expression
