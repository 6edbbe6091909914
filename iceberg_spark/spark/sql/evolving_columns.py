"""The columns that MERGE WITH SCHEMA EVOLUTION adds to the table from its source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType

Name: TypeAlias = tuple[str, ...]
_Taken: TypeAlias = Callable[[Name], bool | None]


@dataclass(frozen=True, slots=True)
class Assigned:
    """The assignments of a merge's clauses: all by `*`, or columns with the texts of their values.

    `target` and `source` are the names that may qualify columns.
    """

    every: bool
    columns: Sequence[tuple[Name, str]]
    target: Sequence[Name]
    source: Sequence[Name]


def evolving_columns(
    source: Schema, assigned: Assigned, dialect: Dialect, *, case_sensitive: bool
) -> Schema:
    """Return the columns of a source that are assigned to themselves: by `*` or as in `t.a = s.a`.

    A column that is used only in a condition or an expression is not among them (Spark:
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
        """Return True for a whole column, None for a part of it."""
        if spelt(path) in taken:
            return True
        inner = any(column[: len(path)] == spelt(path) for column in taken)
        return None if inner else False

    return Schema(*_assigned_fields(source.fields, (), is_taken))


def star_values(
    source: Schema, table: Schema, alias: str, *, case_sensitive: bool
) -> dict[str, str] | None:
    """Return the assignments of `*` if the source lacks columns of the table; None if it has all.

    The other columns keep their values, or get their defaults.
    """
    spelt = str if case_sensitive else str.lower
    theirs = {spelt(field.name) for field in source.fields}
    if all(spelt(field.name) in theirs for field in table.fields):
        return None
    return {field.name: f"{quote(alias)}.{quote(field.name)}" for field in source.fields}


def _name(text: str, dialect: Dialect) -> Name:
    """Return the name that a text is, an empty one for an expression."""
    try:
        cursor = Cursor(text, tokens_of(text, dialect), dialect)
        name = cursor.name()
    except InvalidInputError:
        return ()
    return name if cursor.at_end else ()


def _paths(name: Name, tables: Iterable[Name]) -> Iterator[Name]:
    """Yield the paths that a name may have in its table: unchanged, or without the table's name."""
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
