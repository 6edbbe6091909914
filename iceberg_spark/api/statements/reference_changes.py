"""Branches and tags that ALTER TABLE creates, replaces and drops."""

from __future__ import annotations

from iceberg_spark.api.manage_snapshots import ManageSnapshots
from iceberg_spark.api.table import Table
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.sql.statements.references import RefChange


def change_reference(table: Table, change: RefChange) -> None:
    """Carry out one change of a branch or tag.

    Raises NoSuchSnapshotError, InvalidInputError if it exists already or does not exist.
    """
    there = change.name in table.refs()
    builder = table.manage_snapshots()
    if change.drops:
        if there or not change.if_exists:
            _drop(builder, change)
        return
    if there and change.if_not_exists:
        return
    if change.replaces and (there or not change.creates):
        _replace(builder, change, _snapshot(table, change))
    else:
        _create(builder, change, _snapshot_or_none(table, change))


def _drop(builder: ManageSnapshots, change: RefChange) -> None:
    remove = builder.remove_branch if change.kind == "branch" else builder.remove_tag
    remove(change.name).commit()


def _snapshot_or_none(table: Table, change: RefChange) -> int | None:
    current = table.current_snapshot()
    if change.snapshot_id is not None or current is None:
        return change.snapshot_id
    return current.snapshot_id


def _snapshot(table: Table, change: RefChange) -> int:
    snapshot_id = _snapshot_or_none(table, change)
    if snapshot_id is None:
        raise InvalidInputError(
            f"The table has no snapshot for {change.kind} '{change.name}': write rows first"
        )
    return snapshot_id


def _replace(builder: ManageSnapshots, change: RefChange, snapshot_id: int) -> None:
    if change.kind == "tag":
        builder.replace_tag(snapshot_id, change.name, change.max_ref_age_ms).commit()
    else:
        builder.replace_branch(snapshot_id, change.name, *_retention(change)).commit()


def _create(builder: ManageSnapshots, change: RefChange, snapshot_id: int | None) -> None:
    if change.kind == "tag":
        builder.create_tag(snapshot_id, change.name, change.max_ref_age_ms).commit()
    else:
        builder.create_branch(snapshot_id, change.name, *_retention(change)).commit()


def _retention(change: RefChange) -> tuple[int | None, int | None, int | None]:
    """Return a branch's retention in the order of the builder's arguments."""
    return change.max_ref_age_ms, change.max_snapshot_age_ms, change.min_snapshots_to_keep
