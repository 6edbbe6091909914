"""`history` and `metadata_log_entries`: the snapshot log and the metadata log as tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from iceberg_spark.inspect.rows import micros, table_of
from iceberg_spark.inspect.schemas import HISTORY, METADATA_LOG_ENTRIES
from iceberg_spark.spec.ancestry import ancestors, snapshot_id_at
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MetadataLogEntry


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
