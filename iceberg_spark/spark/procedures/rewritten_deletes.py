"""Rewrites of delete files spread over Spark's tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.limits import REWRITING
from iceberg_spark.maintenance.rewritten_deletes import DeleteWork, Runner
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.jobs import job_results
from iceberg_spark.spark.session.task import task_id
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.uncommitted_files import remove_aborted


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """Rewrites the deletes of groups of data files, 500 bytes a file."""

    work: DeleteWork

    def files(self, group: Sequence[FileScanTask]) -> list[DataFile]:
        """Return the new files of a group."""
        io = self.work.write.io
        return [file for task in group for file in self.work.rewrite(io, task, task_id())]


def runner(session: SparkSession) -> Runner:
    """Return what runs the tasks in a session."""

    def run(work: DeleteWork, tasks: Sequence[FileScanTask], io: FileIO) -> list[DataFile]:
        if not tasks:
            return []
        count = min(len(tasks), REWRITING.most_tasks)
        groups = [tuple(tasks[at::count]) for at in range(count)]
        try:
            made = job_results(session, groups, _Rewrite(work).files)
        except BaseException:
            remove_aborted(io, work.write)
            raise
        return [file for files in made for file in files]

    return run
