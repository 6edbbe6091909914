"""Frames through Spark's Python workers, as Arrow batches: the only way there.

A task is pickled with the plan, so it is a frozen dataclass (or a method of one) that holds all it
needs; the module that it comes from is imported in the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from iceberg_spark.spark.adapt.many_columns import by_position, plain
from iceberg_spark.spark.catalyst.classic_frame import arrow_function
from iceberg_spark.spark.session.in_worker import in_worker

Batches: TypeAlias = Iterable[pa.RecordBatch]
Task: TypeAlias = Callable[[Batches], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class _Renamed:
    """A task whose batches come with other names; pickled with the plan."""

    task: Task
    names: tuple[str, ...]

    @in_worker
    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        return self.task(batch.rename_columns(self.names) for batch in batches)


def map_in_arrow(
    frame: DataFrame, task: Task, kind: str, names: Sequence[str] | None = None
) -> DataFrame:
    """Return what a task makes of a frame's rows; its batches have `names`, else the frame's.

    PySpark's mapInArrow looks every column up by its name as an expression, which fails for a
    name with a dot or a backquote and for names that differ only by case.
    """
    output_names = tuple(frame.schema.names if names is None else names)
    rows, work = by_position(frame), _Renamed(task, output_names)
    # PySpark makes two round trips to Java for each column that its function takes. Java asks the
    # function for their names only: a row of them all, as one text, says the same.
    all_columns = f"({', '.join(map(plain, range(len(output_names))))})"
    java_function = arrow_function(rows, work, kind, all_columns) if output_names else None
    if java_function is None:
        return rows.mapInArrow(work, kind)
    inside, function = java_function
    return DataFrame(inside.mapInArrow(function, False, None), frame.sparkSession)


def map_plain_names(frame: DataFrame, task: Task, kind: str | StructType) -> DataFrame:
    """Return what a task makes of a frame whose columns we named ourselves: one step less.

    The task is what the worker calls first, so it is marked `in_worker` itself.
    """
    return frame.mapInArrow(task, kind)


def map_groups(
    frame: DataFrame, keys: Sequence[str], task: Callable[[pa.Table], pa.Table], kind: StructType
) -> DataFrame:
    """Return what a task makes of the rows with equal keys, of which a worker holds one group."""
    return frame.groupBy(*keys).applyInArrow(task, kind)
