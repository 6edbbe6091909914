"""Table metadata as one value (specification: "Table Metadata Fields").

Parsing and validation are in `metadata_json`; changes are `updates`, applied by `apply_updates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from iceberg_spark.errors import NoSuchSnapshotError
from iceberg_spark.spec.format_version import FormatVersion, rules_of
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import (
    MAIN_BRANCH,
    MetadataLogEntry,
    Snapshot,
    SnapshotLogEntry,
    SnapshotRef,
)
from iceberg_spark.spec.sort import SortOrder


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """One version of a table's metadata; times are ms since the epoch.

    Mappings are ordered as in the file. `current_snapshot_id` is None for an empty table (a
    stored -1 reads as None). `statistics`, `partition_statistics` and `encryption_keys` are
    carried as their JSON objects; `extra` holds unknown top-level JSON members.
    """

    format_version: int
    table_uuid: str
    location: str
    last_updated_ms: int
    last_column_id: int
    schemas: Mapping[int, Schema]
    current_schema_id: int
    partition_specs: Mapping[int, PartitionSpec]
    default_spec_id: int
    last_partition_id: int
    sort_orders: Mapping[int, SortOrder]
    default_sort_order_id: int
    last_sequence_number: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    current_snapshot_id: int | None = None
    snapshots: Mapping[int, Snapshot] = field(default_factory=dict)
    refs: Mapping[str, SnapshotRef] = field(default_factory=dict)
    snapshot_log: tuple[SnapshotLogEntry, ...] = ()
    metadata_log: tuple[MetadataLogEntry, ...] = ()
    statistics: tuple[Mapping[str, Any], ...] = ()
    partition_statistics: tuple[Mapping[str, Any], ...] = ()
    next_row_id: int | None = None
    encryption_keys: tuple[Mapping[str, Any], ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rules(self) -> FormatVersion:
        """The features of this format version."""
        return rules_of(self.format_version)

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return self.schemas[self.current_schema_id]

    @property
    def spec(self) -> PartitionSpec:
        """The default partition spec."""
        return self.partition_specs[self.default_spec_id]

    @property
    def sort_order(self) -> SortOrder:
        """The default sort order."""
        return self.sort_orders[self.default_sort_order_id]

    @property
    def current_snapshot(self) -> Snapshot | None:
        """The current snapshot of the main branch, None for an empty table."""
        return (
            None if self.current_snapshot_id is None else self.snapshots[self.current_snapshot_id]
        )

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """Return a snapshot by id. Raises NoSuchSnapshotError."""
        try:
            return self.snapshots[snapshot_id]
        except KeyError:
            raise NoSuchSnapshotError(
                f"No snapshot {snapshot_id} in {self.location}; it may have expired: "
                "the table's history lists the existing ones"
            ) from None

    def branch_head(self, branch: str | None = None) -> Snapshot | None:
        """Return the snapshot a branch points to; None for an empty main or unknown branch."""
        name = branch or MAIN_BRANCH
        if name in self.refs:
            return self.snapshot(self.refs[name].snapshot_id)
        return self.current_snapshot if name == MAIN_BRANCH else None
