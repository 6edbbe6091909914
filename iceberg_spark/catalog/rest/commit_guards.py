"""Requirements of a commit that a server may apply to a newer table than its base."""

from __future__ import annotations

from iceberg_spark.catalog.catalog import TableChange
from iceberg_spark.spec.requirements import AssertRefSnapshotId, TableRequirement
from iceberg_spark.spec.updates import RemoveSnapshotRef, RemoveSnapshots


def commit_guards(change: TableChange) -> tuple[TableRequirement, ...]:
    """Return a commit's requirements, and that no branch or tag has moved if it removes snapshots.

    The client chose the unneeded snapshots on the base. Otherwise a server would remove one that a
    branch was set back to since.
    """
    removes = any(
        isinstance(update, RemoveSnapshots | RemoveSnapshotRef) for update in change.updates
    )
    if not removes or change.base is None:
        return change.requirements
    refs = change.base.metadata.refs.items()
    more = (AssertRefSnapshotId(name, ref.snapshot_id) for name, ref in refs)
    return tuple(dict.fromkeys((*change.requirements, *more)))
