"""Streams of a table's rows: micro-batches planned by one process, read by tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from iceberg_spark.catalog.pinned import PinnedTable
from iceberg_spark.read.changelog import ChangeRequest
from iceberg_spark.read.changes_table import ChangesTable
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.batches import spark_batches, task_batches
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.compat import (
    expected_arrow_schema,
    read_limit,
    stops_where_it_was,
    takes_everything,
)
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.streams.append_stream import AppendStream
from iceberg_spark.streams.change_stream import ChangeStream
from iceberg_spark.streams.commit_changes import CommitChanges, change_rows, each_file, for_tasks
from iceberg_spark.streams.offset import offset_from_json
from iceberg_spark.streams.running_stream import RunningStream
from iceberg_spark.streams.stream_request import ChangesRequest, StreamRequest

_AvailableNow: Any = stops_where_it_was()


class StreamedGroup(InputPartition):
    """What one Spark task reads of a batch: file scan tasks, or changes.

    `context` is how, where that is not as at the load: with another partition spec, new
    credentials.
    """

    def __init__(
        self,
        work: tuple[FileScanTask, ...] | tuple[CommitChanges, ...],
        context: ScanContext | None,
    ) -> None:
        super().__init__((work, context))


class MicroBatches(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]
    """What Spark asks of a running stream; offsets travel as JSON objects.

    It is pickled into every task, before it runs. `frame_type` is given where the frame's columns
    differ from the table's in what may be NULL.
    """

    def __init__(self, request: StreamRequest, frame_type: StructType | None) -> None:
        self.request = request
        self.frame_type = frame_type
        self._run: RunningStream[Any] | None = None

    def _running(self) -> RunningStream[Any]:
        raise NotImplementedError

    @property
    def _stream(self) -> RunningStream[Any]:
        if self._run is None:
            self._run = self._running()
        return self._run

    @in_worker
    def initialOffset(self) -> dict[str, object]:  # noqa: N802 - Spark's name
        """Return where the first batch begins."""
        return self._stream.initial().as_json()

    @in_worker
    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, object] | None = None, limit: object = None
    ) -> dict[str, object]:
        """Return where the next batch ends: PySpark 4.1 gives no argument, later ones both."""
        begin = None if start is None else offset_from_json(start)
        return self._stream.latest(begin, limited=not takes_everything(limit)).as_json()

    def getDefaultReadLimit(self) -> object:  # noqa: N802 - Spark's name
        """Return the limit of the options."""
        return read_limit(self.request.stream.max_files, self.request.stream.max_rows)

    @in_worker
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """End the stream at the newest snapshot of now."""
        self._stream.end_here()

    def _context_for_tasks(self, context: ScanContext) -> ScanContext | None:
        """Return how tasks read a batch, None where they know by what the reader holds."""
        pinned = self.request.table.context
        is_same = context == pinned and dict(context.io.properties) == dict(pinned.io.properties)
        return None if is_same else context

    def commit(self, end: dict[str, object]) -> None:
        """Do nothing: what was read stands in the checkpoint."""

    def stop(self) -> None:
        """Do nothing: there is nothing to close."""


class AppendStreamReader(MicroBatches):
    """Reads what was appended to a table."""

    def _running(self) -> RunningStream[Any]:
        return RunningStream(self.request.table, AppendStream(self.request.stream))

    @in_worker
    def partitions(self, start: dict[str, object], end: dict[str, object]) -> list[InputPartition]:
        """Return one partition for each balanced group of file scan tasks."""
        batch = self._stream.plan(offset_from_json(start), offset_from_json(end))
        split = self.request.read.split(batch.metadata)
        own = self._context_for_tasks(batch.context)
        return [StreamedGroup(group, own) for plan in batch.plans for group in plan.groups(split)]

    @in_worker
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a group as batches of exactly the frame's Arrow types."""
        tasks, context = partition.value
        yield from task_batches(context or self.request.table.context, tasks, self.frame_type)


class ChangeStreamReader(MicroBatches):
    """Reads what commits changed."""

    request: ChangesRequest

    def _running(self) -> RunningStream[Any]:
        return RunningStream(self.request.table, ChangeStream(self.request.stream))

    @in_worker
    def partitions(self, start: dict[str, object], end: dict[str, object]) -> list[InputPartition]:
        """Return one partition for each group of changed files."""
        batch = self._stream.plan(offset_from_json(start), offset_from_json(end))
        own = self._context_for_tasks(batch.context)
        return [StreamedGroup(group, own) for group in for_tasks(batch.changes)]

    @in_worker
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the changes of a group as batches of exactly the frame's Arrow types."""
        changes, context = partition.value
        request = self.request.changes
        used = replace(request, context=context or request.context)
        yield from read_changes(used, changes, self.frame_type)


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
