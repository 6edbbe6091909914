"""The Spark task that a worker runs."""

from __future__ import annotations

from pyspark import TaskContext

from iceberg_spark.write.context import TaskId


def task_id() -> TaskId:
    """Return the partition and attempt of the Spark task we run in, zeros outside of one."""
    task = TaskContext.get()
    return TaskId() if task is None else TaskId(task.partitionId(), task.attemptNumber())
