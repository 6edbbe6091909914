"""`snapshots` and `refs`: the snapshots that a table has, its branches and tags."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from iceberg_spark.inspect.rows import micros, table_of
from iceberg_spark.inspect.schemas import REFS, SNAPSHOTS
from iceberg_spark.spec.metadata import TableMetadata


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
