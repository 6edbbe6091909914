"""Who came before whom, and which snapshot was current when (Java: SnapshotUtil)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from iceberg_spark.errors import CorruptFileError, InvalidInputError, NoSuchSnapshotError
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot


def ancestors(metadata: TableMetadata, snapshot_id: int) -> Iterator[Snapshot]:
    """Yield a snapshot and those before it, newest first, as far as they have not expired.

    Raises NoSuchSnapshotError for the first one, CorruptFileError where parents form a circle.
    """
    snapshot: Snapshot | None = metadata.snapshot(snapshot_id)
    seen: set[int] = set()
    while snapshot is not None:
        if snapshot.snapshot_id in seen:
            raise CorruptFileError(
                f"Snapshot {snapshot.snapshot_id} of {metadata.location} is its own ancestor"
            )
        seen.add(snapshot.snapshot_id)
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else metadata.snapshots.get(parent)


def is_ancestor_of(metadata: TableMetadata, snapshot_id: int, ancestor_id: int) -> bool:
    """Tell whether `ancestor_id` is `snapshot_id` or came before it. Raises NoSuchSnapshotError."""
    return any(snapshot.snapshot_id == ancestor_id for snapshot in ancestors(metadata, snapshot_id))


def ancestors_between(
    metadata: TableMetadata, to_id: int, from_id: int | None
) -> tuple[Snapshot, ...]:
    """Return the snapshots after `from_id` (None: from the first) up to `to_id`, newest first.

    Raises NoSuchSnapshotError for an unknown `to_id`, InvalidInputError when `from_id` is not
    `to_id` or an ancestor of it.
    """
    lineage: list[Snapshot] = []
    for snapshot in ancestors(metadata, to_id):
        if snapshot.snapshot_id == from_id:
            return tuple(lineage)
        lineage.append(snapshot)
    if from_id is not None and lineage[-1].parent_snapshot_id != from_id:  # it may have expired
        raise InvalidInputError(f"Snapshot {from_id} is not an ancestor of snapshot {to_id}")
    return tuple(lineage)


def snapshot_at(metadata: TableMetadata, timestamp_ms: int) -> Snapshot:
    """Return the snapshot that was current at a time (ms since the epoch), by the snapshot log.

    Raises NoSuchSnapshotError when the log starts later or the snapshot has expired.
    """
    snapshot_id = snapshot_id_at(metadata, timestamp_ms)
    if snapshot_id is None:
        raise NoSuchSnapshotError(
            f"{metadata.location} has no snapshot as of {timestamp_ms} "
            f"({_time(timestamp_ms)}){_first(metadata)}"
        )
    return metadata.snapshot(snapshot_id)


def snapshot_id_at(metadata: TableMetadata, timestamp_ms: int) -> int | None:
    """Return the id in the snapshot log for a time, expired or not; None before the first."""
    before = [entry for entry in metadata.snapshot_log if entry.timestamp_ms <= timestamp_ms]
    # of several at the same ms the first counts, as in Java
    return max(before, key=lambda entry: entry.timestamp_ms).snapshot_id if before else None


def _first(metadata: TableMetadata) -> str:
    if not metadata.snapshot_log:
        return ": its snapshot log is empty"
    first = metadata.snapshot_log[0].timestamp_ms
    return f"; the first one known is of {first} ({_time(first)})"


def _time(timestamp_ms: int) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return "beyond the calendar"
    return moment.isoformat()
