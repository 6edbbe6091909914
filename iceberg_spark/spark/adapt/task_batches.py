"""File scan tasks as the batches that Spark expects; all Python readers here use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.types import StructType

from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.batches import spark_batches
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.compat import expected_arrow_schema


def task_batches(
    context: ScanContext, tasks: Iterable[FileScanTask], frame_type: StructType | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the live rows of the tasks as batches of exactly the frame's Arrow types.

    `frame_type` is given where the frame's columns differ from the table's in what may be NULL.
    """
    io = context.io
    schema = context.read_schema
    expected = expected_arrow_schema(frame_type or to_spark(schema))
    as_they_are = replace(context, checks_texts=False)  # Spark's texts are any bytes
    for task in tasks:
        yield from spark_batches(read_task(as_they_are, io, task), schema, expected)
