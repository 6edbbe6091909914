"""The Spark task of a worker, and whether other attempts of it may run at the same time."""

from __future__ import annotations

from pyspark import TaskContext
from pyspark.sql import SparkSession

from iceberg_spark.write.context import TaskId


def task_id() -> TaskId:
    """Return the partition of the current Spark task and the id of this attempt.

    The id is unique among all attempts. That includes attempts of a stage that runs again, whose
    attempt numbers restart (Java: SparkWrite names files by `taskId`). Zeros outside of a task.
    """
    task = TaskContext.get()
    return TaskId() if task is None else TaskId(task.partitionId(), task.taskAttemptId())


def was_tried_before() -> bool:
    """Return whether the Spark task we run in is not the first attempt at its partition.

    The worker of an attempt that failed may still be writing: it sees the end of its input, not
    the failure.
    """
    task = TaskContext.get()
    return task is not None and task.attemptNumber() > 0


def speculates(spark: SparkSession) -> bool:
    """Return whether Spark may run a task twice at a time, and then ends the slower attempt."""
    return str(spark.conf.get("spark.speculation", "false")).lower() == "true"
