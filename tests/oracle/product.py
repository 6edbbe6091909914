"""The product as its users call it, behind the same small shapes as the other engines."""

import pyarrow as pa
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.spark.session.engine import Engine
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import frame

FORMAT = "pyiceberg-lite"


def read_arrow(path: str, **scan: object) -> pa.Table:
    """Read with the table API, no Spark."""
    return ice.load_table(path).scan(**scan).to_arrow()


def read_both(spark: SparkSession, path: str, **scan: object) -> pa.Table:
    """Read with the table API without Spark and as its frame, native where it can; same rows."""
    by_arrow = read_arrow(path, **scan)
    assert_same_rows(by_arrow, read_frame(spark, path, None, **scan), what=f"the frame of {scan}")
    return by_arrow


def read_spark(spark: SparkSession, path: str, **options: str) -> pa.Table:
    """Read with the Spark data source."""
    return spark.read.format(FORMAT).options(**options).load(path).toArrow()


def append_spark(spark: SparkSession, path: str, table: pa.Table, **options: str) -> None:
    """Append with the Spark data source, one task."""
    made = frame(spark, table).coalesce(1)
    made.write.format(FORMAT).mode("append").options(**options).save(path)


def read_frame(spark: SparkSession, path: str, engine: Engine | None, **scan: object) -> pa.Table:
    """Read with the frame of the table API, by one engine."""
    return ice.load_table(path).scan(**scan).to_df(spark, engine=engine).toArrow()
