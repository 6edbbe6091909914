"""What statements give back: small frames, shaped as Spark's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def nothing(spark: SparkSession) -> DataFrame:
    """Return a frame without columns or rows: what a command gives that only does something."""
    return spark.createDataFrame([], StructType([]))


def rows_of(spark: SparkSession, columns: str, rows: Iterable[Sequence[Any]]) -> DataFrame:
    """Return a frame of rows that are there already; `columns` is DDL."""
    return spark.createDataFrame([tuple(row) for row in rows], columns)


def values_of(spark: SparkSession, expressions: Sequence[str]) -> list[Any]:
    """Return what constant expressions are worth, as Spark works them out in one query.

    Raises Spark's own errors for faults in them.
    """
    if not expressions:
        return []
    named = ", ".join(f"{text} AS _{place}" for place, text in enumerate(expressions))
    found = spark.sql(f"SELECT {named}").toArrow()
    return [column[0].as_py() for column in found.columns]
