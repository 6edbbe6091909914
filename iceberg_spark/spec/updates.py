"""Changes to table metadata, in the REST catalog's vocabulary (`TableUpdate`).

`apply_updates.apply` folds them over a TableMetadata; `requirements` guard them. An id of -1
in `SetCurrentSchema`, `SetDefaultSpec` and `SetDefaultSortOrder` means the one last added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot, SnapshotRef
from iceberg_spark.spec.sort import SortOrder

LAST_ADDED = -1


@dataclass(frozen=True, slots=True)
class AssignUuid:
    """`assign-uuid`"""

    uuid: str


@dataclass(frozen=True, slots=True)
class UpgradeFormatVersion:
    """`upgrade-format-version`"""

    format_version: int


@dataclass(frozen=True, slots=True)
class AddSchema:
    """`add-schema`"""

    schema: Schema


@dataclass(frozen=True, slots=True)
class SetCurrentSchema:
    """`set-current-schema`"""

    schema_id: int = LAST_ADDED


@dataclass(frozen=True, slots=True)
class AddPartitionSpec:
    """`add-spec`"""

    spec: PartitionSpec


@dataclass(frozen=True, slots=True)
class SetDefaultSpec:
    """`set-default-spec`"""

    spec_id: int = LAST_ADDED


@dataclass(frozen=True, slots=True)
class AddSortOrder:
    """`add-sort-order`"""

    sort_order: SortOrder


@dataclass(frozen=True, slots=True)
class SetDefaultSortOrder:
    """`set-default-sort-order`"""

    sort_order_id: int = LAST_ADDED


@dataclass(frozen=True, slots=True)
class AddSnapshot:
    """`add-snapshot`"""

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class SetSnapshotRef:
    """`set-snapshot-ref`"""

    ref_name: str
    ref: SnapshotRef


@dataclass(frozen=True, slots=True)
class RemoveSnapshots:
    """`remove-snapshots`"""

    snapshot_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveSnapshotRef:
    """`remove-snapshot-ref`"""

    ref_name: str


@dataclass(frozen=True, slots=True)
class SetLocation:
    """`set-location`"""

    location: str


@dataclass(frozen=True, slots=True)
class SetProperties:
    """`set-properties`"""

    updates: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RemoveProperties:
    """`remove-properties`"""

    removals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetStatistics:
    """`set-statistics`; the JSON object of the statistics file, replacing its snapshot's."""

    statistics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemoveStatistics:
    """`remove-statistics`"""

    snapshot_id: int


@dataclass(frozen=True, slots=True)
class SetPartitionStatistics:
    """`set-partition-statistics`; the JSON object, replacing its snapshot's."""

    partition_statistics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemovePartitionStatistics:
    """`remove-partition-statistics`"""

    snapshot_id: int


@dataclass(frozen=True, slots=True)
class RemovePartitionSpecs:
    """`remove-partition-specs`"""

    spec_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveSchemas:
    """`remove-schemas`"""

    schema_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AddEncryptionKey:
    """`add-encryption-key`; the JSON object of the key."""

    encryption_key: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemoveEncryptionKey:
    """`remove-encryption-key`"""

    key_id: str


DefinitionUpdate: TypeAlias = (
    AddSchema
    | SetCurrentSchema
    | RemoveSchemas
    | AddPartitionSpec
    | SetDefaultSpec
    | RemovePartitionSpecs
    | AddSortOrder
    | SetDefaultSortOrder
)
SnapshotUpdate: TypeAlias = (
    AddSnapshot
    | SetSnapshotRef
    | RemoveSnapshots
    | RemoveSnapshotRef
    | SetStatistics
    | RemoveStatistics
    | SetPartitionStatistics
    | RemovePartitionStatistics
)
TableUpdate: TypeAlias = (
    DefinitionUpdate
    | SnapshotUpdate
    | AssignUuid
    | UpgradeFormatVersion
    | SetLocation
    | SetProperties
    | RemoveProperties
    | AddEncryptionKey
    | RemoveEncryptionKey
)
