"""Updates of snapshots, references and statistics (Java: TableMetadata.Builder)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, assert_never

from iceberg_spark.errors import CommitFailedException, ValidationException
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_state import ApplyState
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_validation import CLOCK_TOLERANCE_MS
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot, SnapshotLogEntry, SnapshotRef
from iceberg_spark.spec.snapshot_json import ref_problem


def apply_snapshot(state: ApplyState, update: u.SnapshotUpdate) -> ApplyState:
    """Apply an update of snapshots, references or statistics; raises as the functions below."""
    match update:
        case u.AddSnapshot(snapshot=snapshot):
            return add_snapshot(state, snapshot)
        case u.SetSnapshotRef(ref_name=name, ref=ref):
            return set_ref(state, name, ref)
        case u.RemoveSnapshots(snapshot_ids=numbers):
            return remove_snapshots(state, numbers)
        case u.RemoveSnapshotRef(ref_name=name):
            return remove_refs(state, {name})
        case u.SetStatistics(statistics=file):
            return set_statistics(state, file, "statistics")
        case u.RemoveStatistics(snapshot_id=number):
            return remove_statistics(state, number, "statistics")
        case u.SetPartitionStatistics(partition_statistics=file):
            return set_statistics(state, file, "partition_statistics")
        case u.RemovePartitionStatistics(snapshot_id=number):
            return remove_statistics(state, number, "partition_statistics")
        case _:
            assert_never(update)


def add_snapshot(state: ApplyState, snapshot: Snapshot) -> ApplyState:
    """Add a snapshot; no reference points to it yet.

    Raises CommitFailedException if the sequence number or the first row id is behind the table's:
    another commit was faster, and the snapshot must be created again. Raises ValidationException
    for an existing id, a time more than a minute before the table's last update, or a v3 snapshot
    without row ids.
    """
    metadata = state.metadata
    if not (metadata.schemas and metadata.partition_specs and metadata.sort_orders):
        raise ValidationException("A snapshot needs a schema, partition spec and sort order first")
    if snapshot.snapshot_id in metadata.snapshots:
        raise ValidationException(f"There is a snapshot {snapshot.snapshot_id} already")
    _check_time(metadata, snapshot)
    changes: dict[str, Any] = {"snapshots": {**metadata.snapshots, snapshot.snapshot_id: snapshot}}
    if metadata.rules.has_sequence_numbers:
        changes["last_sequence_number"] = _next_sequence_number(metadata, snapshot)
    elif snapshot.sequence_number != 0:
        raise ValidationException("Format v1 has no sequence numbers; the snapshot's must be 0")
    if metadata.rules.has_row_lineage:
        changes["next_row_id"] = _next_row_id(metadata, snapshot)
    return replace(state.but(**changes), added=state.added | {snapshot.snapshot_id})


def _check_time(metadata: TableMetadata, snapshot: Snapshot) -> None:
    if snapshot.timestamp_ms < metadata.last_updated_ms - CLOCK_TOLERANCE_MS:
        raise ValidationException(
            f"Snapshot {snapshot.snapshot_id} is of {snapshot.timestamp_ms} ms, more than a "
            f"minute before the table's last update at {metadata.last_updated_ms} ms; "
            "is this machine's clock late?"
        )


def _next_sequence_number(metadata: TableMetadata, snapshot: Snapshot) -> int:
    last, number = metadata.last_sequence_number, snapshot.sequence_number
    if number <= last and snapshot.parent_snapshot_id is not None:
        raise CommitFailedException(
            f"Snapshot {snapshot.snapshot_id} has the sequence number {number}, "
            f"which is not above the table's {last}"
        )
    return max(last, number)


def _next_row_id(metadata: TableMetadata, snapshot: Snapshot) -> int:
    first, added, expected = snapshot.first_row_id, snapshot.added_rows, metadata.next_row_id or 0
    if first is None or added is None:
        raise ValidationException(
            f"Format v3 needs first-row-id and added-rows in snapshot {snapshot.snapshot_id}"
        )
    if first < expected:
        raise CommitFailedException(
            f"Snapshot {snapshot.snapshot_id} has the first row id {first}, "
            f"which is behind the table's next row id {expected}"
        )
    return first + added


def set_ref(state: ApplyState, name: str, ref: SnapshotRef) -> ApplyState:
    """Create or move a branch or tag; moving main changes the current snapshot and its log.

    Raises ValidationException for an unknown snapshot, main as a tag or a bad retention.
    """
    metadata = state.metadata
    if metadata.refs.get(name) == ref:
        return state
    snapshot = metadata.snapshots.get(ref.snapshot_id)
    if snapshot is None:
        raise ValidationException(f"Can't set '{name}' to unknown snapshot {ref.snapshot_id}")
    if name == MAIN_BRANCH and not ref.is_branch:
        raise ValidationException("'main' can't be a tag, it must be a branch")
    problem = ref_problem(ref)
    if problem is not None:
        raise ValidationException(f"Reference '{name}': {problem}")
    changed = state.but(refs={**metadata.refs, name: ref})
    if name != MAIN_BRANCH or ref.snapshot_id == metadata.current_snapshot_id:
        return changed
    # going back to a snapshot that was there happens now, a new one has its own time
    time = snapshot.timestamp_ms if ref.snapshot_id in state.added else state.now_ms
    log = (*metadata.snapshot_log, SnapshotLogEntry(ref.snapshot_id, time))
    moved = changed.but(current_snapshot_id=ref.snapshot_id, snapshot_log=log)
    return replace(moved, main_moves=state.main_moves | {ref.snapshot_id})


def remove_refs(state: ApplyState, names: Collection[str]) -> ApplyState:
    """Remove branches and tags; without main the table has no current snapshot."""
    metadata = state.metadata
    refs = {name: ref for name, ref in metadata.refs.items() if name not in names}
    if len(refs) == len(metadata.refs):
        return state
    current = None if MAIN_BRANCH in names else metadata.current_snapshot_id
    return state.but(refs=refs, current_snapshot_id=current)


def remove_snapshots(state: ApplyState, snapshot_ids: Iterable[int]) -> ApplyState:
    """Remove snapshots, their statistics, and the references that point to them."""
    metadata = state.metadata
    gone = frozenset(snapshot_ids) & metadata.snapshots.keys()
    if not gone:
        return state
    changed = state.but(
        snapshots={
            number: snapshot
            for number, snapshot in metadata.snapshots.items()
            if number not in gone
        },
        statistics=_without(metadata.statistics, gone),
        partition_statistics=_without(metadata.partition_statistics, gone),
    )
    names = {name for name, ref in metadata.refs.items() if ref.snapshot_id in gone}
    return replace(remove_refs(changed, names), removed=True)


def _without(
    files: tuple[Mapping[str, Any], ...], snapshot_ids: frozenset[int]
) -> tuple[Mapping[str, Any], ...]:
    return tuple(file for file in files if file["snapshot-id"] not in snapshot_ids)


def set_statistics(state: ApplyState, file: Mapping[str, Any], field: str) -> ApplyState:
    """Set the statistics file of a snapshot, in `statistics` or `partition_statistics`."""
    files = getattr(state.metadata, field)
    return state.but(**{field: (*_without(files, frozenset([file["snapshot-id"]])), file)})


def remove_statistics(state: ApplyState, snapshot_id: int, field: str) -> ApplyState:
    """Remove the statistics file of a snapshot, if there is one."""
    files = getattr(state.metadata, field)
    remaining = _without(files, frozenset([snapshot_id]))
    return state if len(remaining) == len(files) else state.but(**{field: remaining})


def corrected_log(state: ApplyState) -> tuple[SnapshotLogEntry, ...]:
    """Return the snapshot log without snapshots that were never current outside these updates.

    The updates add such a snapshot and replace it on main. A removed snapshot takes the history
    before it along: time travel across a gap would return wrong snapshots.
    Source: Java's TableMetadata.Builder.updateSnapshotLog.
    """
    metadata = state.metadata
    passing = (state.main_moves & state.added) - {metadata.current_snapshot_id}
    if not passing and not state.removed:
        return metadata.snapshot_log
    log: list[SnapshotLogEntry] = []
    for entry in metadata.snapshot_log:
        if entry.snapshot_id not in metadata.snapshots:
            if state.removed:
                log.clear()
        elif entry.snapshot_id not in passing:
            log.append(entry)
    return tuple(log)
