"""Several filters in one job: what Spark itself keeps of some rows, and what our frames keep."""

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, lit

import iceberg_spark as ice
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import frame
from tests.oracle.product import read_arrow


def kept_by_spark(spark: SparkSession, rows: pa.Table, texts: Sequence[str]) -> list[pa.Table]:
    """The rows for which each text is true, as Spark sees it in rows of its own."""
    marks = [expr(text).alias(f"_{number}") for number, text in enumerate(texts)]
    marked = frame(spark, rows).select("*", *marks).toArrow()
    masks = (pc.fill_null(marked[f"_{number}"], fill_value=False) for number in range(len(texts)))
    return [marked.filter(mask).select(rows.column_names) for mask in masks]


def kept_by_frames(spark: SparkSession, path: str, texts: Sequence[str]) -> list[pa.Table]:
    """The rows of the frame of each filter, native where it can be."""
    table = ice.load_table(path)
    frames = [
        table.scan(row_filter=text).to_df(spark).withColumn("_number", lit(number))
        for number, text in enumerate(texts)
    ]
    united = reduce(DataFrame.union, frames).toArrow()
    masks = (pc.equal(united["_number"], number) for number in range(len(texts)))
    return [united.filter(mask).drop_columns("_number") for mask in masks]


def assert_both_keep(
    spark: SparkSession,
    path: str,
    texts: Sequence[str],
    expected: Sequence[pa.Table],
    framed: slice = slice(None),
) -> None:
    """Assert that the scan of one process keeps the expected rows of each filter.

    And so do frames, of all filters or of those `framed`.
    """
    for text, rows in zip(texts, expected, strict=True):
        assert_same_rows(rows, read_arrow(path, row_filter=text), what=text)
    by_frames = kept_by_frames(spark, path, texts[framed])
    for text, rows, kept in zip(texts[framed], expected[framed], by_frames, strict=True):
        assert_same_rows(rows, kept, what=f"the frame of {text}")
