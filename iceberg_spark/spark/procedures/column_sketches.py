"""Sketches of columns spread over Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.column_sketches import (
    Sketches,
    SketchRunner,
    SketchWork,
    sketch_groups,
)
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.jobs import job_results


@dataclass(frozen=True, slots=True)
class _Sketching:
    """Sketches the columns of groups of data files."""

    work: SketchWork

    def sketches(self, group: Sequence[FileScanTask]) -> Sketches:
        """Return the sketches of a group, 32 KB a column at most."""
        return self.work.sketches(self.work.scan.io, group)


def sketch_runner(session: SparkSession) -> SketchRunner:
    """Return what runs the tasks in a session."""

    def run(work: SketchWork, tasks: Sequence[FileScanTask], _: FileIO) -> Iterator[Sketches]:
        if tasks:
            yield from job_results(session, sketch_groups(tasks), _Sketching(work).sketches)

    return run
