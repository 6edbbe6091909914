"""Spark's StructType and Iceberg's Schema, each from the other.

Rules are those of Iceberg's Spark runtime (Java's TypeToSparkType and SparkTypeToType): UUID
shows as string, fixed as binary, byte and short become int, `time` has no Spark type.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as s
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from iceberg_spark.arrow.arrays import struct_of
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec import types as t
from iceberg_spark.spec.calendar_text import date_text, timestamp_text
from iceberg_spark.spec.quoted_name import quote
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


def type_text(kind: s.DataType) -> str:
    """Return a type as SQL text that means the same in every session.

    `timestamp` is one without a zone where `spark.sql.timestampType` says so.
    """
    match kind:
        case s.StructType(fields=fields):
            inner = (f"{quote(field.name)}: {type_text(field.dataType)}" for field in fields)
            return f"struct<{', '.join(inner)}>"
        case s.ArrayType(elementType=element):
            return f"array<{type_text(element)}>"
        case s.MapType(keyType=key, valueType=value):
            return f"map<{type_text(key)}, {type_text(value)}>"
        case s.TimestampType():
            return "timestamp_ltz"
        case s.StringType():
            return "string collate UTF8_BINARY"
        case _:
            return kind.simpleString()


_SWITCH = "spark.sql.geospatial.enabled"
_SRID = 4326
_NUMBERED = re.compile(r"(?:EPSG|SRID):(\d+)", re.IGNORECASE)
_SPHERICAL = (None, "spherical")


def spark_geo(kind: t.GeometryType | t.GeographyType) -> s.DataType | None:
    """Return Spark's type of a geometry, None where it has none for the CRS or algorithm."""
    srid = _srid(kind.crs)
    if srid is None or (isinstance(kind, t.GeographyType) and kind.algorithm not in _SPHERICAL):
        return None
    try:
        return s.GeometryType(srid) if isinstance(kind, t.GeometryType) else s.GeographyType(srid)
    except PySparkException:
        return None


def iceberg_geo(kind: s.GeometryType | s.GeographyType) -> t.IcebergType | None:
    """Return the type of a column of Spark, None where its values have several CRS."""
    if kind.srid < 0:
        return None
    crs = None if kind.srid == _SRID else f"EPSG:{kind.srid}"
    return t.GeometryType(crs) if isinstance(kind, s.GeometryType) else t.GeographyType(crs)


def _srid(crs: str | None) -> int | None:
    if crs is None or crs.upper() == t.DEFAULT_CRS:
        return _SRID
    match = _NUMBERED.fullmatch(crs)
    return None if match is None else int(match[1])


def spark_wkb(column: pa.Array, kind: t.GeometryType | t.GeographyType) -> pa.StructArray:
    """Return WKB as PySpark hands geometries over: with their SRID."""
    fields = [pa.field("srid", pa.int32(), nullable=False), pa.field("wkb", pa.binary(), False)]
    srid = pa.repeat(pa.scalar(_srid(kind.crs) or 0, pa.int32()), len(column))
    return struct_of(len(column), [srid, column.fill_null(b"")], pa.struct(fields), column)


def check_geo_types(schema: Schema, spark: SparkSession) -> None:
    """Raise UnsupportedError naming a column of geometries where the session has none."""
    for field_id in schema.field_ids:
        kind = schema.find_type(field_id)
        if isinstance(kind, t.GeometryType | t.GeographyType) and (
            str(spark.conf.get(_SWITCH, "false")).lower() != "true"
        ):
            raise UnsupportedError(
                f"Column '{schema.find_column_name(field_id)}' has type {kind}, and this session "
                f"has no geometries: set {_SWITCH} to true, read it as WKB by to_arrow(), or "
                "leave it out by selected_fields"
            )


_SIMPLE: Mapping[type, str] = {
    t.IntegerType: "INT",
    t.LongType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
}


def default_text(kind: t.IcebergType, value: Any) -> str:
    """Return SQL text of a canonical value of a primitive type, of exactly the column's type.

    Raises UnsupportedError for a type that Spark has no constants of.
    """
    if (simple := _SIMPLE.get(type(kind))) is not None:
        return f"CAST('{value!r}' AS {simple})"
    match kind:
        case t.BooleanType():
            return "true" if value else "false"
        case t.DecimalType(precision=precision, scale=scale):
            return f"CAST('{value:f}' AS DECIMAL({precision}, {scale}))"
        case t.DateType():
            return f"DATE '{date_text(value)}'"
        case t.TimestampType():
            return f"TIMESTAMP_NTZ '{_stamp(value)}'"
        case t.TimestamptzType():
            return f"TIMESTAMP '{_stamp(value)}+00:00'"
        case t.BinaryType() | t.FixedType():
            return f"X'{value.hex()}'"
        case t.StringType() | t.UUIDType():
            # A quoted text would mean what `parser.escapedStringLiterals` of the session that runs
            # says, and tasks parse it again: bytes mean the same everywhere.
            return f"CAST(X'{str(value).encode().hex()}' AS STRING)"
        case _:
            raise UnsupportedError(f"Spark has no constants of type {kind}")


def write_default_text(field: t.NestedField) -> str:
    """Return SQL text of a column's `write-default` of whatever type, NULL where it has none."""
    return _of_field(field.field_type, field.write_default)


def _of_field(kind: t.IcebergType, value: Any) -> str:
    match kind:
        case _ if value is None:
            return "NULL"
        case t.StructType(fields=fields):
            values = dict(value)
            parts = (
                f"{_name(child)}, "
                f"{_of_field(child.field_type, values.get(child.field_id, child.write_default))}"
                for child in fields
            )
            return f"named_struct({', '.join(parts)})"
        case t.ListType(element_type=element):
            return f"array({', '.join(_of_field(element, part) for part in value)})"
        case t.MapType(key_type=key, value_type=item):
            pairs = (
                f"{_of_field(key, child)}, {_of_field(item, value_of_key)}"
                for child, value_of_key in value
            )
            return f"map({', '.join(pairs)})"
        case _:
            return default_text(kind, value)


def _name(field: t.NestedField) -> str:
    return f"CAST(X'{field.name.encode().hex()}' AS STRING)"


def _stamp(value: int) -> str:
    return timestamp_text(value).replace("T", " ")


T = TypeVar("T", bound=DataType)


def nullable(kind: T) -> T:
    """Return the type with all fields nullable, and names and comments unchanged.

    Spark's file sources make every column nullable, whatever schema they get. No expression
    restores it and lets filters through, so both engines return nullable columns.
    """
    match kind:
        case StructType(fields=fields):
            inner = [StructField(f.name, nullable(f.dataType), True, f.metadata) for f in fields]
            return StructType(inner)  # type: ignore[return-value]
        case ArrayType(elementType=element):
            return ArrayType(nullable(element), True)  # type: ignore[return-value]
        case MapType(keyType=key, valueType=value):
            return MapType(nullable(key), nullable(value), True)  # type: ignore[return-value]
        case _:
            return kind
