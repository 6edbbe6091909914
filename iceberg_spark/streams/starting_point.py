"""The start of a stream without a checkpoint (Java: MicroBatchUtils.determineStartingOffset)."""

from __future__ import annotations

from iceberg_spark.errors import NoSuchSnapshotError
from iceberg_spark.streams.history import BranchHistory
from iceberg_spark.streams.offset import (
    FROM_FULL,
    FROM_LATEST,
    NOTHING_READ,
    StreamOffset,
    after_snapshot,
)
from iceberg_spark.streams.stream_options import StreamOptions


def starting_point(options: StreamOptions, history: BranchHistory) -> StreamOffset:
    """Return the start of a stream's first batch.

    `latest` and `full` return a mark. The end of the first batch stores which snapshot it stood
    for, so that planning the batch again gives the same files. Raises NoSuchSnapshotError for an id
    that is not in the branch's history.
    """
    match options.start:
        case "latest":
            return FROM_LATEST
        case "full":
            return FROM_FULL
        case int(snapshot_id):
            _check_in_history(history, snapshot_id)
            return after_snapshot(snapshot_id)
        case _:
            return first_offset(options, history)


def first_offset(options: StreamOptions, history: BranchHistory) -> StreamOffset:
    """Return the position of the oldest snapshot, or of the first one at or after a time.

    NOTHING_READ if there is none yet.
    """
    snapshots = history.snapshots()
    since = options.from_timestamp_ms
    if since is None:
        return StreamOffset(snapshots[0].snapshot_id, 0) if snapshots else NOTHING_READ
    if not snapshots or snapshots[-1].timestamp_ms < since:
        return NOTHING_READ
    first = snapshots[-1]
    for snapshot in reversed(snapshots):
        if snapshot.timestamp_ms < since:
            break
        first = snapshot
        if snapshot.timestamp_ms == since:
            break
    return StreamOffset(first.snapshot_id, 0)


def _check_in_history(history: BranchHistory, snapshot_id: int) -> None:
    snapshots = history.snapshots()
    ids = {snapshot.snapshot_id for snapshot in snapshots} | {
        snapshot.parent_snapshot_id for snapshot in snapshots[:1]
    }
    if snapshot_id not in ids:
        recent = [str(snapshot.snapshot_id) for snapshot in snapshots[-20:]]
        raise NoSuchSnapshotError(
            f"Snapshot {snapshot_id} ('stream-from-snapshot') is not in the history of branch "
            f"'{history.branch}' of {history.metadata.location}: it has expired, or never was; "
            f"kept are {', '.join(recent) or 'none'}"
        )
