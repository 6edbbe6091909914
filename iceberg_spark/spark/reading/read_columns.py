"""A `ColumnPlan` in Spark's words: what its Parquet reader is asked for, and the columns above."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's users write it
from pyspark.sql import types as s

from iceberg_spark.spark.adapt.default_text import default_text
from iceberg_spark.spark.adapt.quoted import quoted
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.reading.column_plan import ColumnPlan, Origin, PlannedColumn, Shield
from iceberg_spark.spark.reading.frame_type import nullable
from iceberg_spark.spark.reading.predicate_column import literal
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

FIELD_ID = "parquet.field.id"


def relation_type(columns: ColumnPlan) -> s.StructType:
    """Return the schema that Spark's reader gets: field ids everywhere, defaults at the top."""
    every = [one for one in (*columns.read, *columns.keys) if one.origin is not Origin.NOTHING]
    asked = [one.asked for one in every if one.asked is not None]
    made = []
    for field, plain in zip(asked, to_spark(Schema(*asked)).fields, strict=True):
        metadata = _id(field, by_id=columns.by_id)
        if field.initial_default is not None:
            text = default_text(field.field_type, field.initial_default)
            metadata |= {"EXISTS_DEFAULT": text, "CURRENT_DEFAULT": text}
        kind = _nested(plain.dataType, field.field_type, by_id=columns.by_id)
        made.append(s.StructField(field.name, kind, True, metadata))
    return s.StructType(made)


def given_name(column: PlannedColumn) -> str:
    """Return under which name, quoted, a relation has a column of the files."""
    return quoted(_asked(column).name)


def read_column(column: PlannedColumn) -> Column:
    """Return a column of the relation, so that only filters that may be are pushed down.

    UUIDs are 16 bytes.
    """
    match column.origin:
        case Origin.NOTHING:
            return F.lit(None)
        case Origin.CONSTANT if column.value is None:
            return F.lit(None).cast(_type(column))
        case Origin.CONSTANT:
            return literal(column.field.field_type, column.value)
        case _:
            return _shielded(F.col(given_name(column)), column)


def _shielded(given: Column, column: PlannedColumn) -> Column:
    match column.shield:
        case Shield.NONE:
            return given
        case Shield.NAN:
            return F.nanvl(given, F.lit(float("nan")).cast(_type(column)))
        case Shield.LEAF:
            return F.greatest(given, given)  # the column itself, behind a function
        case Shield.WHOLE:
            # Spark looks neither for filters nor for unused fields behind a condition.
            return F.when(given.isNotNull(), given).cast(_type(column))
        case Shield.RENAMED:
            # Nor behind a cast that changes names; one that changes nothing is dropped.
            return given.cast(_type(column))


def _type(column: PlannedColumn) -> s.DataType:
    """Return the type of a column under the table's names."""
    is_nested = t.child_fields(column.field.field_type)
    (shown,) = nullable(to_spark(Schema(column.field if is_nested else _asked(column)))).fields
    return shown.dataType


def _asked(column: PlannedColumn) -> t.NestedField:
    if column.asked is None:
        raise ValueError(f"'{column.field.name}' is no column of files")
    return column.asked


def _id(field: t.NestedField, *, by_id: bool) -> dict[str, Any]:
    return {FIELD_ID: field.field_id} if by_id else {}


def _nested(kind: s.DataType, iceberg: t.IcebergType, *, by_id: bool) -> s.DataType:
    """Return the type with ids on struct fields, which is where Spark's reader looks at them."""
    match kind, iceberg:
        case s.StructType(fields=fields), t.StructType():
            return s.StructType(
                [
                    s.StructField(
                        f.name,
                        _nested(shown.dataType, f.field_type, by_id=by_id),
                        True,
                        _id(f, by_id=by_id),
                    )
                    for shown, f in zip(fields, iceberg.fields, strict=True)
                ]
            )
        case s.ArrayType(), t.ListType():
            return s.ArrayType(_nested(kind.elementType, iceberg.element_type, by_id=by_id), True)
        case s.MapType(), t.MapType():
            return s.MapType(
                _nested(kind.keyType, iceberg.key_type, by_id=by_id),
                _nested(kind.valueType, iceberg.value_type, by_id=by_id),
                True,
            )
        case _:
            return kind
