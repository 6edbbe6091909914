"""Streams of tables in a folder, run as PySpark runs them but without it."""

from itertools import count
from pathlib import Path

import pyarrow as pa

import iceberg_spark as ice
from iceberg_spark.catalog.pinned import load
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.read_options import read_options
from iceberg_spark.scan.request import scan_context
from iceberg_spark.streams.append_stream import AppendStream, PlannedBatch
from iceberg_spark.streams.offset import StreamOffset
from iceberg_spark.streams.running_stream import RunningStream
from iceberg_spark.streams.stream_options import STREAM_OPTIONS, stream_options
from iceberg_spark.streams.table_watch import Pace, StreamedTable

COLUMNS = pa.schema([("id", pa.int64()), ("p", pa.int32())])


def new_table(folder: Path, *, partitioned: bool = False, **properties: object) -> ice.Table:
    """A table of (id, p), with a file for each p of an append where it is partitioned."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    by = ["p"] if partitioned else []
    return ice.create_table(str(folder / "t"), COLUMNS, partition_by=by, properties=given)


def rows(*ids: int) -> pa.Table:
    """Rows whose p is the last digit of the id."""
    return pa.table({"id": ids, "p": [number % 10 for number in ids]}, COLUMNS)


def running(table: ice.Table | str, **options: object) -> RunningStream[PlannedBatch]:
    """A stream as a new run of a query has it; underscores in names of options are hyphens."""
    path = table if isinstance(table, str) else table.location()
    given = {name.replace("_", "-"): str(value) for name, value in options.items()}
    read = read_options({**given, "path": path}, others=STREAM_OPTIONS)
    stream = stream_options(given, read, changes=False)
    pinned, loaded = load(path, read.storage)
    context = scan_context(loaded.metadata, read, pinned.io)
    uuid = loaded.metadata.table_uuid
    watched = StreamedTable(path, read.storage, uuid, stream.branch, context)
    pace = Pace(clock=count(0.0, 1000.0).__next__, sleep=lambda _: None)
    return RunningStream(watched, AppendStream(stream), pace)


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

    def __init__(self, table: ice.Table | str, **options: object) -> None:
        self.run = running(table, **options)
        self.at: StreamOffset | None = None

    def batches(self, most: int = 1000) -> list[list[int]]:
        """The ids of each batch until there is nothing new."""
        found: list[list[int]] = []
        while len(found) < most:
            end = self.run.latest()
            before = self.at or self.run.initial()
            if end == before:
                return found
            found.append(ids_in(self.run.plan(before, end)))
            self.at = end
        raise AssertionError(f"more than {most} batches")


def batches(table: ice.Table | str, **options: object) -> list[list[int]]:
    """The ids of each batch of a new stream, until there is nothing new."""
    return Query(table, **options).batches()
