"""Preconditions of a commit, in the REST catalog's vocabulary (`TableRequirement`).

A requirement is checked by the catalog against the metadata it is about to replace; conflict
validation against other commits is another thing and lives in `transaction.conflicts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class AssertCreate:
    """`assert-create`: there must be no table yet."""


@dataclass(frozen=True, slots=True)
class AssertTableUuid:
    """`assert-table-uuid`"""

    uuid: str


@dataclass(frozen=True, slots=True)
class AssertRefSnapshotId:
    """`assert-ref-snapshot-id`; None: the reference must not exist."""

    ref: str
    snapshot_id: int | None


@dataclass(frozen=True, slots=True)
class AssertLastAssignedFieldId:
    """`assert-last-assigned-field-id`"""

    last_assigned_field_id: int


@dataclass(frozen=True, slots=True)
class AssertCurrentSchemaId:
    """`assert-current-schema-id`"""

    current_schema_id: int


@dataclass(frozen=True, slots=True)
class AssertLastAssignedPartitionId:
    """`assert-last-assigned-partition-id`"""

    last_assigned_partition_id: int


@dataclass(frozen=True, slots=True)
class AssertDefaultSpecId:
    """`assert-default-spec-id`"""

    default_spec_id: int


@dataclass(frozen=True, slots=True)
class AssertDefaultSortOrderId:
    """`assert-default-sort-order-id`"""

    default_sort_order_id: int


TableRequirement: TypeAlias = (
    AssertCreate
    | AssertTableUuid
    | AssertRefSnapshotId
    | AssertLastAssignedFieldId
    | AssertCurrentSchemaId
    | AssertLastAssignedPartitionId
    | AssertDefaultSpecId
    | AssertDefaultSortOrderId
)
