"""Which columns of its source a MERGE WITH SCHEMA EVOLUTION gives the table that lacks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spec.quoted_name import quoted
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType

Name: TypeAlias = tuple[str, ...]
_Taken: TypeAlias = Callable[[Name], bool | None]


@dataclass(frozen=True, slots=True)
class Assigned:
    """What the clauses of a merge set: all by `*`, or columns to the texts of their values.

    `target` and `source` are the names that columns may stand behind.
    """

    every: bool
    columns: Sequence[tuple[Name, str]]
    target: Sequence[Name]
    source: Sequence[Name]


def evolving_columns(
    source: Schema, assigned: Assigned, dialect: Dialect, *, case_sensitive: bool
) -> Schema:
    """Return the columns of a source that are set to themselves: by `*` or as in `t.a = s.a`.

    A column that stands in a condition or an expression only is none (Spark:
    MergeIntoTable.sourceSchemaForSchemaEvolution).
    """
    if assigned.every:
        return source

    def spelt(name: Name) -> Name:
        return name if case_sensitive else tuple(part.lower() for part in name)

    taken = {
        path
        for column, text in assigned.columns
        for path in set(_paths(spelt(column), map(spelt, assigned.target)))
        & set(_paths(spelt(_name(text, dialect)), map(spelt, assigned.source)))
    }

    def is_taken(path: Name) -> bool | None:
        """True for all of a column, None for a part of it."""
        if spelt(path) in taken:
            return True
        inner = any(column[: len(path)] == spelt(path) for column in taken)
        return None if inner else False

    return Schema(*_assigned_fields(source.fields, (), is_taken))


def star_values(
    source: Schema, table: Schema, alias: str, *, case_sensitive: bool
) -> dict[str, str] | None:
    """Return what `*` sets where the source lacks columns of the table: those that it has.

    The others stay as they are, or get their defaults. None where it has all: then `*` stands.
    """
    spelt = str if case_sensitive else str.lower
    theirs = {spelt(field.name) for field in source.fields}
    if all(spelt(field.name) in theirs for field in table.fields):
        return None
    return {field.name: f"{quoted(alias)}.{quoted(field.name)}" for field in source.fields}


def _name(text: str, dialect: Dialect) -> Name:
    """Return the name that a text is, nothing where it is an expression."""
    try:
        cursor = Cursor(text, tokens_of(text, dialect), dialect)
        name = cursor.name()
    except InvalidInputError:
        return ()
    return name if cursor.at_end else ()


def _paths(name: Name, tables: Iterable[Name]) -> Iterator[Name]:
    """Yield what a name may be within its table: as it is, or without the table's before it."""
    if name:
        yield name
    for table in tables:
        if len(name) > len(table) and name[: len(table)] == table:
            yield name[len(table) :]


def _assigned_fields(
    fields: Sequence[NestedField], above: Name, is_taken: _Taken
) -> Iterator[NestedField]:
    for field in fields:
        path = (*above, field.name)
        taken = is_taken(path)
        if taken:
            yield field
        elif taken is None and isinstance(field.field_type, StructType):
            inner = StructType(*_assigned_fields(field.field_type.fields, path, is_taken))
            yield replace(field, field_type=inner)
