"""Sketches of columns spread over Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.column_sketches import Sketches, SketchRunner, SketchWork, united
from iceberg_spark.maintenance.limits import SKETCHING
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.jobs import job_results


@dataclass(frozen=True, slots=True)
class _Sketching:
    """Sketches the columns of groups of data files."""

    work: SketchWork

    def sketches(self, group: Sequence[FileScanTask]) -> Sketches:
        """Return the sketches of a group, 32 KB a column at most."""
        io = self.work.scan.io
        found = (self.work.sketches(io, task) for task in group)
        return united(found, len(self.work.paths))


def sketch_runner(session: SparkSession) -> SketchRunner:
    """Return what runs the tasks in a session."""

    def run(work: SketchWork, tasks: Sequence[FileScanTask], _: FileIO) -> Iterator[Sketches]:
        if not tasks:
            return
        count = min(len(tasks), SKETCHING.most_tasks)
        ordered = sorted(tasks, key=lambda task: -task.file_size_in_bytes)
        groups = [tuple(ordered[at::count]) for at in range(count)]
        yield from job_results(session, groups, _Sketching(work).sketches)

    return run
