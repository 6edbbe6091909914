"""Spark's StructType and Iceberg's Schema, each from the other.

Rules are those of Iceberg's Spark runtime (Java's TypeToSparkType and SparkTypeToType): UUID
shows as string, fixed as binary, byte and short become int, `time` has no Spark type.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pyspark.sql import types as s

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.adapt.geo_types import iceberg_geo, spark_geo
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_TO_SPARK: dict[type, s.DataType] = {
    t.BooleanType: s.BooleanType(),
    t.IntegerType: s.IntegerType(),
    t.LongType: s.LongType(),
    t.FloatType: s.FloatType(),
    t.DoubleType: s.DoubleType(),
    t.DateType: s.DateType(),
    t.TimestampType: s.TimestampNTZType(),
    t.TimestamptzType: s.TimestampType(),
    t.StringType: s.StringType(),
    t.UUIDType: s.StringType(),
    t.FixedType: s.BinaryType(),
    t.BinaryType: s.BinaryType(),
    t.UnknownType: s.NullType(),
    t.VariantType: s.VariantType(),
}

_FROM_SPARK: dict[type, t.IcebergType] = {
    s.BooleanType: t.BooleanType(),
    s.ByteType: t.IntegerType(),
    s.ShortType: t.IntegerType(),
    s.IntegerType: t.IntegerType(),
    s.LongType: t.LongType(),
    s.FloatType: t.FloatType(),
    s.DoubleType: t.DoubleType(),
    s.DateType: t.DateType(),
    s.TimestampNTZType: t.TimestampType(),
    s.TimestampType: t.TimestamptzType(),
    s.StringType: t.StringType(),
    s.CharType: t.StringType(),
    s.VarcharType: t.StringType(),
    s.BinaryType: t.BinaryType(),
    s.NullType: t.UnknownType(),
    s.VariantType: t.VariantType(),
}


def to_spark(schema: Schema) -> s.StructType:
    """Return the frame type of a schema: names, types, nullability and comments.

    Raises UnsupportedError naming a column that Spark has no type for.
    """
    return s.StructType([_spark_field(field, field.name) for field in schema.fields])


def _spark_field(field: t.NestedField, path: str) -> s.StructField:
    metadata = {"comment": field.doc} if field.doc else {}
    return s.StructField(field.name, _spark_type(field.field_type, path), field.optional, metadata)


def _spark_type(kind: t.IcebergType, path: str) -> s.DataType:
    match kind:
        case t.StructType(fields=fields):
            return s.StructType([_spark_field(f, f"{path}.{f.name}") for f in fields])
        case t.ListType():
            element = _spark_type(kind.element_type, f"{path}.element")
            return s.ArrayType(element, not kind.element_required)
        case t.MapType():
            key = _spark_type(kind.key_type, f"{path}.key")
            value = _spark_type(kind.value_type, f"{path}.value")
            return s.MapType(key, value, not kind.value_required)
        case t.DecimalType(precision=precision, scale=scale):
            return s.DecimalType(precision, scale)
        case _ if type(kind) in _TO_SPARK:
            return _TO_SPARK[type(kind)]
        case t.GeometryType() | t.GeographyType() if (geo := spark_geo(kind)) is not None:
            return geo
        case _:
            raise UnsupportedError(
                f"Column '{path}' has type {kind}, which Spark can't read from this source; "
                'leave it out with option("columns", "...") or selected_fields'
            )


def has_spark_type(field: t.NestedField) -> bool:
    """Return whether Spark has a type for a column, and for all that is in it."""
    try:
        to_spark(Schema(field))
    except UnsupportedError:
        return False
    return True


def from_spark(struct: s.StructType) -> Schema:
    """Return a schema with provisional ids 1, 2, ... for a frame type.

    Ids are assigned depth first and only have to be unique: creating a table assigns fresh
    ones. Raises UnsupportedError naming a column whose type Iceberg lacks.
    """
    ids = itertools.count(1)
    return Schema(*(_iceberg_field(field, field.name, ids) for field in struct.fields))


def _iceberg_field(field: s.StructField, path: str, ids: Iterator[int]) -> t.NestedField:
    field_id = next(ids)
    kind = _iceberg_type(field.dataType, path, ids)
    doc = (field.metadata or {}).get("comment")
    return t.NestedField(field_id, field.name, kind, not field.nullable, doc)


def _iceberg_type(kind: s.DataType, path: str, ids: Iterator[int]) -> t.IcebergType:
    match kind:
        case s.StructType():
            nested = (_iceberg_field(f, f"{path}.{f.name}", ids) for f in kind.fields)
            return t.StructType(*nested)
        case s.ArrayType():
            element_id = next(ids)
            element = _iceberg_type(kind.elementType, f"{path}.element", ids)
            return t.ListType(element_id, element, not kind.containsNull)
        case s.MapType():
            key_id, value_id = next(ids), next(ids)
            key = _iceberg_type(kind.keyType, f"{path}.key", ids)
            value = _iceberg_type(kind.valueType, f"{path}.value", ids)
            return t.MapType(key_id, key, value_id, value, not kind.valueContainsNull)
        case s.DecimalType():
            return t.DecimalType(kind.precision, kind.scale)
        case s.GeometryType() | s.GeographyType() if (geo := iceberg_geo(kind)) is not None:
            return geo
        case _ if type(kind) in _FROM_SPARK:
            return _FROM_SPARK[type(kind)]
        case _:
            raise UnsupportedError(
                f"Column '{path}' has type {kind.simpleString()}, which Iceberg tables can't hold; "
                "cast it first"
            )
