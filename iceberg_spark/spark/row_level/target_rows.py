"""The rows of a change's target as frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.projection import with_metadata_columns
from iceberg_spark.spark.adapt.quoted import quoted
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.reading.frame_type import nullable
from iceberg_spark.spark.reading.plan_frame import plan_frame
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema

FILE, POS = "_file", "_pos"
PLACE = (FILE, POS)
"""The columns that say where a row lies."""


def rows_frame(
    metadata: TableMetadata,
    plan: ScanPlan,
    spark: SparkSession,
    *,
    columns: Sequence[str] | None = None,
    metadata_columns: Sequence[str] = (),
) -> DataFrame:
    """Return the rows of a plan with some top-level columns (None: all) and metadata columns."""
    schema = plan.context.table_schema
    chosen = [f for f in schema.fields if columns is None or f.name in columns]
    wanted = Schema(*chosen, schema_id=schema.schema_id)
    read = with_metadata_columns(wanted, metadata_columns, metadata)
    return plan_frame(replace(plan, context=replace(plan.context, read_schema=read)), spark)


def named(frame: DataFrame, name: str | None) -> DataFrame:
    """Return a frame by the name that conditions call it, if they do."""
    return frame if name is None else frame.alias(name)


def row_type(schema: Schema) -> StructType:
    """Return the type of a frame of the table's rows, nullable: writers look at the values."""
    return nullable(to_spark(schema))


def column(name: str, alias: str | None = None) -> Column:
    """Return a top-level column, whatever its name."""
    return sf.col(quoted(name) if alias is None else f"{quoted(alias)}.{quoted(name)}")


def empty_frame(schema: Schema, spark: SparkSession) -> DataFrame:
    """Return a frame of a table's columns without rows, to look expressions up in."""
    return spark.createDataFrame([], row_type(schema))
