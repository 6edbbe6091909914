"""Jobs over Spark's tasks, one job a task: files to read, to describe or to rewrite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.spark.adapt.map_arrow import Batches, map_plain_names
from iceberg_spark.spark.adapt.task_results import (
    RESULT,
    Final,
    collect_results,
    pickle_value,
    result_batch,
    unpickle_value,
)
from iceberg_spark.spark.session.classic_session import active_session_kept
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spark.session.worker_python import check_worker_python

J = TypeVar("J")
R = TypeVar("R")

CLOSURE_BYTES = 256 * 1024
"""Up to so many bytes of pickled jobs travel with the function, which is what every Spark task is
sent; more of them travel as rows, of which a Spark task gets its own only."""


@dataclass(frozen=True, slots=True)
class _Numbered(Generic[J]):
    """Runs the jobs whose numbers arrive; all of them are here."""

    run: Callable[[J], Iterator[pa.RecordBatch]]
    jobs: tuple[bytes, ...]

    @in_worker
    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.run(unpickle_value(self.jobs[number]))


@dataclass(frozen=True, slots=True)
class _Arriving(Generic[J]):
    """Runs the jobs that arrive."""

    run: Callable[[J], Iterator[pa.RecordBatch]]

    @in_worker
    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for job in batch.column(0):
                yield from self.run(unpickle_value(job.as_py()))


@dataclass(frozen=True, slots=True)
class _Result(Generic[J, R]):
    """A job's result as a row."""

    work: Callable[[J], R]
    final: Final

    def row(self, job: J) -> Iterator[pa.RecordBatch]:
        """Yield one."""
        yield result_batch(lambda: self.work(job), self.final)


def job_rows(
    spark: SparkSession,
    jobs: Iterable[J],
    run: Callable[[J], Iterator[pa.RecordBatch]],
    kind: str | StructType,
) -> DataFrame:
    """Return the rows that `run` yields for each job, a job a partition; classic and Connect alike.

    `run` is a method of a frozen dataclass with what all jobs share, which travels once. The driver
    holds the pickled jobs. Raises InvalidInputError for workers without this package.
    """
    check_worker_python(spark)
    pickled_jobs = tuple(pickle_value(job) for job in jobs)
    tasks = max(1, len(pickled_jobs))
    if sum(map(len, pickled_jobs)) <= CLOSURE_BYTES:
        return map_plain_names(
            spark.range(0, len(pickled_jobs), 1, tasks), _Numbered(run, pickled_jobs), kind
        )
    numbers = pa.array(range(len(pickled_jobs)), pa.int32())
    rows = pa.table({"job": pa.array(pickled_jobs, pa.binary()), "number": numbers})
    with active_session_kept():
        frame = spark.createDataFrame(rows, "job binary, number int")
    # Balanced jobs stay so: a hash would put several of them into one partition.
    spread = frame.repartitionById(tasks, "number").select("job")
    return map_plain_names(spread, _Arriving(run), kind)


def job_results(
    spark: SparkSession, jobs: Iterable[J], work: Callable[[J], R], *, final: Final = ()
) -> list[R]:
    """Return what `work` returns for each job, in their order; a job a task, as in `job_rows`.

    Errors of the kinds `final` are raised as they are, when all tasks have ended; others are
    Spark's, after its attempts.
    """
    return collect_results(job_rows(spark, jobs, _Result(work, final).row, RESULT))
