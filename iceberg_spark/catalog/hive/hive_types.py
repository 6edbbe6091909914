"""Iceberg's types as Hive's types (Java: HiveSchemaUtil)."""

from __future__ import annotations

from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
    VariantType,
)


def hive_type(kind: IcebergType, zoned: str = "timestamp") -> str:
    """Return Hive's name of a type; `zoned` is the type of timestamps with zone, new in Hive 3."""
    match kind:
        case BooleanType() | FloatType() | DoubleType() | DateType() | DecimalType():
            return str(kind).replace(" ", "")
        case IntegerType():
            return "int"
        case LongType():
            return "bigint"
        case StringType() | TimeType() | UUIDType():
            return "string"
        case TimestamptzType() | TimestamptzNanoType():
            return zoned
        case TimestampType() | TimestampNanoType():
            return "timestamp"
        case BinaryType() | FixedType() | GeometryType() | GeographyType():
            return "binary"
        case UnknownType() | VariantType():
            return "unknown"
        case StructType() | ListType() | MapType():
            return _nested(kind, zoned)


def _nested(kind: StructType | ListType | MapType, zoned: str) -> str:
    match kind:
        case StructType(fields):
            return f"struct<{','.join(_member(field, zoned) for field in fields)}>"
        case ListType():
            return f"array<{hive_type(kind.element_type, zoned)}>"
        case MapType():
            key, value = hive_type(kind.key_type, zoned), hive_type(kind.value_type, zoned)
            return f"map<{key},{value}>"


def _member(field: NestedField, zoned: str) -> str:
    return f"{field.name}:{hive_type(field.field_type, zoned)}"
