"""Statements about namespaces, which SQL also calls databases and schemas."""

from __future__ import annotations

from dataclasses import dataclass, field

from iceberg_spark.spark.sql.statements.cursor import Cursor
from iceberg_spark.spark.sql.statements.properties import read_keys, read_properties

KINDS = ("NAMESPACE", "DATABASE", "SCHEMA")


@dataclass(frozen=True, slots=True)
class CreateNamespace:
    """A namespace to create."""

    name: tuple[str, ...]
    properties: dict[str, str] = field(default_factory=dict)
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropNamespace:
    """A namespace to drop; with `cascade` including its tables, views and namespaces."""

    name: tuple[str, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class AlterNamespace:
    """Properties of a namespace to set and to remove."""

    name: tuple[str, ...]
    updates: dict[str, str] = field(default_factory=dict)
    removals: tuple[str, ...] = ()


def sees_namespace(cursor: Cursor, verb: str) -> bool:
    """Return whether `verb NAMESPACE` (or DATABASE, SCHEMA) comes next."""
    return any(cursor.sees(verb, kind) for kind in KINDS)


def read_create_namespace(cursor: Cursor) -> CreateNamespace:
    """Read a statement that begins with CREATE. Raises InvalidInputError."""
    _head(cursor, "CREATE")
    if_not_exists = cursor.takes("IF", "NOT", "EXISTS")
    name = cursor.name()
    properties: dict[str, str] = {}
    while not cursor.at_end:
        if cursor.takes("COMMENT"):
            properties["comment"] = cursor.string()
        elif cursor.takes("LOCATION"):
            properties["location"] = cursor.string()
        elif cursor.takes("WITH", "DBPROPERTIES") or cursor.takes("WITH", "PROPERTIES"):
            properties.update(read_properties(cursor))
        else:
            raise cursor.error("COMMENT, LOCATION or WITH PROPERTIES is needed")
    return CreateNamespace(name, properties, if_not_exists)


def read_drop_namespace(cursor: Cursor) -> DropNamespace:
    """Read a statement that begins with DROP. Raises InvalidInputError."""
    _head(cursor, "DROP")
    if_exists = cursor.takes("IF", "EXISTS")
    name = cursor.name()
    cascade = cursor.takes_one_of("CASCADE", "RESTRICT") == "CASCADE"
    cursor.done()
    return DropNamespace(name, if_exists, cascade)


def read_alter_namespace(cursor: Cursor) -> AlterNamespace:
    """Read a statement that begins with ALTER. Raises InvalidInputError."""
    _head(cursor, "ALTER")
    name = cursor.name()
    if cursor.takes("SET", "LOCATION"):
        change = AlterNamespace(name, {"location": cursor.string()})
    elif cursor.takes("UNSET"):
        _properties_word(cursor)
        change = AlterNamespace(name, removals=read_keys(cursor))
    else:
        cursor.needs("SET")
        _properties_word(cursor)
        change = AlterNamespace(name, read_properties(cursor))
    cursor.done()
    return change


def _head(cursor: Cursor, verb: str) -> None:
    cursor.needs(verb)
    cursor.takes_one_of(*KINDS)


def _properties_word(cursor: Cursor) -> None:
    if cursor.takes_one_of("DBPROPERTIES", "PROPERTIES") is None:
        raise cursor.error("PROPERTIES is needed")
