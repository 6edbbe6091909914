"""Write the rows of a frame as data files, on Spark, and bring back what was written.

The tasks write and the driver commits: nothing but file descriptions travels, so several
writes and other changes can land in one commit.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spark.adapt.task import task_id
from iceberg_spark.spark.adapt.worker_python import check_worker_python
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.aligned import AlignOptions, aligned
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.data_file_writer import write_data_files


@dataclass(frozen=True, slots=True)
class WriteTask:
    """What every task runs; pickled by value with the plan."""

    context: WriteContext
    options: AlignOptions

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a task's batches, then yield one row: the pickled descriptions of its files."""
        io = FsspecIO(self.context.io_properties)
        rows = aligned(self.context.schema, batches, self.options)
        files = write_data_files(self.context, io, rows, task_id())
        yield pa.record_batch({"files": pa.array([pickle.dumps(files)], pa.binary())})


def write_frame(
    frame: DataFrame, context: WriteContext, options: AlignOptions
) -> tuple[DataFile, ...]:
    """Write a frame as it is partitioned; returns the files of the tasks that succeeded.

    The driver holds one description a file, nothing a row. Classic and Connect alike.
    """
    check_worker_python(frame.sparkSession)
    rows = frame.mapInArrow(WriteTask(context, options), "files binary").collect()
    # Bytes that our own tasks made a moment ago.
    return tuple(file for row in rows for file in pickle.loads(bytes(row.files)))  # noqa: S301
