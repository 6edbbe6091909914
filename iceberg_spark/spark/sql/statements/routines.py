"""SHOW PROCEDURES and SHOW FUNCTIONS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from iceberg_spark.spark.sql.statements.cursor import Cursor

Name: TypeAlias = tuple[str, ...]
Scope: TypeAlias = Literal["user", "system", "all"]


@dataclass(frozen=True, slots=True)
class ShowProcedures:
    """The procedures of a namespace."""

    namespace: Name


@dataclass(frozen=True, slots=True)
class ShowFunctions:
    """The functions of a namespace; Spark's own (`system`) too unless `scope` is user."""

    namespace: Name
    scope: Scope = "all"
    pattern: str | None = None


def read_show_procedures(cursor: Cursor) -> ShowProcedures:
    """Read the rest of a statement after SHOW PROCEDURES. Raises InvalidInputError."""
    is_given = cursor.takes_one_of("IN", "FROM") is not None
    namespace = cursor.name() if is_given else ()
    cursor.done()
    return ShowProcedures(namespace)


def read_show_functions(cursor: Cursor) -> ShowFunctions | None:
    """Read the rest of a statement after SHOW; None if it names no namespace.

    The namespace follows IN, or is the qualifier of the name of one function. Raises
    InvalidInputError.
    """
    scopes: dict[str, Scope] = {"USER": "user", "SYSTEM": "system", "ALL": "all"}
    word = cursor.takes_one_of(*scopes)
    scope = scopes[word or "ALL"]
    if not cursor.takes("FUNCTIONS"):
        return None
    if cursor.takes_one_of("IN", "FROM") is not None:
        namespace = cursor.name()
        cursor.takes("LIKE")
        return ShowFunctions(namespace, scope, _pattern(cursor))
    if cursor.at_end or cursor.sees("LIKE") or cursor.sees_string():
        return None
    *above, name = cursor.name()
    cursor.done()
    return ShowFunctions(tuple(above), scope, name) if above else None


def _pattern(cursor: Cursor) -> str | None:
    if cursor.at_end:
        return None
    pattern = cursor.string() if cursor.sees_string() else cursor.identifier()
    cursor.done()
    return pattern
