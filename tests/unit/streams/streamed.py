"""Streams of tables in a folder, run as PySpark runs them but without it."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import iceberg_spark as ice
from iceberg_spark.catalog.pinned import load
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.read_options import read_options
from iceberg_spark.scan.request import scan_context
from iceberg_spark.spec.partition_type import partition_type
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
    return RunningStream(watched, AppendStream(stream), Pace(sleep=lambda _: None))


def ids_in(batch: PlannedBatch) -> list[int]:
    """The ids that a batch reads, sorted."""
    found: list[int] = []
    for plan in batch.plans:
        for task in plan:
            for read in read_task(batch.context, batch.context.io, task):
                found.extend(read.column("id").to_pylist())
    return sorted(found)


def batches(run: RunningStream[PlannedBatch], most: int = 1000) -> Iterator[list[int]]:
    """The ids of each batch until there is nothing new, as PySpark 4.1 asks for them."""
    start: StreamOffset | None = None
    for _ in range(most):
        end = run.latest()
        before = start or run.initial()
        if end == before:
            return
        yield ids_in(run.plan(before, end))
        start = end
    raise AssertionError(f"more than {most} batches")


def files_by_position(table: ice.Table, snapshot_id: int) -> list[tuple[int, str, int]]:
    """(position, path, rows) of the files that a snapshot added, entry by entry as in Java."""
    loaded = ice.load_table(table.location())
    metadata = loaded.metadata
    snapshot = metadata.snapshots[snapshot_id]
    found, first = [], 0
    for manifest in read_manifest_list(loaded.io, snapshot, metadata):
        if manifest.content.value != 0 or manifest.added_snapshot_id != snapshot_id:
            continue
        spec = metadata.partition_specs[manifest.partition_spec_id]
        kind = partition_type(spec, metadata.schema)
        position = first
        for entry in read_manifest(loaded.io, manifest, kind).to_pylist():
            if entry["status"] == 1 and entry["snapshot_id"] == snapshot_id:
                found.append((position, entry["file_path"], entry["record_count"]))
                position += 1
        first += (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
    return found
