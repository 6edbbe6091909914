"""How many rows make a data file of the wanted size: Spark's writer counts rows, not bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame

from iceberg_spark.formats.file_writer import WriterProperties
from iceberg_spark.formats.metrics_modes import NONE
from iceberg_spark.formats.parquet_writer import ParquetFileWriter, parquet_layout
from iceberg_spark.spark.catalyst.classic_frame import estimated_bytes, optimized_plan
from iceberg_spark.spark.writing.limits import SIZES
from iceberg_spark.spec import types as t
from iceberg_spark.write.align_columns import AlignOptions, aligned
from iceberg_spark.write.context import WriteContext

_CHEAP = frozenset(("Project", "Relation", "LogicalRelation", "LocalRelation", "Range", "Union"))
"""Plan nodes whose first rows cost no more than reading these rows."""
_NODE = re.compile(r"^[\s:+|*()\d-]*([A-Z]\w+)", re.MULTILINE)
_USUAL_BYTES: Mapping[type, float] = {
    t.BooleanType: 0.2, t.IntegerType: 3, t.LongType: 5, t.FloatType: 3.5, t.DoubleType: 7,
    t.DateType: 2, t.TimestampType: 5, t.TimestamptzType: 5, t.DecimalType: 5, t.StringType: 10,
    t.BinaryType: 16,
}  # fmt: skip


def rows_per_file(
    frame: DataFrame, context: WriteContext, task_bytes: int | None = None
) -> int | None:
    """Return after how many rows a file of the target size is full, None for a frame below it.

    `frame` has the table's columns. A row's size is that of the table's rows, else that of the
    frame's first rows where these can be had cheaply, else a usual one for the column types. Where
    a task gets about `task_bytes` of rows, less than a file holds, no row is read for it.
    """
    target = context.target_file_size_bytes
    estimate = estimated_bytes(frame)
    if estimate is not None and estimate * SIZES.surely_less <= target:
        return None
    size = context.row_bytes
    seldom_full = task_bytes is not None and task_bytes <= target
    if size is None and not seldom_full and _first_rows_are_cheap(frame):
        rows = frame.limit(SIZES.sample_rows).toArrow()
        if rows.num_rows < SIZES.sample_rows:
            return None
        size = _encoded_bytes(rows, context) / rows.num_rows
    if size is None:
        size = sum(
            _USUAL_BYTES.get(type(context.schema.find_type(field_id)), 0)
            for field_id in context.schema.field_ids
        )
    return max(1, int(target / size))


def _encoded_bytes(rows: pa.Table, context: WriteContext) -> int:
    """Return the size of a Parquet file of the rows, without its footer's key-value pairs."""
    sink = io.BytesIO()
    modes = dict.fromkeys(context.schema.field_ids, NONE)
    layout = parquet_layout(context.schema, WriterProperties(context.properties), modes, {})
    writer = ParquetFileWriter(sink, layout)
    batches = aligned(context.schema, rows.to_batches(), AlignOptions(case_sensitive=True))
    writer.write(pa.Table.from_batches(batches))
    return writer.bytes_written


def _first_rows_are_cheap(frame: DataFrame) -> bool:
    nodes = _NODE.findall(optimized_plan(frame))
    return bool(nodes) and _CHEAP.issuperset(nodes)
