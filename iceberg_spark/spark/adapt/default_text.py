"""Defaults of columns as SQL constants of Spark, which mean the same in every session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec import types as t
from iceberg_spark.spec.calendar_text import date_text, timestamp_text

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
