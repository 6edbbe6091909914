"""Refuse `changes(name)` of PySpark's readers (from 4.2) for Iceberg tables, and name the way."""

from __future__ import annotations

from pyspark.sql import SparkSession

from iceberg_spark.api.statements.target import names_table
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.sql.table_names import given_parts


def refuse_changes(spark: SparkSession, table: object, instead: str) -> None:
    """Raise UnsupportedError for an Iceberg table; the table's name replaces `{}` in `instead`.

    Spark promises other columns (`_commit_version`, `_commit_timestamp`) and other options.
    """
    name = given_parts(spark, table)
    if names_table(spark, name):
        raise UnsupportedError(
            f"changes() is for tables of Spark's own catalogs; the changes of {'.'.join(name)} are "
            f"{instead.format('.'.join(name))}"
        )
