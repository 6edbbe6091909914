"""SQL on a Spark session that starts in this process."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

import iceberg_spark as ice


def run(statement: str, most_rows: int) -> pa.Table:
    """Run one statement, and return at most this many of its rows."""
    spark = (
        SparkSession.builder.appName("iceberg-spark")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    return ice.sql(spark, statement).limit(most_rows).toArrow()
