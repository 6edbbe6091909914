"""The rows of a change's target as DataFrames, with the columns that changes add."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from iceberg_spark.errors import InvalidSchemaError, UnsupportedError
from iceberg_spark.row_level.conditions import columns_in, is_of_one_row
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.projection import with_metadata_columns
from iceberg_spark.spark.adapt.types import has_spark_type, nullable, to_spark
from iceberg_spark.spark.reading.plan_frame import plan_frame
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.schema import Schema

FILE, POS = "_file", "_pos"
ROW_POSITION = (FILE, POS)
"""The columns with a row's file and its position in the file."""


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
    read_columns = Schema(*chosen, schema_id=schema.schema_id)
    read = with_metadata_columns(read_columns, metadata_columns, metadata)
    return plan_frame(replace(plan, context=replace(plan.context, read_schema=read)), spark)


def name_target(frame: DataFrame, name: str | None) -> DataFrame:
    """Return a DataFrame under the name that conditions use for it, if they use one."""
    return frame if name is None else frame.alias(name)


def projected_here(rows: DataFrame, texts: Sequence[str]) -> DataFrame:
    """Return rows over which expressions with subqueries can be computed.

    A plan's rows are a union, and Spark's optimizer moves projections into its members. There it
    does not find the columns of a correlated subquery ("key not found"). It moves none through a
    sample, which has all rows here.
    """
    return rows if is_of_one_row(texts) else rows.sample(fraction=1.0)


def filter_after_join(rows: DataFrame) -> DataFrame:
    """Return the result of a join such that later filters apply after the join.

    Spark pushes a filter below an anti-join, to rows that the join removes: `10 / v > 0` of a
    clause would fail for a matched row whose `v` is 0. It pushes none below a sample, which has all
    rows here.
    """
    return rows.sample(fraction=1.0)


def row_type(schema: Schema) -> StructType:
    """Return the type of the table's rows, nullable, since writers check the values."""
    return nullable(to_spark(schema))


def column(name: str, alias: str | None = None) -> Column:
    """Return a top-level column of any name."""
    return sf.col(quote(name) if alias is None else f"{quote(alias)}.{quote(name)}")


def empty_frame(schema: Schema, spark: SparkSession) -> DataFrame:
    """Return a DataFrame with a table's columns and no rows, for resolving expressions."""
    return spark.createDataFrame([], row_type(schema))


def typed_columns(schema: Schema, texts: Sequence[str]) -> Schema:
    """Return a schema without unused columns that have no type in Spark."""
    used = columns_in(schema, texts)
    return Schema(*(f for f in schema.fields if f.name in used or has_spark_type(f)))


def require_types(schema: Schema, what: str) -> None:
    """Refuse a change that writes whole rows if Spark has no type for a column.

    Raises UnsupportedError naming the column.
    """
    try:
        to_spark(schema)
    except UnsupportedError as error:
        column, _, _ = str(error).partition(", which")
        raise UnsupportedError(
            f"{column}, which Spark has no type for, and {what} writes whole rows by Spark. "
            "Without Spark work: append, overwrite and upsert of Arrow rows, and a delete by a "
            "condition on columns alone; a merge-on-read delete by any condition works with it"
        ) from error


def rows_by_file(rows: DataFrame) -> Mapping[str, int]:
    """Return the number of rows by file; the driver holds a path for each file."""
    counted = rows.groupBy(FILE).agg(sf.count(sf.lit(1)).alias("rows")).collect()
    return {row[FILE]: row["rows"] for row in counted}


_PREFIX = "__iceberg_"
CLAUSE = f"{_PREFIX}clause"
"""The number of the clause of a merge that a row met, from 1; 0 for none."""
ACTION = f"{_PREFIX}action"
SOURCE_ROW, MATCHED_ROW = f"{_PREFIX}source_row", f"{_PREFIX}matched_row"
"""The number of a row of a merge's source, and of one that met a row of the target."""
RUN = f"{_PREFIX}run"
"""A number of the run: a frame that is kept shares nothing with another of the same plan."""
MATCHES = f"{_PREFIX}matches"
"""Whether a row meets the condition of an update."""
SEQUENCE = f"{_PREFIX}upsert_sequence"
"""The column of a numbered frame that says which row came before which."""


def check_names(whose: str, names: Iterable[str], others: Collection[str] = ()) -> None:
    """Refuse columns that are named as ours or as one of `others`, whatever their case.

    Raises InvalidSchemaError naming the column; `whose` is "The table", for example.
    """
    for name in names:
        if name.lower().startswith(_PREFIX) or name.lower() in others:
            raise InvalidSchemaError(
                f"{whose} has column '{name}', a name that is needed for the change itself; "
                "rename the column"
            )
