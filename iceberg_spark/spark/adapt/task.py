"""The Spark task that a worker runs."""

from __future__ import annotations

from pyspark import TaskContext

from iceberg_spark.write.context import TaskId


def task_id() -> TaskId:
    """Return the partition of the Spark task we run in and this attempt's own id.

    The id is unique among all attempts, also those of a stage that runs again, whose attempt
    numbers start anew (Java: SparkWrite names files by `taskId`). Zeros outside of a task.
    """
    task = TaskContext.get()
    return TaskId() if task is None else TaskId(task.partitionId(), task.taskAttemptId())
