"""Rewrites of delete files spread over Spark's tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.limits import REWRITING
from iceberg_spark.maintenance.rewritten_deletes import DeleteWork, Runner
from iceberg_spark.read.position_deletes import NewDeletes
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.jobs import job_results
from iceberg_spark.spark.session.task import task_id
from iceberg_spark.write.uncommitted_files import remove_aborted


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """Rewrites the deletes of groups of data files, 500 bytes a file."""

    work: DeleteWork

    def deletes(self, group: Sequence[FileScanTask]) -> NewDeletes:
        """Return the new files of a group."""
        return self.work.rewrite(self.work.write.io, group, task_id())


def runner(session: SparkSession) -> Runner:
    """Return what runs the tasks in a session."""

    def run(work: DeleteWork, tasks: Sequence[FileScanTask], io: FileIO) -> NewDeletes:
        if not tasks:
            return NewDeletes()
        groups = work.shares(tasks, REWRITING.most_tasks)
        try:
            new_deletes = job_results(session, groups, _Rewrite(work).deletes)
        except BaseException:
            remove_aborted(io, work.write)
            raise
        return NewDeletes(
            tuple(file for new in new_deletes for file in new.written),
            tuple(file for new in new_deletes for file in new.replaced),
        )

    return run
