"""Rewrites of delete files spread over Spark's tasks."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.rewritten_deletes import DeleteWork, Runner
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spark.session.task import task_id
from iceberg_spark.spark.session.worker_python import check_worker_python
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.uncommitted_files import remove_aborted

_MOST_TASKS = 1000


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """Runs the groups of tasks whose numbers arrive; all of them are here, 500 bytes a file."""

    work: DeleteWork
    groups: tuple[bytes, ...]

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        io = self.work.write.storage()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                # Bytes that our own driver made a moment ago.
                tasks: tuple[FileScanTask, ...] = pickle.loads(self.groups[number])  # noqa: S301
                files = [file for task in tasks for file in self.work.rewrite(io, task, task_id())]
                yield pa.record_batch({"files": pa.array([pickle.dumps(files)], pa.binary())})


def runner(session: SparkSession) -> Runner:
    """Return what runs the tasks in a session."""

    def run(work: DeleteWork, tasks: Sequence[FileScanTask], io: FileIO) -> list[DataFile]:
        if not tasks:
            return []
        check_worker_python(session)
        count = min(len(tasks), _MOST_TASKS)
        groups = tuple(pickle.dumps(tuple(tasks[at::count])) for at in range(count))
        numbers = session.range(0, count, 1, count)
        try:
            rows = numbers.mapInArrow(_Rewrite(work, groups), "files binary").collect()
        except BaseException:
            remove_aborted(io, work.write)
            raise
        # Bytes that our own tasks made a moment ago.
        return [file for row in rows for file in pickle.loads(bytes(row.files))]  # noqa: S301

    return run
