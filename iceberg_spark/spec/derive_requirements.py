"""Which requirements guard which updates (Java: UpdateRequirements)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from iceberg_spark.spec import requirements as r
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MAIN_BRANCH


def requirements_for(
    base: TableMetadata | None, updates: Iterable[u.TableUpdate], *, replace: bool = False
) -> tuple[r.TableRequirement, ...]:
    """Return the requirements under which updates that were computed on `base` are still valid.

    Without a base the table must not exist. `replace` replaces the whole table, which only
    requires that no id is assigned twice. A v1 table without uuid has no uuid requirement.
    """
    if base is None:
        return (r.AssertCreate(),)
    requirements: dict[r.TableRequirement, None] = {}
    if base.table_uuid:
        requirements[r.AssertTableUuid(base.table_uuid)] = None
    for update in updates:
        needed = _for_ids(base, update)
        requirements.update(dict.fromkeys(needed))
        if not replace:
            requirements.update(dict.fromkeys(_for_state(base, update)))
    return tuple(requirements)


def _for_ids(base: TableMetadata, update: u.TableUpdate) -> Iterator[r.TableRequirement]:
    match update:
        case u.AddSchema():
            yield r.AssertLastAssignedFieldId(base.last_column_id)
        case u.AddPartitionSpec():
            yield r.AssertLastAssignedPartitionId(base.last_partition_id)
        case _:
            return


def _for_state(base: TableMetadata, update: u.TableUpdate) -> Iterator[r.TableRequirement]:
    match update:
        case u.SetSnapshotRef(ref_name=name):
            ref = base.refs.get(name)
            yield r.AssertRefSnapshotId(name, None if ref is None else ref.snapshot_id)
        case u.SetCurrentSchema():
            yield r.AssertCurrentSchemaId(base.current_schema_id)
        case u.SetDefaultSpec():
            yield r.AssertDefaultSpecId(base.default_spec_id)
        case u.SetDefaultSortOrder():
            yield r.AssertDefaultSortOrderId(base.default_sort_order_id)
        case u.RemovePartitionSpecs():
            yield r.AssertDefaultSpecId(base.default_spec_id)
            yield from _branches(base)
        case u.RemoveSchemas():
            yield r.AssertCurrentSchemaId(base.current_schema_id)
            yield from _branches(base)
        case _:
            return


def _branches(base: TableMetadata) -> Iterator[r.TableRequirement]:
    """Require that branches did not move: they could use what the updates remove."""
    for name, ref in base.refs.items():
        if ref.is_branch and name != MAIN_BRANCH:
            yield r.AssertRefSnapshotId(name, ref.snapshot_id)
