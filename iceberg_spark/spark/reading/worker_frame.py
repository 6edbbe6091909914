"""Groups of file scan tasks as a frame that our own readers fill, in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import TaskValues
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.jobs import job_rows
from iceberg_spark.spark.adapt.task_batches import task_batches
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.reading.frame_type import nullable

TaskGroup: TypeAlias = tuple[TaskValues, ...]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads groups of one scan."""

    context: ScanContext

    def rows(self, group: TaskGroup) -> Iterator[pa.RecordBatch]:
        """Yield the live rows of a group."""
        return task_batches(self.context, starmap(FileScanTask, group))


def arrow_frame(
    context: ScanContext, groups: Sequence[TaskGroup], spark: SparkSession
) -> DataFrame:
    """Return the rows of the groups, one group per Spark partition, classic and Connect alike.

    The driver holds the pickled tasks, some 300 bytes a file and its share of the deletes'.
    """
    return job_rows(spark, groups, _Reader(context).rows, nullable(to_spark(context.read_schema)))
