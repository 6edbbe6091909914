"""Chooses who counts the values of columns: this process or Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import active_session
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.location import scheme
from iceberg_spark.maintenance.column_sketches import (
    Sketches,
    SketchRunner,
    SketchWork,
    sketch_here,
)
from iceberg_spark.maintenance.limits import SKETCHING
from iceberg_spark.scan.task import FileScanTask


def sketcher(spark: on_spark.SparkSession | None) -> SketchRunner:
    """Return the runner of sketches: the given session, or the active one for large tables."""
    if spark is not None:
        return on_spark.sketch_runner(spark)

    def run(work: SketchWork, tasks: Sequence[FileScanTask], io: FileIO) -> Iterable[Sketches]:
        session = active_session()
        size = sum(task.file_size_in_bytes for task in tasks)
        in_memory = scheme(work.scan.table_location) == "memory"
        if session is None or in_memory or size <= SKETCHING.here_bytes:
            return sketch_here(work, tasks, io)
        return on_spark.sketch_runner(session)(work, tasks, io)

    return run
