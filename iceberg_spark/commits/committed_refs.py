"""Where the branches of a commit in the making stand among the snapshots that are committed.

A transaction may create a branch, or point one elsewhere, and then change its rows. Such a change
is planned on the committed snapshot that the branch begins at, and conflicts with what was
committed between that one and where the branch begins when the transaction lands.
"""

from __future__ import annotations

from dataclasses import replace

from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot, SnapshotRef


def committed_head(
    staged: TableMetadata, base: TableMetadata, branch: str | None
) -> Snapshot | None:
    """Return the newest snapshot of a staged branch that its base has, None where it has none."""
    return _committed(staged, base, staged.branch_head(branch))


def with_staged_refs(base: TableMetadata, staged: TableMetadata) -> TableMetadata:
    """Return a base whose branches stand where those of a commit over it begin."""
    if staged.refs is base.refs:
        return base
    refs: dict[str, SnapshotRef] = {}
    for name, ref in staged.refs.items():
        head = _committed(staged, base, staged.snapshot(ref.snapshot_id))
        if head is not None:
            refs[name] = replace(ref, snapshot_id=head.snapshot_id)
    heads = {name: ref.snapshot_id for name, ref in refs.items()}
    if heads == {name: ref.snapshot_id for name, ref in base.refs.items()}:
        return base
    return replace(base, refs=refs, current_snapshot_id=heads.get(MAIN_BRANCH))


def _committed(
    staged: TableMetadata, base: TableMetadata, head: Snapshot | None
) -> Snapshot | None:
    while head is not None and head.snapshot_id not in base.snapshots:
        parent = head.parent_snapshot_id
        head = None if parent is None else staged.snapshots.get(parent)
    return head
