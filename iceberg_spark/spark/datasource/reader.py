"""Reading: the plan becomes Spark partitions, each read as Arrow batches in a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import datasource as ds
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from iceberg_spark.catalog.pinned import PinnedTable
from iceberg_spark.expr import nodes as n
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.nodes import And
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.read_options import ReadOptions
from iceberg_spark.spark.adapt.batches import task_batches
from iceberg_spark.spark.datasource.messages import TaskGroup
from iceberg_spark.spark.session.in_worker import in_worker


class BatchReader(DataSourceReader):
    """Plans a pinned scan and reads its tasks.

    It is pickled into every task, so it holds the scan's common part once and no metadata.
    """

    def __init__(
        self,
        table: PinnedTable,
        context: ScanContext,
        options: ReadOptions,
        frame_type: StructType | None,
    ) -> None:
        self.table = table
        self.context = context
        self.options = options
        self.frame_type = frame_type

    @in_worker
    def partitions(self) -> list[InputPartition]:
        """Return one partition for each balanced group of file scan tasks."""
        metadata = self.table.metadata()
        planned = plan(metadata, self.table.io, self.context)
        split = self.options.split(metadata)
        own = planned.is_by_catalog and planned.context.io is not self.table.io
        io = planned.context.io if own else None
        return [TaskGroup(group, io) for group in planned.groups(split)]

    @in_worker
    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a group as batches of exactly the frame's Arrow types."""
        if not isinstance(partition, TaskGroup):  # what Spark sends when there is no partition
            return
        context = self.context if partition.io is None else replace(self.context, io=partition.io)
        yield from task_batches(context, partition.tasks, self.frame_type)


class PushdownReader(BatchReader):
    """A reader that takes Spark's pushed filters: for frames that serve one query only.

    PySpark keeps the reader that took the filters for later actions on the same frame, which
    then lack rows; hence the option `pushdown` and not a default.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take the filters that can prune, and leave all the others to Spark."""
        schema = self.context.table_schema
        taken = []
        for pushed in filters:
            predicate = to_predicate(pushed)
            if predicate is None:
                yield pushed
            else:
                taken.append(bind(schema, predicate))
        if taken:
            both = And((self.context.row_filter, *taken))
            self.context = replace(self.context, row_filter=both)


_COMPARISONS: dict[type[ds.Filter], n.Op] = {
    ds.EqualTo: n.Op.EQ,
    ds.GreaterThan: n.Op.GT,
    ds.GreaterThanOrEqual: n.Op.GE,
    ds.LessThan: n.Op.LT,
    ds.LessThanOrEqual: n.Op.LE,
}


def to_predicate(pushed: ds.Filter) -> n.Unbound | None:
    """Return the predicate of a pushed filter, None for one that can't prune (Spark keeps it)."""
    match pushed:
        case ds.Not(child=child):
            inner = to_predicate(child)
            return None if inner is None else n.Not(inner)
        case ds.IsNull():
            return n.IsNull(_reference(pushed.attribute))
        case ds.IsNotNull():
            return n.IsNull(_reference(pushed.attribute), negated=True)
        case ds.In():
            return n.In(_reference(pushed.attribute), tuple(pushed.value))
        case ds.StringStartsWith():
            return n.StartsWith(_reference(pushed.attribute), pushed.value)
        case ds.EqualNullSafe(attribute=attribute, value=None):
            return n.IsNull(_reference(attribute))
        case ds.EqualNullSafe(attribute=attribute, value=value):
            return n.And(
                (
                    n.IsNull(_reference(attribute), negated=True),
                    n.Comparison(n.Op.EQ, _reference(attribute), value),
                )
            )
        case _ if type(pushed) in _COMPARISONS:
            return _comparison(_COMPARISONS[type(pushed)], pushed)
        case _:
            return None


def _comparison(op: n.Op, pushed: ds.Filter) -> n.Comparison:
    attribute: ds.ColumnPath = pushed.attribute  # type: ignore[attr-defined]
    return n.Comparison(op, _reference(attribute), pushed.value)  # type: ignore[attr-defined]


def _reference(path: ds.ColumnPath) -> n.Reference:
    return n.Reference(".".join(path))
