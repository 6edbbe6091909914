"""Are the preconditions of a commit still met? (REST specification, `TableRequirement`)"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from iceberg_spark.errors import CommitFailedException
from iceberg_spark.spec import requirements as r
from iceberg_spark.spec.metadata import TableMetadata


def check(base: TableMetadata | None, requirements: Iterable[r.TableRequirement]) -> None:
    """Check requirements against the metadata to be replaced; None if the table does not exist.

    Raises CommitFailedException naming the requirement, the expected and the actual value.
    """
    for requirement in requirements:
        if isinstance(requirement, r.AssertCreate):
            if base is not None:
                raise CommitFailedException(
                    f"Requirement assert-create failed: {base.location} has a table already"
                )
        elif base is None:
            raise CommitFailedException(f"Requirement {requirement} failed: there is no table")
        else:
            _check(base, requirement)


def _check(base: TableMetadata, requirement: r.TableRequirement) -> None:
    match requirement:
        case r.AssertCreate():
            return
        case r.AssertTableUuid(uuid=expected):
            _equal("assert-table-uuid", "table-uuid", expected.lower(), base.table_uuid.lower())
        case r.AssertRefSnapshotId(ref=name, snapshot_id=expected_id):
            ref = base.refs.get(name)
            actual = None if ref is None else ref.snapshot_id
            _equal("assert-ref-snapshot-id", f"snapshot of '{name}'", expected_id, actual)
        case r.AssertLastAssignedFieldId(last_assigned_field_id=number):
            _equal("assert-last-assigned-field-id", "last-column-id", number, base.last_column_id)
        case r.AssertCurrentSchemaId(current_schema_id=number):
            _equal("assert-current-schema-id", "schema-id", number, base.current_schema_id)
        case r.AssertLastAssignedPartitionId(last_assigned_partition_id=number):
            name, actual = "assert-last-assigned-partition-id", base.last_partition_id
            _equal(name, "last-partition-id", number, actual)
        case r.AssertDefaultSpecId(default_spec_id=number):
            _equal("assert-default-spec-id", "default-spec-id", number, base.default_spec_id)
        case r.AssertDefaultSortOrderId(default_sort_order_id=number):
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
