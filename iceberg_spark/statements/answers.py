"""What statements give back: small frames, shaped as Spark's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.spark.session.expressions import without_variables
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spec.quoted_name import quote


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
    row = row_of(spark, {f"_{index}": text for index, text in enumerate(expressions)})
    return [column[0].as_py() for column in row.columns]


def row_of(spark: SparkSession, expressions: Mapping[str, str]) -> pa.Table:
    """Return what constant expressions are worth, by their names, as one row.

    Unlike Python it has dates beyond the year 9999. Raises Spark's own errors for faults in them.
    """
    named = ", ".join(f"{text} AS {quote(name)}" for name, text in expressions.items())
    return run_sql(spark, f"SELECT {without_variables(named)}").toArrow()
