"""The start of a stream, and the snapshots of a branch after the last one that it has read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.errors import IcebergError, NoSuchSnapshotError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.ancestry import ancestors, is_ancestor_of
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot
from iceberg_spark.streams.limits import STREAMING
from iceberg_spark.streams.offset import (
    FROM_FULL,
    FROM_LATEST,
    NOTHING_READ,
    StreamOffset,
    after_snapshot,
)
from iceberg_spark.streams.stream_options import StreamOptions

HOW_TO_GO_ON = (
    "To go on, start the query with a new checkpoint and option 'stream-from-snapshot': 'full' "
    "reads the whole table first, 'earliest' all existing snapshots, 'latest' new ones only, an "
    "id those after that snapshot"
)


@dataclass(frozen=True, slots=True, eq=False)
class BranchHistory:
    """A branch of one version of a table, as far back as its snapshots exist.

    `head` is None for a table without snapshots.
    """

    metadata: TableMetadata
    io: FileIO
    branch: str
    head: Snapshot | None

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return all existing snapshots, oldest first."""
        if self.head is None:
            return ()
        return tuple(ancestors(self.metadata, self.head.snapshot_id))[::-1]

    def after(self, snapshot_id: int, end_id: int | None = None) -> tuple[Snapshot, ...]:
        """Return the snapshots after one, oldest first, up to the head or an end.

        The snapshot itself may have expired, but not the next one.

        Raises:
            NoSuchSnapshotError: the next snapshot, or the end, has expired.
            ValidationException: the snapshot is not in the history.
        """
        last = self._last(snapshot_id, end_id)
        following: list[Snapshot] = []
        for snapshot in ancestors(self.metadata, last.snapshot_id):
            if snapshot.snapshot_id == snapshot_id:
                return tuple(reversed(following))
            following.append(snapshot)
        if following[-1].parent_snapshot_id == snapshot_id:
            return tuple(reversed(following))
        raise self._lost(snapshot_id, following[-1])

    def _last(self, snapshot_id: int, end_id: int | None) -> Snapshot:
        if end_id is not None:
            if end_id not in self.metadata.snapshots:
                raise NoSuchSnapshotError(
                    f"The checkpoint's last batch ends at snapshot {end_id} of "
                    f"{self.metadata.location}, which has expired: it can't be planned again. "
                    f"{HOW_TO_GO_ON}"
                )
            return self.metadata.snapshots[end_id]
        if self.head is None:
            raise self._rolled_back(snapshot_id)
        return self.head

    def _lost(self, snapshot_id: int, oldest: Snapshot) -> IcebergError:
        """Return the error for a snapshot that is not in the history with this oldest snapshot."""
        parent = oldest.parent_snapshot_id
        if parent is None or self._descends(snapshot_id, oldest.snapshot_id):
            return self._rolled_back(snapshot_id)
        following = self._next_by_former_metadata(snapshot_id)
        named = parent if following is None else following
        more = "" if named == parent else f", as has all up to snapshot {parent}"
        return NoSuchSnapshotError(
            f"The stream has read branch '{self.branch}' of {self.metadata.location} up to "
            f"snapshot {snapshot_id}, and the next one, snapshot {named}, has expired{more}: what "
            f"they added can no longer be read as a stream. The oldest existing one is "
            f"{oldest.snapshot_id}. {HOW_TO_GO_ON}"
        )

    def _descends(self, snapshot_id: int, ancestor_id: int) -> bool:
        if snapshot_id not in self.metadata.snapshots:
            return False
        before = ancestors(self.metadata, snapshot_id)
        reachable = {snapshot.snapshot_id for snapshot in self.snapshots()} | {ancestor_id}
        return any(snapshot.snapshot_id in reachable for snapshot in before)

    def _rolled_back(self, snapshot_id: int) -> ValidationException:
        head = "no snapshot" if self.head is None else f"snapshot {self.head.snapshot_id}"
        return ValidationException(
            f"The stream has read up to snapshot {snapshot_id} of {self.metadata.location}, which "
            f"is not in the history of branch '{self.branch}' any more: the branch was rolled back "
            f"or set to {head}. Rows that were read are not retracted. {HOW_TO_GO_ON}"
        )

    def _next_by_former_metadata(self, snapshot_id: int) -> int | None:
        """Return the next snapshot from an earlier metadata file."""
        former = self.metadata.metadata_log[: -STREAMING.former_metadata - 1 : -1]
        for entry in former:
            with suppress(IcebergError):
                metadata = read_metadata(self.io, entry.metadata_file)
                for snapshot in metadata.snapshots.values():
                    if snapshot.parent_snapshot_id == snapshot_id and self._led_here(
                        snapshot, metadata
                    ):
                        return snapshot.snapshot_id
        return None

    def _led_here(self, snapshot: Snapshot, metadata: TableMetadata) -> bool:
        """Return whether a snapshot was an ancestor of this branch in an earlier version."""
        head = metadata.branch_head(self.branch)
        if head is None:
            return False
        return is_ancestor_of(metadata, head.snapshot_id, snapshot.snapshot_id)


def branch_history(metadata: TableMetadata, io: FileIO, branch: str | None) -> BranchHistory:
    """Return the history of a branch (None: main). Raises NoSuchSnapshotError if it is gone."""
    name = branch or MAIN_BRANCH
    ref = metadata.refs.get(name)
    if name != MAIN_BRANCH and (ref is None or not ref.is_branch):
        raise NoSuchSnapshotError(
            f"Branch '{name}' of {metadata.location}, which a stream reads, was dropped; the "
            f"table has {', '.join(sorted({MAIN_BRANCH, *metadata.refs}))}. Create it again where "
            f"it was, or start a query of another branch with a new checkpoint"
        )
    return BranchHistory(metadata, io, name, metadata.branch_head(name))


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
