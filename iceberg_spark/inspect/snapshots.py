"""`snapshots` and `refs`: the snapshots that a table has, its branches and tags."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from iceberg_spark.inspect.rows import micros, table_of
from iceberg_spark.inspect.schemas import REFS, SNAPSHOTS
from iceberg_spark.spec.metadata import TableMetadata


def snapshots(metadata: TableMetadata) -> pa.Table:
    """Return all snapshots, in the order they were added. Source: Java's SnapshotsTable.

    `summary` is without the operation, which has its own column.
    """
    every = list(metadata.snapshots.values())
    columns: dict[str, list[Any]] = {
        "committed_at": micros(one.timestamp_ms for one in every),
        "snapshot_id": [one.snapshot_id for one in every],
        "parent_id": [one.parent_snapshot_id for one in every],
        "operation": [one.operation for one in every],
        "manifest_list": [one.manifest_list for one in every],
        "summary": [
            [(key, value) for key, value in one.summary.items() if key != "operation"]
            for one in every
        ],
    }
    return table_of(SNAPSHOTS, columns)


def refs(metadata: TableMetadata) -> pa.Table:
    """Return branches and tags with their retention. Source: Java's RefsTable."""
    every = metadata.refs
    columns: dict[str, list[Any]] = {
        "name": list(every),
        "type": [one.snapshot_ref_type.upper() for one in every.values()],
        "snapshot_id": [one.snapshot_id for one in every.values()],
        "max_reference_age_in_ms": [one.max_ref_age_ms for one in every.values()],
        "min_snapshots_to_keep": [one.min_snapshots_to_keep for one in every.values()],
        "max_snapshot_age_in_ms": [one.max_snapshot_age_ms for one in every.values()],
    }
    return table_of(REFS, columns)
