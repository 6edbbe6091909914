"""What a relation that reads some columns of its files says of its size: Spark joins by that.

A relation of three columns of forty that claimed its files' bytes would not be broadcast.
"""

from __future__ import annotations

from iceberg_spark.spark.reading.column_plan import ColumnPlan
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_ROW_BYTES = 8
"""Bytes of a row beside its columns (Spark: `EstimationUtils.getSizePerRow`)."""
_TEXT_BYTES, _BINARY_BYTES, _VARIANT_BYTES = 20, 100, 2048
"""Bytes of a value (Spark: `DataType.defaultSize`)."""


def share_of_files(columns: ColumnPlan, schema: Schema) -> float:
    """Return which share of its files' bytes a relation reads, as Spark estimates projections."""
    read = [one.asked for one in (*columns.read, *columns.keys) if one.asked is not None]
    distinct = {field.field_id: field.field_type for field in read}
    whole = sum(width(field.field_type) for field in schema.fields)
    some = sum(map(width, distinct.values()))
    return min(1.0, (_ROW_BYTES + some) / (_ROW_BYTES + whole))


def width(kind: t.IcebergType) -> int:
    """Return the bytes of a value as Spark's own types estimate them."""
    match kind:
        case t.StructType(fields=fields):
            return sum(width(field.field_type) for field in fields)
        case t.ListType(element_type=element):
            return width(element)
        case t.MapType(key_type=key, value_type=value):
            return width(key) + width(value)
        case t.BooleanType() | t.UnknownType():
            return 1
        case t.IntegerType() | t.FloatType() | t.DateType():
            return 4
        case t.DecimalType(precision=precision):
            return 8 if precision <= 18 else 16
        case t.StringType() | t.UUIDType():
            return _TEXT_BYTES
        case t.BinaryType() | t.FixedType():
            return _BINARY_BYTES
        case t.VariantType() | t.GeometryType() | t.GeographyType():
            return _VARIANT_BYTES
        case _:
            return 8
