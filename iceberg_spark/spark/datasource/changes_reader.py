"""A table's changes: `load("T#changes")`, read by tasks, each some changed files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from iceberg_spark.catalog.pinned import PinnedTable
from iceberg_spark.read.changelog import ChangeRequest
from iceberg_spark.read.changes_table import ChangesTable
from iceberg_spark.spark.adapt.batches import spark_batches
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.compat import expected_arrow_schema
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.streams.commit_changes import CommitChanges, change_rows, each_file, for_tasks


class ChangeGroup(InputPartition):
    """What one Spark task reads: changed files of about as many bytes as any other's."""

    def __init__(self, changes: Sequence[CommitChanges]) -> None:
        super().__init__(tuple(changes))

    @property
    def changes(self) -> tuple[CommitChanges, ...]:
        """Changed files, each with its commit."""
        changes: tuple[CommitChanges, ...] = self.value
        return changes


class ChangesReader(DataSourceReader):
    """Finds the files that commits changed, and reads their rows; pickled into every task."""

    def __init__(
        self, table: PinnedTable, changes: ChangesTable, frame_type: StructType | None
    ) -> None:
        self.table = table
        self.changes = changes
        self.frame_type = frame_type

    @in_worker
    def partitions(self) -> list[InputPartition]:
        """Return one partition for each group of changed files."""
        steps = self.changes.steps(self.table.metadata(), self.table.io)
        files = (file for step in steps for file in each_file(step))
        return [ChangeGroup(group) for group in for_tasks(files)]

    @in_worker
    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the changes of a group as batches of exactly the frame's Arrow types."""
        if not isinstance(partition, ChangeGroup):  # what Spark sends when there is no partition
            return
        yield from read_changes(self.changes.request, partition.changes, self.frame_type)


def read_changes(
    request: ChangeRequest, changes: Sequence[CommitChanges], frame_type: StructType | None
) -> Iterator[pa.RecordBatch]:
    """Yield changes as batches of exactly a frame's Arrow types, else of the request's columns."""
    used = replace(request.context, checks_texts=False)  # Spark's texts are any bytes
    expected = expected_arrow_schema(frame_type or to_spark(request.schema))
    rows = change_rows(replace(request, context=used), used.io, changes)
    yield from spark_batches(rows, request.schema, expected)
