"""`changes(name)` of PySpark's readers from 4.2 on, for tables of ours: said how to have them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from iceberg_spark.api.statements.target import names_table
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.sql.table_names import given_parts


def refuse_changes(spark: SparkSession, table: object, instead: str) -> None:
    """Raise UnsupportedError for a table of ours; `instead` has `{}` where its name goes.

    What Spark promises has other columns (`_commit_version`, `_commit_timestamp`) and options.
    """
    name = given_parts(spark, table)
    if names_table(spark, name):
        raise UnsupportedError(
            f"changes() is for tables of Spark's own catalogs; the changes of {'.'.join(name)} are "
            f"{instead.format('.'.join(name))}"
        )
