"""Spark's tasks as readers of manifests (Java: `SparkDistributedDataScan`, `SparkReadConf`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_spark.errors import IcebergError, InvalidInputError, UnsupportedError
from iceberg_spark.spark.adapt.jobs import job_results
from iceberg_spark.spark.adapt.task_results import Payload, payload
from iceberg_spark.spark.reading.limits import DISTRIBUTED_PLANNING
from iceberg_spark.spark.session.classic_session import default_parallelism
from iceberg_spark.spark.session.session_cache import setting
from iceberg_spark.spark.session.worker_python import check_worker_python
from iceberg_spark.spec.runtime_names import SESSION_PREFIX

Job = TypeVar("Job")
Result = TypeVar("Result")

_TABLE_PREFIX = "read."
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_CANCELLED = "CANCEL"  # SPARK_JOB_CANCELLED, or OPERATION_CANCELED over Connect


@dataclass(frozen=True, slots=True, eq=False)
class SparkPlanningTasks:
    """The tasks of a session, classic or Connect. Implements `scan.planning_tasks`."""

    spark: SparkSession

    def mode(self, table_property: str) -> str | None:
        """Return the session's planning mode, None if it has none."""
        return setting(
            self.spark, SESSION_PREFIX + table_property.removeprefix(_TABLE_PREFIX), None
        )

    @property
    def parallelism(self) -> int:
        """How many tasks can run at once; 0 if the driver takes too few bytes of results.

        The larger one of Spark's default parallelism, which only a classic session knows, and the
        number of shuffle partitions.
        """
        result_bytes = _bytes(setting(self.spark, "spark.driver.maxResultSize", "1g"))
        if 0 < result_bytes < DISTRIBUTED_PLANNING.least_result_bytes:  # 0: unlimited
            return 0
        partitions = setting(self.spark, "spark.sql.shuffle.partitions")
        return max(default_parallelism(self.spark), int(partitions or 0))

    def run(self, work: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[Result]:
        """Return the results of a Spark job with a task for each of `jobs`.

        They travel compressed and are opened as they are used. Raises UnsupportedError if Spark
        can't run the tasks, and the errors of `work`.
        """
        try:
            check_worker_python(self.spark)
        except InvalidInputError as error:
            raise _cannot_run(error) from error
        task = _Compressed(work).result
        try:
            results = job_results(self.spark, jobs, task, final=(IcebergError,))
        except (PySparkException, Py4JError) as error:
            if _CANCELLED in str(error):
                raise
            raise _cannot_run(error) from error
        return (result.opened() for result in results)


@dataclass(frozen=True, slots=True)
class _Compressed(Generic[Job, Result]):
    """The function of every task: it compresses its result."""

    work: Callable[[Job], Result]

    def result(self, job: Job) -> Payload[Result]:
        return payload(self.work(job))


def _cannot_run(error: Exception) -> UnsupportedError:
    first_line = str(error).strip().partition("\n")[0].rstrip(".")
    return UnsupportedError(
        f"Spark's tasks can't plan the scan: {first_line}. Set the planning mode to 'local', or "
        "let executors import iceberg_spark"
    )


def _bytes(text: str | None) -> int:
    """Return a size of Spark's (`512m`, `1g`) in bytes, 0 for another text."""
    match = re.fullmatch(r"(\d+)([kmgt]?)b?", str(text).strip().lower())
    return 0 if match is None else int(match.group(1)) * _UNITS[match.group(2)]
