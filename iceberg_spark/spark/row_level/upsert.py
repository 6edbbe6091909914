"""An upsert of a frame: its rows are brought together by key, each task writes its own."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spark.adapt.in_worker import in_worker
from iceberg_spark.spark.adapt.quoted import quoted
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

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a task's changes, then yield one row: the pickled descriptions of its files."""
        io = FsspecIO(self.context.write.io_properties)
        done: UpsertedFiles | InvalidInputError
        try:
            done = write_upserts(self.context, io, batches, task_id())
        except InvalidInputError as error:  # the same at every attempt: none is worth another
            done = error
        yield pa.record_batch({"files": pa.array([pickle.dumps(done)], pa.binary())})


@dataclass(frozen=True, slots=True)
class PlannedUpsert:
    """A frame whose rows come together by key, and what its tasks do with them."""

    rows: DataFrame
    context: UpsertContext


def plan_upsert(frame: DataFrame, context: UpsertContext) -> PlannedUpsert:
    """Plan the upsert of a frame; nothing runs yet. Classic and Connect alike.

    Without order columns rows are numbered before they are shuffled. Raises InvalidInputError for
    a frame whose order is unknown, InvalidSchemaError for columns that don't fit.
    """
    check_worker_python(frame.sparkSession)
    CdcReader(context, to_arrow(from_spark(frame.schema)))
    keys = _key_columns(frame, context)
    if context.order_by:
        return PlannedUpsert(frame.repartition(*keys), context)
    ordered = replace(context, order_by=(SEQUENCE,))
    return PlannedUpsert(numbered(frame).repartition(*keys), ordered)


def run_upsert(planned: PlannedUpsert) -> UpsertedFiles | InvalidInputError:
    """Write a frame's changes; returns the files of the tasks that succeeded.

    The driver holds one description a file, nothing a row. An error that a task found in the
    rows is returned: no other task is still writing then.
    """
    rows = planned.rows.mapInArrow(UpsertTask(planned.context), "files binary").collect()
    # Bytes that our own tasks made a moment ago.
    parts = [pickle.loads(bytes(row.files)) for row in rows]  # noqa: S301
    wrong = [part for part in parts if isinstance(part, InvalidInputError)]
    if wrong:
        return wrong[0]
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
        found.append(".".join(quoted(name) for name in path))
    return found


def _spelled(names: Sequence[str], name: str, *, case_sensitive: bool) -> str:
    if name in names or case_sensitive:
        return name
    return next(one for one in names if one.lower() == name.lower())
