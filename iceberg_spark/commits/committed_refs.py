"""The committed snapshot at which each branch of an unfinished commit begins.

A transaction may create a branch, or move one, and then change its rows. The change is planned on
the committed snapshot where the branch begins. It conflicts with commits between that snapshot and
the one where the branch begins when the transaction is committed.
"""

from __future__ import annotations

from dataclasses import replace

from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot, SnapshotRef


def committed_head(
    staged: TableMetadata, base: TableMetadata, branch: str | None
) -> Snapshot | None:
    """Return the newest snapshot of a staged branch that its base has, None if there is none."""
    return _committed(staged, base, staged.branch_head(branch))


def with_staged_refs(base: TableMetadata, staged: TableMetadata) -> TableMetadata:
    """Return the base with its branches at the snapshots where those of a commit over it begin."""
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
