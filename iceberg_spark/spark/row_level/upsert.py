"""An upsert of a frame: its rows are brought together by key, each task writes its own."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spark.adapt.task import task_id
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.adapt.worker_python import check_worker_python
from iceberg_spark.spark.row_level.input_order import SEQUENCE, numbered
from iceberg_spark.write.cdc_rows import CdcReader
from iceberg_spark.write.cdc_writer import UpsertedFiles, write_upserts
from iceberg_spark.write.upsert_context import UpsertContext


@dataclass(frozen=True, slots=True)
class UpsertTask:
    """What every task runs; pickled by value with the plan."""

    context: UpsertContext

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a task's changes, then yield one row: the pickled descriptions of its files."""
        io = FsspecIO(self.context.write.io_properties)
        files = write_upserts(self.context, io, batches, task_id())
        yield pa.record_batch({"files": pa.array([pickle.dumps(files)], pa.binary())})


def upsert_frame(frame: DataFrame, context: UpsertContext) -> UpsertedFiles:
    """Write a frame's changes; returns the files of the tasks that succeeded.

    Rows of one key meet in one task. Without order columns rows are numbered first. The driver
    holds one description a file, nothing a row. Classic and Connect alike. Raises
    InvalidInputError for a frame whose order is unknown, and what `write_upserts` raises.
    """
    check_worker_python(frame.sparkSession)
    CdcReader(context, to_arrow(from_spark(frame.schema)))
    keys = _key_columns(frame, context)
    if not context.order_by:
        frame = numbered(frame)
        context = replace(context, order_by=(SEQUENCE,))
    task = UpsertTask(context)
    rows = frame.repartition(*keys).mapInArrow(task, "files binary").collect()
    # Bytes that our own tasks made a moment ago.
    parts = [pickle.loads(bytes(row.files)) for row in rows]  # noqa: S301
    return UpsertedFiles(
        tuple(file for part in parts for file in part.data),
        tuple(file for part in parts for file in part.deletes),
    )


def _key_columns(frame: DataFrame, context: UpsertContext) -> list[str]:
    """Return the frame's key columns, spelled as the frame has them."""
    schema = context.write.schema
    found = []
    for key in context.equality_ids:
        path = [schema.find_field(step).name for step in schema.path_ids(key)]
        path[0] = _spelled(frame.columns, path[0], case_sensitive=context.options.case_sensitive)
        found.append(".".join(_quoted(name) for name in path))
    return found


def _spelled(names: Sequence[str], name: str, *, case_sensitive: bool) -> str:
    if name in names or case_sensitive:
        return name
    return next(one for one in names if one.lower() == name.lower())


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
