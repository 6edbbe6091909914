"""CREATE VIEW, ALTER VIEW, DROP VIEW and SHOW VIEWS of a catalog; the query stays a text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from iceberg_spark.spark.session.error_conditions import COLUMN_ALREADY_EXISTS, with_condition
from iceberg_spark.spark.sql.statements.cursor import Cursor
from iceberg_spark.spark.sql.statements.properties import read_keys, read_properties

Name: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CreateView:
    """A view to create; `columns` are names with comments, "" for none."""

    table: Name
    query: str
    columns: tuple[tuple[str, str], ...] = ()
    comment: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    replaces: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropView:
    """A view to drop."""

    table: Name
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterView:
    """Properties of a view to set and to remove, its new name, or AS with a new query."""

    table: Name
    updates: dict[str, str] = field(default_factory=dict)
    removals: tuple[str, ...] = ()
    if_exists: bool = False
    new_name: Name | None = None
    replaces_query: bool = False


@dataclass(frozen=True, slots=True)
class ShowViews:
    """The views of a namespace; `pattern` is Spark's (`*`, `|`)."""

    namespace: Name
    pattern: str | None = None


ViewChange: TypeAlias = CreateView | DropView | AlterView


def read_view_change(cursor: Cursor) -> ViewChange | None:
    """Read a change of a catalog's view; None for another statement. Raises InvalidInputError."""
    if cursor.sees("CREATE", "VIEW") or cursor.sees("CREATE", "OR", "REPLACE", "VIEW"):
        return _create(cursor)
    if cursor.takes("DROP", "VIEW"):
        if_exists = cursor.takes("IF", "EXISTS")
        name = cursor.name()
        cursor.done()
        return DropView(name, if_exists)
    return _alter(cursor) if cursor.takes("ALTER", "VIEW") else None


def read_view_columns(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    """Read `(a COMMENT 'x', b)` if brackets come next. Raises InvalidInputError."""
    if not cursor.sees_open():
        return ()
    columns = []
    for item in cursor.brackets().items():
        name = item.identifier()
        columns.append((name, item.string() if item.takes("COMMENT") else ""))
        item.done()
    if len({name.lower() for name, _ in columns}) < len(columns):
        error = cursor.fault("Two columns of the view have the same name")
        raise with_condition(error, COLUMN_ALREADY_EXISTS)
    return tuple(columns)


def _create(cursor: Cursor) -> CreateView:
    cursor.needs("CREATE")
    replaces = cursor.takes("OR", "REPLACE")
    cursor.needs("VIEW")
    if_not_exists = cursor.takes("IF", "NOT", "EXISTS")
    if replaces and if_not_exists:
        raise cursor.fault("OR REPLACE and IF NOT EXISTS don't go together")
    name = cursor.name()
    columns = read_view_columns(cursor)
    comment, properties = None, {}
    while not cursor.takes("AS"):
        if cursor.takes("COMMENT"):
            comment = cursor.string()
        elif cursor.takes("TBLPROPERTIES"):
            properties = read_properties(cursor)
        elif cursor.sees("WITH", "SCHEMA"):
            raise cursor.fault(
                "CREATE VIEW ... WITH SCHEMA: a view of an Iceberg catalog keeps its columns; "
                "leave the clause out"
            )
        else:
            raise cursor.error("COMMENT, TBLPROPERTIES or AS is needed")
    return CreateView(name, cursor.rest(), columns, comment, properties, replaces, if_not_exists)


def _alter(cursor: Cursor) -> AlterView:
    name = cursor.name()
    if cursor.takes("RENAME", "TO"):
        change = AlterView(name, new_name=cursor.name())
    elif cursor.takes("SET", "TBLPROPERTIES"):
        change = AlterView(name, read_properties(cursor))
    elif cursor.takes("UNSET", "TBLPROPERTIES"):
        if_exists = cursor.takes("IF", "EXISTS")
        change = AlterView(name, removals=read_keys(cursor), if_exists=if_exists)
    elif cursor.takes("AS"):
        cursor.rest()
        change = AlterView(name, replaces_query=True)
    else:
        raise cursor.error("SET TBLPROPERTIES, UNSET TBLPROPERTIES or RENAME TO is needed")
    cursor.done()
    return change
