"""Spark's types as SQL text."""

from __future__ import annotations

from pyspark.sql import types as s

from iceberg_spark.spec.quoted_name import quoted


def type_text(kind: s.DataType) -> str:
    """Return a type as SQL text that means the same in every session.

    `timestamp` is one without a zone where `spark.sql.timestampType` says so.
    """
    match kind:
        case s.StructType(fields=fields):
            inner = (f"{quoted(field.name)}: {type_text(field.dataType)}" for field in fields)
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
