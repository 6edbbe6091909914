"""Types and defaults of columns as the session reads them."""

from __future__ import annotations

import datetime as dt
from typing import Any

from pyspark.sql import SparkSession

from iceberg_spark.api.statements.answers import values_of
from iceberg_spark.expr.schema_ddl import type_from_ddl
from iceberg_spark.spec.types import IcebergType, TimestamptzType

_TIMESTAMP = "spark.sql.timestampType"


def has_wall_clocks(spark: SparkSession) -> bool:
    """Return whether TIMESTAMP is TIMESTAMP_NTZ to a session."""
    return str(spark.conf.get(_TIMESTAMP)).upper() == "TIMESTAMP_NTZ"


def column_type(spark: SparkSession, text: str) -> str | IcebergType:
    """Return a column's type, as text where the session reads it as anybody does."""
    if "timestamp" not in text.lower() or not has_wall_clocks(spark):
        return text
    return type_from_ddl(text, wall_clocks=True)


def default_of(spark: SparkSession, text: str, kind: IcebergType | None) -> Any:
    """Return what a default is worth; dates and wall clocks are of the session's zone.

    Spark casts a default to the column's type. Raises Spark's own errors.
    """
    (value,) = values_of(spark, [text])
    is_wall_clock = isinstance(value, dt.date | str) and getattr(value, "tzinfo", None) is None
    if isinstance(kind, TimestamptzType) and is_wall_clock:
        (value,) = values_of(spark, [f"CAST(({text}) AS TIMESTAMP_LTZ)"])
    return value
