"""A frame's columns as the table's, in Spark expressions: what `write.aligned` does in Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as s

from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType

FIELD_ID = "parquet.field.id"
"""The field metadata by which Spark's Parquet writer knows a column's field id."""


def table_columns(schema: Schema, struct: s.StructType, *, case_sensitive: bool) -> list[Column]:
    """Return the table's columns, with field ids, of a frame named `by_position`.

    `struct` is the frame's own type, which `write.aligned.check_columns` must have accepted:
    casts only widen here, and missing columns are null.
    """
    sources = [sf.col(f"c{index}") for index in range(len(struct.fields))]
    return [
        _named(field, _found(field, struct.fields, sources, case_sensitive), case_sensitive)
        for field in schema.fields
    ]


def source_column(
    schema: Schema, field_id: int, struct: s.StructType, *, case_sensitive: bool
) -> Column | None:
    """Return a table column as a frame named `by_position` has it, None if it lacks it."""
    fields: Sequence[s.StructField] = struct.fields
    columns = [sf.col(f"c{index}") for index in range(len(fields))]
    column: Column | None = None
    for step in schema.path_ids(field_id):
        found = _found(schema.find_field(step), fields, columns, case_sensitive)
        if found is None:
            return None
        column, kind = found
        fields = kind.fields if isinstance(kind, s.StructType) else ()
        columns = [column.getField(child.name) for child in fields]
    return column


_Found = tuple[Column, s.DataType] | None


def _found(
    field: NestedField,
    given: Sequence[s.StructField],
    columns: Sequence[Column],
    case_sensitive: bool,
) -> _Found:
    """Return the frame's column of a field and its type; None where it has none."""
    names = [child.name for child in given]
    if field.name in names:
        at = names.index(field.name)
    elif not case_sensitive and field.name.lower() in (lower := [n.lower() for n in names]):
        at = lower.index(field.name.lower())
    else:
        return None
    return columns[at], given[at].dataType


def _named(field: NestedField, found: _Found, case_sensitive: bool) -> Column:
    made = _made(field, found, case_sensitive)
    return made.alias(field.name, metadata=_metadata(field))


def _made(field: NestedField, found: _Found, case_sensitive: bool) -> Column:
    target = _type(field)
    if found is None:
        return sf.lit(None).cast(target)
    column, kind = found
    if isinstance(field.field_type, StructType) and isinstance(kind, s.StructType):
        below = [column.getField(child.name) for child in kind.fields]
        children = [
            _named(child, _found(child, kind.fields, below, case_sensitive), case_sensitive)
            for child in field.field_type.fields
        ]
        return sf.when(column.isNotNull(), sf.struct(*children))
    return column if kind == target else column.cast(target)


def _type(field: NestedField) -> s.DataType:
    """Return the Spark type of a field, with the field ids of what is inside."""
    match field.field_type:
        case StructType(fields=fields):
            return s.StructType(
                [s.StructField(each.name, _type(each), True, _metadata(each)) for each in fields]
            )
        case _:
            return to_spark(Schema(field)).fields[0].dataType


def _metadata(field: NestedField) -> dict[str, Any]:
    return {FIELD_ID: field.field_id}
