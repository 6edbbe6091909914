"""Groups of file scan tasks as a frame that our own readers fill, in Spark's Python workers."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import TaskValues
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.task_batches import task_batches
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.reading.frame_type import nullable
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spark.session.worker_python import check_worker_python

TaskGroups: TypeAlias = Sequence[tuple[TaskValues, ...]]

CLOSURE_BYTES = 256 * 1024
"""Up to so many bytes of pickled tasks travel with the function, which is what every Spark task
is sent; more of them travel as rows, of which a Spark task gets its own only."""


@dataclass(frozen=True, slots=True)
class _ReadNumbered:
    """Reads the groups whose numbers arrive; all of them are here."""

    context: ScanContext
    groups: tuple[bytes, ...]

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _read(self.context, self.groups[number])


@dataclass(frozen=True, slots=True)
class _ReadArriving:
    """Reads the groups that arrive."""

    context: ScanContext

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0):
                yield from _read(self.context, group.as_py())


def arrow_frame(context: ScanContext, groups: TaskGroups, spark: SparkSession) -> DataFrame:
    """Return the rows of the groups, one group per Spark partition, classic and Connect alike.

    The driver holds the pickled tasks, some 300 bytes a file and its share of the deletes'.
    """
    check_worker_python(spark)
    pickled = tuple(pickle.dumps(group, pickle.HIGHEST_PROTOCOL) for group in groups)
    kind = nullable(to_spark(context.read_schema))
    count = max(1, len(pickled))
    if sum(map(len, pickled)) <= CLOSURE_BYTES:
        numbers = spark.range(0, len(pickled), 1, count)
        return numbers.mapInArrow(_ReadNumbered(context, pickled), kind)
    numbered = pa.array(range(len(pickled)), pa.int32())
    rows = pa.table({"tasks": pa.array(pickled, pa.binary()), "number": numbered})
    # Balanced groups stay so: a hash would put several of them into one partition.
    spread = spark.createDataFrame(rows).repartitionById(count, "number").select("tasks")
    return spread.mapInArrow(_ReadArriving(context), kind)


def _read(context: ScanContext, group: bytes) -> Iterator[pa.RecordBatch]:
    # Bytes that our own driver made a moment ago.
    return task_batches(context, starmap(FileScanTask, pickle.loads(group)))  # noqa: S301
