"""Streams of tables in a folder, run as PySpark runs them but without it."""

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

import iceberg_spark as ice
from iceberg_spark.catalog.pinned import load
from iceberg_spark.read.changelog import ChangeRequest
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.read_options import ReadOptions, read_options
from iceberg_spark.scan.request import scan_context
from iceberg_spark.streams.append_stream import AppendStream, PlannedBatch
from iceberg_spark.streams.change_stream import ChangeStream, PlannedChanges
from iceberg_spark.streams.offset import StreamOffset
from iceberg_spark.streams.running_stream import RunningStream
from iceberg_spark.streams.stream_options import STREAM_OPTIONS, stream_options
from iceberg_spark.streams.stream_request import stream_of_changes, stream_of_rows
from iceberg_spark.streams.table_watch import Pace

COLUMNS = pa.schema([("id", pa.int64()), ("p", pa.int32())])


def new_table(folder: Path, *, partitioned: bool = False, **properties: object) -> ice.Table:
    """A table of (id, p), with a file for each p of an append where it is partitioned."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    by = ["p"] if partitioned else []
    return ice.create_table(str(folder / "t"), COLUMNS, partition_by=by, properties=given)


def rows(*ids: int) -> pa.Table:
    """Rows whose p is the last digit of the id."""
    return pa.table({"id": ids, "p": [number % 10 for number in ids]}, COLUMNS)


Stream: TypeAlias = RunningStream[PlannedBatch] | RunningStream[PlannedChanges]


def running(table: ice.Table, **options: object) -> RunningStream[PlannedBatch]:
    """A stream as a new run of a query has it; underscores in names of options are hyphens."""
    given, read = _options(table.location(), options)
    pinned, loaded = load(read.path, read.storage)
    context = scan_context(loaded.metadata, read, pinned.io)
    stream = stream_options(given, read, changes=False)
    asked = stream_of_rows(stream, read, context, loaded.metadata.table_uuid)
    return RunningStream(asked.table, AppendStream(asked.stream), _pace())


def running_changes(
    table: ice.Table, **options: object
) -> tuple[RunningStream[PlannedChanges], ChangeRequest]:
    """A stream of changes, and how its rows are read."""
    given, read = _options(f"{table.location()}#changes", options)
    pinned, loaded = load(read.path, read.storage)
    asked = stream_of_changes(given, read, loaded, pinned.io)
    return RunningStream(asked.table, ChangeStream(asked.stream), _pace()), asked.changes


def _options(path: str, options: Mapping[str, object]) -> tuple[dict[str, str], ReadOptions]:
    given = {name.replace("_", "-"): str(value) for name, value in options.items()}
    return given, read_options({**given, "path": path}, others=STREAM_OPTIONS)


def _pace() -> Pace:
    """No waiting: the clock is always late."""
    return Pace(clock=count(0.0, 1000.0).__next__, sleep=lambda _: None)


def ids_in(batch: PlannedBatch) -> list[int]:
    """The ids that a batch reads, sorted."""
    found: list[int] = []
    for plan in batch.plans:
        for task in plan:
            for read in read_task(batch.context, batch.context.io, task):
                found.extend(read.column("id").to_pylist())
    return sorted(found)


class Query:
    """A run of a query over a stream: PySpark 4.1 asks so."""

    def __init__(self, table: ice.Table, **options: object) -> None:
        self.run = running(table, **options)
        self.at: StreamOffset | None = None

    def batches(self) -> list[list[int]]:
        """The ids of each batch until there is nothing new."""
        found = []
        for start, end in offsets(self.run, self.at):
            found.append(ids_in(self.run.plan(start, end)))
            self.at = end
        return found


def offsets(
    run: Stream, at: StreamOffset | None = None
) -> Iterator[tuple[StreamOffset, StreamOffset]]:
    """The batches of a run, by their offsets, until there is nothing new."""
    for _ in range(1000):
        end = run.latest()
        start = at or run.initial()
        if end == start:
            return
        yield start, end
        at = end
    raise AssertionError("the stream has no end")


def batches(table: ice.Table, **options: object) -> list[list[int]]:
    """The ids of each batch of a new stream, until there is nothing new."""
    return Query(table, **options).batches()
