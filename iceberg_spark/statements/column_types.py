"""Types and defaults of columns as the session reads them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from iceberg_spark.expr.schema_ddl import type_from_ddl
from iceberg_spark.spec.types import IcebergType, TimestamptzType
from iceberg_spark.statements.answers import values_of

_TIMESTAMP = "spark.sql.timestampType"


def has_wall_clocks(spark: SparkSession) -> bool:
    """Return whether TIMESTAMP is TIMESTAMP_NTZ to a session."""
    return str(spark.conf.get(_TIMESTAMP)).upper() == "TIMESTAMP_NTZ"


def column_type(spark: SparkSession, text: str) -> str | IcebergType:
    """Return a column's type, as text if it does not depend on the session."""
    if "timestamp" not in text.lower() or not has_wall_clocks(spark):
        return text
    return type_from_ddl(text, wall_clocks=True)


def defaults_of(
    spark: SparkSession, defaults: Sequence[tuple[str, IcebergType | None]]
) -> list[Any]:
    """Return the values of defaults, each with its column's type; two queries at most.

    Spark casts a default to the column's type: a date or a wall clock becomes an instant in the
    session's time zone. Raises Spark's own errors.
    """
    values = values_of(spark, [text for text, _ in defaults])
    late = [
        index
        for index, (value, (_, kind)) in enumerate(zip(values, defaults, strict=True))
        if isinstance(kind, TimestamptzType) and _is_wall_clock(value)
    ]
    casts = values_of(spark, [f"CAST(({defaults[index][0]}) AS TIMESTAMP_LTZ)" for index in late])
    for index, value in zip(late, casts, strict=True):
        values[index] = value
    return values


def _is_wall_clock(value: object) -> bool:
    return isinstance(value, dt.date | str) and getattr(value, "tzinfo", None) is None
