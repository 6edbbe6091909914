"""Does a table have what a commit asks for? The look that follows an answer that was lost."""

from __future__ import annotations

from collections.abc import Iterable

from iceberg_spark.spec import updates as u
from iceberg_spark.spec.metadata import TableMetadata


def has_landed(metadata: TableMetadata, updates: Iterable[u.TableUpdate]) -> bool:
    """Return whether a table has all of a commit's updates.

    A snapshot's id and a table's uuid are the commit's own, so they are proof; what has neither
    is known by its effect, which cannot be told from another commit's of the same effect.
    """
    every = tuple(updates)
    proof = [update for update in every if isinstance(update, u.AddSnapshot | u.AssignUuid)]
    return all(_is_there(metadata, update) for update in proof or every)


def can_tell(base: TableMetadata, now: TableMetadata, updates: Iterable[u.TableUpdate]) -> bool:
    """Return whether a commit whose snapshots a table lacks can't have landed before.

    Some servers show the newest snapshot only, without its parent (Nessie), and others expire:
    ours is known not to have been there where all that came after the base are shown. Commits
    without snapshots are known by their effects.
    """
    every = tuple(updates)
    if not any(isinstance(update, u.AddSnapshot) for update in every):
        return True
    if now.last_sequence_number > 0:  # each snapshot takes the next number
        before = base.last_sequence_number
        shown = [
            snapshot for snapshot in now.snapshots.values() if snapshot.sequence_number > before
        ]
        return len(shown) == now.last_sequence_number - before
    moved = [update.ref_name for update in every if isinstance(update, u.SetSnapshotRef)]
    return bool(moved) and all(_shows_all(base, now, name) for name in moved)


def _shows_all(base: TableMetadata, now: TableMetadata, branch: str) -> bool:
    """Return whether the parents of a branch's head lead to that of the base."""
    start = base.refs[branch].snapshot_id if branch in base.refs else None
    snapshot_id = now.refs[branch].snapshot_id if branch in now.refs else None
    for _ in range(len(now.snapshots) + 1):
        if snapshot_id == start:
            return True
        if snapshot_id is None or snapshot_id not in now.snapshots:
            return False
        snapshot_id = now.snapshots[snapshot_id].parent_snapshot_id
    return False


def _is_there(metadata: TableMetadata, update: u.TableUpdate) -> bool:  # noqa: C901, PLR0912 (a case an update)
    match update:
        case u.AssignUuid(uuid=uuid):
            return metadata.table_uuid.lower() == uuid.lower()
        case u.AddSnapshot(snapshot=snapshot):
            return snapshot.snapshot_id in metadata.snapshots
        case u.SetSnapshotRef(ref_name=name, ref=ref):
            return metadata.refs.get(name) == ref
        case u.RemoveSnapshotRef(ref_name=name):
            return name not in metadata.refs
        case u.RemoveSnapshots(snapshot_ids=ids):
            return not any(snapshot_id in metadata.snapshots for snapshot_id in ids)
        case u.SetProperties(updates=properties):
            return all(metadata.properties.get(k) == v for k, v in properties.items())
        case u.RemoveProperties(removals=names):
            return not any(name in metadata.properties for name in names)
        case u.SetLocation(location=location):
            return metadata.location.rstrip("/") == location.rstrip("/")
        case u.UpgradeFormatVersion(format_version=version):
            return metadata.format_version >= version
        case u.AddSchema(schema=schema):
            return any(schema.fields == existing.fields for existing in metadata.schemas.values())
        case u.AddPartitionSpec(spec=spec):
            return any(
                spec.fields == existing.fields for existing in metadata.partition_specs.values()
            )
        case u.AddSortOrder(sort_order=order):
            return any(
                order.fields == existing.fields for existing in metadata.sort_orders.values()
            )
        case u.SetCurrentSchema(schema_id=expected_id):
            return expected_id in (u.LAST_ADDED, metadata.current_schema_id)
        case u.SetDefaultSpec(spec_id=expected_id):
            return expected_id in (u.LAST_ADDED, metadata.default_spec_id)
        case u.SetDefaultSortOrder(sort_order_id=expected_id):
            return expected_id in (u.LAST_ADDED, metadata.default_sort_order_id)
        case u.RemoveSchemas(schema_ids=ids):
            return not any(schema_id in metadata.schemas for schema_id in ids)
        case u.RemovePartitionSpecs(spec_ids=ids):
            return not any(spec_id in metadata.partition_specs for spec_id in ids)
        case _:
            return _has_statistics(metadata, update)


def _has_statistics(metadata: TableMetadata, update: u.TableUpdate) -> bool:
    files = metadata.statistics
    partitions = metadata.partition_statistics
    match update:
        case u.SetStatistics(statistics=expected):
            return dict(expected) in map(dict, files)
        case u.SetPartitionStatistics(partition_statistics=expected):
            return dict(expected) in map(dict, partitions)
        case u.RemoveStatistics(snapshot_id=gone):
            return all(file["snapshot-id"] != gone for file in files)
        case u.RemovePartitionStatistics(snapshot_id=gone):
            return all(file["snapshot-id"] != gone for file in partitions)
        case _:
            return False
