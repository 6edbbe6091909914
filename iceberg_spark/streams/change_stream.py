"""The changes of commits as a stream: commit by commit, none split over batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from iceberg_spark.errors import NoSuchSnapshotError
from iceberg_spark.scan.changelog import ChangeStep, change_step, whole_table
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation, Snapshot
from iceberg_spark.streams.commit_changes import CommitChanges, changes_of
from iceberg_spark.streams.history import HOW_TO_GO_ON, BranchHistory, first_offset, starting_point
from iceberg_spark.streams.offset import FROM_FULL, FROM_LATEST, NOTHING_READ, StreamOffset
from iceberg_spark.streams.stream_options import StreamOptions
from iceberg_spark.streams.table_watch import TableSeen


@dataclass(frozen=True, slots=True, eq=False)
class PlannedChanges:
    """The changes of a micro-batch, and how to read their files."""

    metadata: TableMetadata
    context: ScanContext
    changes: tuple[CommitChanges, ...]


@dataclass(slots=True)
class ChangeStream:
    """Computes the last commit of the next batch and the changes of a batch.

    The position of an offset is the number of commits before it. So `_change_ordinal` continues
    over batches and restarts.
    """

    options: StreamOptions
    _steps: dict[tuple[int, int], ChangeStep] = field(default_factory=dict)
    _passed: tuple[StreamOffset, int] | None = None

    def start(self, history: BranchHistory) -> StreamOffset:
        """Return the start of the first batch."""
        point = starting_point(self.options, history)
        if point in (FROM_FULL, FROM_LATEST):
            return point
        is_given = isinstance(self.options.start, int)
        return StreamOffset(point.snapshot_id, 0) if is_given else NOTHING_READ

    def latest(self, seen: TableSeen, start: StreamOffset, *, limited: bool) -> StreamOffset:
        """Return the end of the next batch, `start` if nothing has changed.

        A batch has at least one commit.

        Raises:
            NoSuchSnapshotError: `start` has expired.
            ValidationException: `start` is not in the branch's history.
        """
        head = seen.history.head
        if head is None and start.names_snapshot:
            seen.history.after(start.snapshot_id)  # says what became of it
        if head is None:
            return NOTHING_READ if start == FROM_LATEST else start
        if start == FROM_LATEST:
            return StreamOffset(head.snapshot_id, 0)
        if start == FROM_FULL:
            return StreamOffset(head.snapshot_id, 1, scan_all_files=True)
        commits = self._commits(seen, start, None)
        if not commits:
            self._passed = start, head.snapshot_id
            return start
        count = self._fitting(seen, start, commits) if limited else len(commits)
        last = head if count == len(commits) else commits[count - 1]
        return StreamOffset(last.snapshot_id, _ordinal(start) + count)

    def plan(self, seen: TableSeen, start: StreamOffset, end: StreamOffset) -> PlannedChanges:
        """Return the changes between two offsets; deterministic.

        Raises as `latest` does, and NoSuchSnapshotError if the end has expired.
        """
        return PlannedChanges(seen.metadata, seen.context, tuple(self._changes(seen, start, end)))

    def _changes(
        self, seen: TableSeen, start: StreamOffset, end: StreamOffset
    ) -> Iterator[CommitChanges]:
        if start in (end, FROM_LATEST) or not end.names_snapshot:
            return
        if start == FROM_FULL:
            every = whole_table(seen.metadata, seen.io, seen.context, end.snapshot_id)
            for file in every.files():
                yield CommitChanges(0, end.snapshot_id, (file,))
            return
        commits = self._commits(seen, start, end.snapshot_id)
        for ordinal, commit in enumerate(commits, start=_ordinal(start)):
            yield from changes_of(self._step(seen, ordinal, commit))

    def _commits(
        self, seen: TableSeen, start: StreamOffset, end_id: int | None
    ) -> Sequence[Snapshot]:
        """Return the snapshots after an offset that may have changed rows, oldest first."""
        if start == NOTHING_READ:
            snapshots = self._from_first(seen, end_id)
        else:
            passed = self._passed
            quiet = passed[1] if passed is not None and passed[0] == start else None
            snapshots = seen.history.after(quiet or start.snapshot_id, end_id)
        for snapshot in snapshots:
            if not _is_readable(seen.metadata, snapshot):
                raise NoSuchSnapshotError(
                    f"The changes of snapshot {snapshot.snapshot_id} of {seen.metadata.location} "
                    f"can't be computed, because its parent, snapshot "
                    f"{snapshot.parent_snapshot_id}, has expired. {HOW_TO_GO_ON}"
                )
        return [snapshot for snapshot in snapshots if snapshot.operation != Operation.REPLACE]

    def _from_first(self, seen: TableSeen, end_id: int | None) -> Sequence[Snapshot]:
        """Return the snapshots from the oldest one whose changes can be computed."""
        history = seen.history
        if end_id is not None:
            if end_id not in seen.metadata.snapshots:
                return history.after(NOTHING_READ.snapshot_id, end_id)  # says that it has expired
            history = seen.up_to(end_id).history
        snapshots = history.snapshots()
        first = first_offset(self.options, history).snapshot_id
        start = next(
            (start for start, snapshot in enumerate(snapshots) if snapshot.snapshot_id == first),
            len(snapshots),
        )
        if snapshots[start:] and not _is_readable(seen.metadata, snapshots[start]):
            start += 1
        return snapshots[start:]

    def _fitting(self, seen: TableSeen, start: StreamOffset, commits: Sequence[Snapshot]) -> int:
        """Return the number of commits in a batch: one, and more within its limits."""
        if not self.options.is_limited:
            return len(commits)
        most_files, most_rows = self.options.max_files, self.options.max_rows
        self._steps.clear()  # of the batch before
        files = rows = 0
        for count, commit in enumerate(commits):
            step = self._step(seen, _ordinal(start) + count, commit)
            files += step.file_count
            if count and most_files is not None and files > most_files:
                return count
            rows += step.record_count
            if most_rows is not None and rows >= most_rows:
                return count + 1
        return len(commits)

    def _step(self, seen: TableSeen, ordinal: int, commit: Snapshot) -> ChangeStep:
        """Return the changes of a commit; caches those that a limit was compared with."""
        key = ordinal, commit.snapshot_id
        step = self._steps.get(key)
        if step is None:
            step = change_step(seen.metadata, seen.io, seen.context, ordinal, commit)
            if self.options.is_limited:
                self._steps[key] = step
        return step


def _ordinal(start: StreamOffset) -> int:
    return start.position if start.names_snapshot else 0


def _is_readable(metadata: TableMetadata, snapshot: Snapshot) -> bool:
    """Return whether a snapshot's changes can be computed; an append needs no parent."""
    parent = snapshot.parent_snapshot_id
    by_itself = snapshot.operation in (Operation.APPEND, Operation.REPLACE)
    return by_itself or parent is None or parent in metadata.snapshots
