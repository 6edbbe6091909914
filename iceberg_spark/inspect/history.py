"""`history` and `metadata_log_entries`: what the table's logs say."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from iceberg_spark.inspect.rows import micros, table_of
from iceberg_spark.inspect.schemas import HISTORY, METADATA_LOG_ENTRIES
from iceberg_spark.spec.ancestry import ancestors, snapshot_id_at
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MetadataLogEntry


def history(metadata: TableMetadata) -> pa.Table:
    """Return which snapshot became current when, in the order of the snapshot log.

    An expired snapshot has no parent; a rolled back one is no ancestor of the current one.
    Source: Java's HistoryTable.
    """
    current = metadata.current_snapshot_id
    lineage = (
        {one.snapshot_id for one in ancestors(metadata, current)} if current is not None else set()
    )
    known = metadata.snapshots
    ids = [entry.snapshot_id for entry in metadata.snapshot_log]
    columns: dict[str, list[Any]] = {
        "made_current_at": micros(entry.timestamp_ms for entry in metadata.snapshot_log),
        "snapshot_id": ids,
        "parent_id": [known[one].parent_snapshot_id if one in known else None for one in ids],
        "is_current_ancestor": [one in lineage for one in ids],
    }
    return table_of(HISTORY, columns)


def metadata_log_entries(metadata: TableMetadata, metadata_location: str) -> pa.Table:
    """Return the metadata files that are still listed, the given one last.

    Each is shown with the snapshot that was current at its time, which is the one it holds.
    Source: Java's MetadataLogEntriesTable.
    """
    entries = [
        *metadata.metadata_log,
        MetadataLogEntry(metadata_location, metadata.last_updated_ms),
    ]
    latest = [snapshot_id_at(metadata, entry.timestamp_ms) for entry in entries]
    found = [None if one is None else metadata.snapshots.get(one) for one in latest]
    columns: dict[str, list[Any]] = {
        "timestamp": micros(entry.timestamp_ms for entry in entries),
        "file": [entry.metadata_file for entry in entries],
        "latest_snapshot_id": latest,
        "latest_schema_id": [None if one is None else one.schema_id for one in found],
        "latest_sequence_number": [None if one is None else one.sequence_number for one in found],
    }
    return table_of(METADATA_LOG_ENTRIES, columns)
