"""Metadata tables with one row per snapshot, reference, log entry or statistics file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.inspect.schemas import (
    HISTORY,
    METADATA_LOG_ENTRIES,
    PARTITION_STATISTICS_FILES,
    REFS,
    SNAPSHOTS,
    STATISTICS_FILES,
)
from iceberg_spark.spec.ancestry import ancestors, snapshot_id_at
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import MetadataLogEntry


def snapshots(metadata: TableMetadata) -> pa.Table:
    """Return all snapshots, in the order of the metadata. Source: Java's SnapshotsTable.

    `summary` does not contain the operation, which has its own column.
    """
    all_snapshots = list(metadata.snapshots.values())
    columns: dict[str, list[Any]] = {
        "committed_at": micros(snapshot.timestamp_ms for snapshot in all_snapshots),
        "snapshot_id": [snapshot.snapshot_id for snapshot in all_snapshots],
        "parent_id": [snapshot.parent_snapshot_id for snapshot in all_snapshots],
        "operation": [snapshot.operation for snapshot in all_snapshots],
        "manifest_list": [snapshot.manifest_list for snapshot in all_snapshots],
        "summary": [
            [(key, value) for key, value in snapshot.summary.items() if key != "operation"]
            for snapshot in all_snapshots
        ],
    }
    return table_of(SNAPSHOTS, columns)


def refs(metadata: TableMetadata) -> pa.Table:
    """Return branches and tags with their retention. Source: Java's RefsTable."""
    all_refs = metadata.refs
    columns: dict[str, list[Any]] = {
        "name": list(all_refs),
        "type": [ref.snapshot_ref_type.upper() for ref in all_refs.values()],
        "snapshot_id": [ref.snapshot_id for ref in all_refs.values()],
        "max_reference_age_in_ms": [ref.max_ref_age_ms for ref in all_refs.values()],
        "min_snapshots_to_keep": [ref.min_snapshots_to_keep for ref in all_refs.values()],
        "max_snapshot_age_in_ms": [ref.max_snapshot_age_ms for ref in all_refs.values()],
    }
    return table_of(REFS, columns)


def history(metadata: TableMetadata) -> pa.Table:
    """Return the snapshot log: which snapshot became current at which time.

    The parent of an expired snapshot is null. A snapshot that was rolled back is not an ancestor of
    the current one. Source: Java's HistoryTable.
    """
    current = metadata.current_snapshot_id
    lineage = (
        {snapshot.snapshot_id for snapshot in ancestors(metadata, current)}
        if current is not None
        else set()
    )
    by_id = metadata.snapshots
    ids = [entry.snapshot_id for entry in metadata.snapshot_log]
    columns: dict[str, list[Any]] = {
        "made_current_at": micros(entry.timestamp_ms for entry in metadata.snapshot_log),
        "snapshot_id": ids,
        "parent_id": [by_id[id_].parent_snapshot_id if id_ in by_id else None for id_ in ids],
        "is_current_ancestor": [id_ in lineage for id_ in ids],
    }
    return table_of(HISTORY, columns)


def metadata_log_entries(metadata: TableMetadata, metadata_location: str) -> pa.Table:
    """Return the metadata files of the metadata log, then the one at `metadata_location`.

    Each row has the snapshot that was current at the time of its entry: the current snapshot of
    that file. Source: Java's MetadataLogEntriesTable.
    """
    entries = [
        *metadata.metadata_log,
        MetadataLogEntry(metadata_location, metadata.last_updated_ms),
    ]
    latest = [snapshot_id_at(metadata, entry.timestamp_ms) for entry in entries]
    snapshots = [None if id_ is None else metadata.snapshots.get(id_) for id_ in latest]
    columns: dict[str, list[Any]] = {
        "timestamp": micros(entry.timestamp_ms for entry in entries),
        "file": [entry.metadata_file for entry in entries],
        "latest_snapshot_id": latest,
        "latest_schema_id": [
            None if snapshot is None else snapshot.schema_id for snapshot in snapshots
        ],
        "latest_sequence_number": [
            None if snapshot is None else snapshot.sequence_number for snapshot in snapshots
        ],
    }
    return table_of(METADATA_LOG_ENTRIES, columns)


Entries: TypeAlias = Sequence[Mapping[str, Any]]


def statistics_files(metadata: TableMetadata) -> pa.Table:
    """Return the Puffin files of snapshots and their blobs (specification, "Table Statistics").

    Raises:
        CorruptFileError: an entry in the metadata lacks a field or has one of a wrong type.
    """
    return _rows(metadata, STATISTICS_FILES, metadata.statistics)


def partition_statistics_files(metadata: TableMetadata) -> pa.Table:
    """Return the partition statistics files, one per snapshot.

    Raises:
        CorruptFileError: an entry in the metadata lacks a field or has one of a wrong type.
    """
    return _rows(metadata, PARTITION_STATISTICS_FILES, metadata.partition_statistics)


def _rows(metadata: TableMetadata, schema: Schema, entries: Entries) -> pa.Table:
    names = {field.name: field.name.replace("_", "-") for field in schema.fields}
    try:
        columns = {name: [_value(entry[key]) for entry in entries] for name, key in names.items()}
        rows = table_of(schema, columns)
    except (
        pa.ArrowException,
        AttributeError,
        KeyError,
        OverflowError,
        TypeError,
        ValueError,
    ) as cause:
        raise _broken(metadata, f"{type(cause).__name__}: {cause}") from cause
    if any(column.null_count for column in rows.columns):
        raise _broken(metadata, "a value is null")
    return rows


def _broken(metadata: TableMetadata, why: str) -> CorruptFileError:
    return CorruptFileError(
        f"Cannot read the statistics files in the metadata of {metadata.location}: {why}"
    )


def _value(value: Any) -> Any:
    """Return a value of the JSON metadata as a column value; lists are lists of blobs."""
    return [_blob(blob) for blob in value] if isinstance(value, list | tuple) else value


def _blob(blob: Mapping[str, Any]) -> dict[str, Any]:
    properties = blob.get("properties") or {}
    return {
        "type": blob["type"],
        "snapshot_id": blob["snapshot-id"],
        "sequence_number": blob["sequence-number"],
        "fields": list(blob["fields"]),
        "properties": list(properties.items()),
    }


def table_of(schema: Schema, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Return lists of plain values as a table with exactly the Arrow types of the schema."""
    kinds = to_arrow(schema)
    arrays = [pa.array(columns[kind.name], kind.type) for kind in kinds]
    return pa.Table.from_arrays(arrays, schema=kinds)


def micros(times_ms: Iterable[int]) -> list[int]:
    """Convert ms since the epoch to µs, the unit of timestamp columns."""
    return [time_ms * 1000 for time_ms in times_ms]
