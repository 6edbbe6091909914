"""A column's `initial-default` as the SQL constant that Spark's readers fill gaps with."""

from __future__ import annotations

from typing import Any

from iceberg_spark.spec import types as t
from iceberg_spark.spec.calendar_text import date_text, timestamp_text


def default_text(kind: t.IcebergType, value: Any) -> str:
    """Return SQL text of a canonical value, of exactly the column's type."""
    match kind:
        case t.BooleanType():
            return "true" if value else "false"
        case t.IntegerType():
            return f"CAST('{value}' AS INT)"
        case t.LongType():
            return f"CAST('{value}' AS BIGINT)"
        case t.FloatType():
            return f"CAST('{value!r}' AS FLOAT)"
        case t.DoubleType():
            return f"CAST('{value!r}' AS DOUBLE)"
        case t.DecimalType(precision=precision, scale=scale):
            return f"CAST('{value:f}' AS DECIMAL({precision}, {scale}))"
        case t.DateType():
            return f"DATE '{date_text(value)}'"
        case t.TimestampType():
            return f"TIMESTAMP_NTZ '{_stamp(value)}'"
        case t.TimestamptzType():
            return f"TIMESTAMP '{_stamp(value)}+00:00'"
        case _:
            # A quoted text would mean what `parser.escapedStringLiterals` of the session that runs
            # says, and tasks parse it again: bytes mean the same everywhere.
            return f"CAST(X'{str(value).encode().hex()}' AS STRING)"


def _stamp(value: int) -> str:
    return timestamp_text(value).replace("T", " ")
