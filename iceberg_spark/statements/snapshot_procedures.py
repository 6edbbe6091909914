"""Procedures about snapshots: rollback, cherry-pick, publish, fast-forward, ancestors."""

from __future__ import annotations

from iceberg_spark.api.table import Table
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.spec.snapshot import MAIN_BRANCH
from iceberg_spark.statements.procedure import Called, Procedure, Rows
from iceberg_spark.statements.procedure_values import MOMENT, NUMBER, TEXT

_MOVED = "previous_snapshot_id bigint, current_snapshot_id bigint"
_PICKED = "source_snapshot_id bigint, current_snapshot_id bigint"
_WAP_ID = "wap.id"


def _head(table: Table) -> int | None:
    head = table.current_snapshot()
    return None if head is None else head.snapshot_id


def _rollback(called: Called) -> Rows:
    table = called.table()
    before = _head(table)
    table.manage_snapshots().rollback_to_snapshot(called.values["snapshot_id"]).commit()
    return [(before, _head(table))]


def _rollback_to_timestamp(called: Called) -> Rows:
    table = called.table()
    before = _head(table)
    table.manage_snapshots().rollback_to_timestamp(called.values["timestamp"]).commit()
    return [(before, _head(table))]


def _set_current(called: Called) -> Rows:
    table = called.table()
    before = _head(table)
    arguments = called.arguments("snapshot_id", "ref")
    if len(arguments) != 1:
        raise InvalidInputError("set_current_snapshot needs either snapshot_id or ref")
    builder = table.manage_snapshots()
    builder.set_current_snapshot(arguments.get("snapshot_id"), arguments.get("ref")).commit()
    return [(before, _head(table))]


def _cherrypick(called: Called) -> Rows:
    table = called.table()
    snapshot_id = called.values["snapshot_id"]
    table.manage_snapshots().cherrypick(snapshot_id).commit()
    return [(snapshot_id, _head(table))]


def _publish(called: Called) -> Rows:
    table = called.table()
    wap_id = called.values["wap_id"]
    staged = [snapshot for snapshot in table.snapshots() if snapshot.summary.get(_WAP_ID) == wap_id]
    if not staged:
        raise InvalidInputError(f"No snapshot was staged with {_WAP_ID} '{wap_id}'")
    if len(staged) > 1:
        ids = ", ".join(str(snapshot.snapshot_id) for snapshot in staged)
        raise ValidationException(
            f"Several snapshots were staged with {_WAP_ID} '{wap_id}': cherrypick_snapshot one of "
            f"{ids}"
        )
    table.manage_snapshots().cherrypick(staged[0].snapshot_id).commit()
    return [(staged[0].snapshot_id, _head(table))]


def _fast_forward(called: Called) -> Rows:
    table = called.table()
    branch = called.values["branch"]
    before = table.refs().get(branch)
    table.manage_snapshots().fast_forward(branch, called.values["to"]).commit()
    after = table.refs()[branch].snapshot_id
    return [(branch, None if before is None else before.snapshot_id, after)]


def _ancestors(called: Called) -> Rows:
    metadata = called.table().metadata
    snapshot_id = called.values.get("snapshot_id")
    if snapshot_id is None:
        head = metadata.branch_head(MAIN_BRANCH)
        snapshot_id = None if head is None else head.snapshot_id
    elif snapshot_id not in metadata.snapshots:
        raise InvalidInputError(f"The table has no snapshot {snapshot_id}")
    rows: Rows = []
    while snapshot_id is not None and snapshot_id in metadata.snapshots:
        snapshot = metadata.snapshots[snapshot_id]
        rows.append((snapshot_id, snapshot.timestamp_ms))
        snapshot_id = snapshot.parent_snapshot_id
    return rows


SNAPSHOTS: dict[str, Procedure] = {
    "rollback_to_snapshot": Procedure({"table": TEXT, "snapshot_id": NUMBER}, 2, _MOVED, _rollback),
    "rollback_to_timestamp": Procedure(
        {"table": TEXT, "timestamp": MOMENT}, 2, _MOVED, _rollback_to_timestamp
    ),
    "set_current_snapshot": Procedure(
        {"table": TEXT, "snapshot_id": NUMBER, "ref": TEXT}, 1, _MOVED, _set_current
    ),
    "cherrypick_snapshot": Procedure(
        {"table": TEXT, "snapshot_id": NUMBER}, 2, _PICKED, _cherrypick
    ),
    "publish_changes": Procedure({"table": TEXT, "wap_id": TEXT}, 2, _PICKED, _publish),
    "fast_forward": Procedure(
        {"table": TEXT, "branch": TEXT, "to": TEXT},
        3,
        "branch_updated string, previous_ref bigint, updated_ref bigint",
        _fast_forward,
    ),
    "ancestors_of": Procedure(
        {"table": TEXT, "snapshot_id": NUMBER},
        1,
        "snapshot_id bigint, timestamp bigint",
        _ancestors,
    ),
}
