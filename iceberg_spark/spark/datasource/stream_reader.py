"""Streams of a table's rows: micro-batches planned by one process, read by tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.read_options import ReadOptions
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.task_batches import task_batches
from iceberg_spark.spark.session.compat import read_limit, stops_where_it_was, takes_everything
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.streams.append_stream import AppendStream
from iceberg_spark.streams.offset import offset_from_json
from iceberg_spark.streams.running_stream import RunningStream
from iceberg_spark.streams.stream_options import StreamOptions
from iceberg_spark.streams.table_watch import StreamedTable

_AvailableNow: Any = stops_where_it_was()


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A stream as it was loaded: its table and columns, and the options of its load."""

    table: StreamedTable
    read: ReadOptions
    stream: StreamOptions


class StreamedGroup(InputPartition):
    """The file scan tasks of a batch that one Spark task reads.

    `context` is how they are read where that is not as at the load: with another partition spec,
    new credentials.
    """

    def __init__(self, tasks: tuple[FileScanTask, ...], context: ScanContext | None) -> None:
        super().__init__((tasks, context))


class MicroBatches(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]
    """What Spark asks of a running stream; offsets travel as JSON objects.

    It is pickled into every task, before it runs.
    """

    def __init__(self, asked: StreamRequest) -> None:
        self.asked = asked
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
        return read_limit(self.asked.stream.max_files, self.asked.stream.max_rows)

    @in_worker
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """End the stream at the newest snapshot of now."""
        self._stream.end_here()

    def commit(self, end: dict[str, object]) -> None:
        """Do nothing: what was read stands in the checkpoint."""

    def stop(self) -> None:
        """Do nothing: there is nothing to close."""


class AppendStreamReader(MicroBatches):
    """Reads what was appended to a table."""

    def __init__(self, asked: StreamRequest, frame_type: StructType | None) -> None:
        super().__init__(asked)
        self.frame_type = frame_type

    def _running(self) -> RunningStream[Any]:
        return RunningStream(self.asked.table, AppendStream(self.asked.stream))

    @in_worker
    def partitions(self, start: dict[str, object], end: dict[str, object]) -> list[InputPartition]:
        """Return one partition for each balanced group of file scan tasks."""
        batch = self._stream.plan(offset_from_json(start), offset_from_json(end))
        split = self.asked.read.split(batch.metadata)
        own = None if _is_same(batch.context, self.asked.table.context) else batch.context
        return [StreamedGroup(group, own) for each in batch.plans for group in each.groups(split)]

    @in_worker
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a group as batches of exactly the frame's Arrow types."""
        tasks, context = partition.value
        yield from task_batches(context or self.asked.table.context, tasks, self.frame_type)


def _is_same(one: ScanContext, other: ScanContext) -> bool:
    return one == other and dict(one.io.properties) == dict(other.io.properties)
