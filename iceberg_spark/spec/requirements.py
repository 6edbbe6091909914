"""Preconditions of a commit, in the REST catalog's vocabulary (`TableRequirement`).

A requirement is checked by the catalog against the metadata it is about to replace; conflict
validation against other commits is another thing and lives in `transaction.conflicts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from iceberg_spark.errors import CommitFailedException
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MAIN_BRANCH


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


def check(base: TableMetadata | None, requirements: Iterable[TableRequirement]) -> None:
    """Check requirements against the metadata to be replaced; None if the table does not exist.

    Raises CommitFailedException naming the requirement, the expected and the actual value.
    """
    for requirement in requirements:
        if isinstance(requirement, AssertCreate):
            if base is not None:
                raise CommitFailedException(
                    f"Requirement assert-create failed: {base.location} has a table already"
                )
        elif base is None:
            raise CommitFailedException(f"Requirement {requirement} failed: there is no table")
        else:
            _check(base, requirement)


def _check(base: TableMetadata, requirement: TableRequirement) -> None:
    match requirement:
        case AssertCreate():
            return
        case AssertTableUuid(uuid=expected):
            _equal("assert-table-uuid", "table-uuid", expected.lower(), base.table_uuid.lower())
        case AssertRefSnapshotId(ref=name, snapshot_id=expected_id):
            ref = base.refs.get(name)
            actual = None if ref is None else ref.snapshot_id
            _equal("assert-ref-snapshot-id", f"snapshot of '{name}'", expected_id, actual)
        case AssertLastAssignedFieldId(last_assigned_field_id=number):
            _equal("assert-last-assigned-field-id", "last-column-id", number, base.last_column_id)
        case AssertCurrentSchemaId(current_schema_id=number):
            _equal("assert-current-schema-id", "schema-id", number, base.current_schema_id)
        case AssertLastAssignedPartitionId(last_assigned_partition_id=number):
            name, actual = "assert-last-assigned-partition-id", base.last_partition_id
            _equal(name, "last-partition-id", number, actual)
        case AssertDefaultSpecId(default_spec_id=number):
            _equal("assert-default-spec-id", "default-spec-id", number, base.default_spec_id)
        case AssertDefaultSortOrderId(default_sort_order_id=number):
            name, actual = "assert-default-sort-order-id", base.default_sort_order_id
            _equal(name, "default-sort-order-id", number, actual)
        case _:
            assert_never(requirement)


def _equal(name: str, what: str, expected: object, actual: object) -> None:
    if expected != actual:
        raise CommitFailedException(
            f"Requirement {name} failed: expected {what} {_text(expected)}, found {_text(actual)}"
        )


def _text(value: object) -> str:
    return "none" if value is None else str(value)


def requirements_for(
    base: TableMetadata | None, updates: Iterable[u.TableUpdate], *, replace: bool = False
) -> tuple[TableRequirement, ...]:
    """Return the requirements under which updates that were computed on `base` are still valid.

    Without a base the table must not exist. `replace` replaces the whole table, which only
    requires that no id is assigned twice. A v1 table without uuid has no uuid requirement.
    """
    if base is None:
        return (AssertCreate(),)
    requirements: dict[TableRequirement, None] = {}
    if base.table_uuid:
        requirements[AssertTableUuid(base.table_uuid)] = None
    for update in updates:
        needed = _for_ids(base, update)
        requirements.update(dict.fromkeys(needed))
        if not replace:
            requirements.update(dict.fromkeys(_for_state(base, update)))
    return tuple(requirements)


def _for_ids(base: TableMetadata, update: u.TableUpdate) -> Iterator[TableRequirement]:
    match update:
        case u.AddSchema():
            yield AssertLastAssignedFieldId(base.last_column_id)
        case u.AddPartitionSpec():
            yield AssertLastAssignedPartitionId(base.last_partition_id)
        case _:
            return


def _for_state(base: TableMetadata, update: u.TableUpdate) -> Iterator[TableRequirement]:
    match update:
        case u.SetSnapshotRef(ref_name=name):
            ref = base.refs.get(name)
            yield AssertRefSnapshotId(name, None if ref is None else ref.snapshot_id)
        case u.SetCurrentSchema():
            yield AssertCurrentSchemaId(base.current_schema_id)
        case u.SetDefaultSpec():
            yield AssertDefaultSpecId(base.default_spec_id)
        case u.SetDefaultSortOrder():
            yield AssertDefaultSortOrderId(base.default_sort_order_id)
        case u.RemovePartitionSpecs():
            yield AssertDefaultSpecId(base.default_spec_id)
            yield from _branches(base)
        case u.RemoveSchemas():
            yield AssertCurrentSchemaId(base.current_schema_id)
            yield from _branches(base)
        case _:
            return


def _branches(base: TableMetadata) -> Iterator[TableRequirement]:
    """Require that branches did not move: they could use what the updates remove."""
    for name, ref in base.refs.items():
        if ref.is_branch and name != MAIN_BRANCH:
            yield AssertRefSnapshotId(name, ref.snapshot_id)
