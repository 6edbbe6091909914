"""The rows that snapshots added, as a stream (Java: SyncSparkMicroBatchPlanner).

An append yields the files that it added, a replace (compaction) nothing. Deletes and overwrites are
refused or skipped, as the options say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.catalog.planned_io import refuse_server_planning
from iceberg_spark.errors import (
    CorruptFileError,
    InvalidInputError,
    NoSuchSnapshotError,
    UnsupportedError,
)
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import fill_counts, read_manifest_list
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.split import Longs
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation, Snapshot
from iceberg_spark.streams.history import HOW_TO_GO_ON, BranchHistory, first_offset, starting_point
from iceberg_spark.streams.limits import STREAMING
from iceberg_spark.streams.offset import (
    FROM_FULL,
    FROM_LATEST,
    NOTHING_READ,
    StreamOffset,
    is_past_everything,
)
from iceberg_spark.streams.stream_options import StreamOptions
from iceberg_spark.streams.table_watch import TableSeen

# The files of one snapshot by the positions that offsets count (Java: MicroBatches).
#
# A manifest's first position is the number of added and existing files in the manifests before
# it. From there on, the files that a stream reads are counted. Only manifests that the snapshot
# itself wrote count, unless the whole table at that time is read.

Value = TypeVar("Value")
Key = tuple[int, bool]
"""A snapshot's id, and whether to read all its files."""
_OFFSETS = (
    "Offsets count the files of manifests, which it does not send: read batches with "
    "start_snapshot_id and end_snapshot_id, or stream the table's changes"
)


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotFiles:
    """Files of a snapshot in a plan without filter, with their positions in ascending order."""

    plan: ScanPlan
    positions: Longs

    @property
    def record_counts(self) -> Longs:
        """The rows of each file, including deleted ones."""
        counts: Longs = self.plan.files.column("record_count").to_numpy()
        return counts

    def between(self, first: int, end: int | None) -> ScanPlan:
        """Return the plan of the files from one position up to another (None: to the last)."""
        low = int(np.searchsorted(self.positions, first))
        high = len(self.positions) if end is None else int(np.searchsorted(self.positions, end))
        return self.plan.subset(np.arange(low, max(low, high), dtype=np.int64))


def _cache() -> BoundedCache:
    return BoundedCache(STREAMING.kept_snapshots)


@dataclass(slots=True)
class FilesKnown:
    """A cache of the files of recent snapshots, which never change."""

    _manifests: BoundedCache = field(default_factory=_cache)
    _files: BoundedCache = field(default_factory=_cache)

    def end(
        self, metadata: TableMetadata, io: FileIO, snapshot: Snapshot, *, everything: bool
    ) -> int:
        """Return the position past the last file, from the manifest list alone."""
        return _end(self._of(metadata, io, snapshot, everything), everything=everything)

    def files(
        self, metadata: TableMetadata, io: FileIO, context: ScanContext, key: Key
    ) -> SnapshotFiles:
        """Return the files of a snapshot and their positions.

        Raises CorruptFileError if a manifest list counts other files than its manifests have.
        """
        files: SnapshotFiles = self._files.get_or_load(
            key, lambda: (self._plan(metadata, io, context, key), 1)
        )
        return files

    def read_after(
        self, metadata: TableMetadata, io: FileIO, offset: StreamOffset, following: Snapshot
    ) -> bool:
        """Return whether an offset is past all files of an expired snapshot for certain.

        `following` is the next snapshot. An append lists the earlier manifests unchanged, unless it
        merged some, which then have existing files.
        """
        if following.operation != Operation.APPEND or offset.scan_all_files:
            return False
        manifests = self._of(metadata, io, following, everything=True)
        own = [
            manifest for manifest in manifests if manifest.added_snapshot_id == offset.snapshot_id
        ]
        added = [
            manifest
            for manifest in manifests
            if manifest.added_snapshot_id == following.snapshot_id
        ]
        merged = any(manifest.existing_files_count for manifest in added)
        return not merged and offset.position >= _end(own, everything=False)

    def _plan(
        self, metadata: TableMetadata, io: FileIO, context: ScanContext, key: Key
    ) -> SnapshotFiles:
        snapshot_id, everything = key
        snapshot = metadata.snapshot(snapshot_id)
        unfiltered = replace(
            context, snapshot_id=snapshot_id, start_snapshot_id=None, row_filter=ALWAYS_TRUE
        )
        planned = plan(metadata, io, unfiltered, added_by=None if everything else (snapshot,))
        positions = _positions(self._of(metadata, io, snapshot, everything), everything=everything)
        if len(positions) != len(planned):
            raise CorruptFileError(
                f"The manifest list of snapshot {snapshot_id} of {metadata.location} counts "
                f"{len(positions)} files, its manifests have {len(planned)}"
            )
        left = tuple(context.row_filter for _ in planned.residuals)
        own = replace(context, snapshot_id=snapshot_id, start_snapshot_id=None)
        return SnapshotFiles(replace(planned, context=own, residuals=left), positions)

    def _of(
        self, metadata: TableMetadata, io: FileIO, snapshot: Snapshot, everything: bool
    ) -> tuple[ManifestFile, ...]:
        def read() -> tuple[tuple[ManifestFile, ...], int]:
            refuse_server_planning(io, "stream the appends", _OFFSETS)
            manifests = tuple(
                _with_counts(manifest, metadata, io)
                for manifest in read_manifest_list(io, snapshot, metadata)
                if manifest.content is ManifestContent.DATA
                and (everything or manifest.added_snapshot_id == snapshot.snapshot_id)
            )
            return manifests, 1

        key = (snapshot.snapshot_id, everything)
        manifests: tuple[ManifestFile, ...] = self._manifests.get_or_load(key, read)
        return manifests


def _with_counts(manifest: ManifestFile, metadata: TableMetadata, io: FileIO) -> ManifestFile:
    """Return a manifest with the counts that lists of old writers lack."""
    if manifest.added_files_count is not None and manifest.existing_files_count is not None:
        return manifest
    return fill_counts(io, manifest, metadata.partition_specs[manifest.partition_spec_id], metadata)


def _read(manifest: ManifestFile, *, everything: bool) -> int:
    existing = (manifest.existing_files_count or 0) if everything else 0
    return (manifest.added_files_count or 0) + existing


def _end(manifests: Sequence[ManifestFile], *, everything: bool) -> int:
    if not manifests:
        return 0
    before = sum(_read(manifest, everything=True) for manifest in manifests[:-1])
    return before + _read(manifests[-1], everything=everything)


def _positions(manifests: Sequence[ManifestFile], *, everything: bool) -> Longs:
    ranges: list[Longs] = [np.zeros(0, np.int64)]
    first = 0
    for manifest in manifests:
        count = _read(manifest, everything=everything)
        ranges.append(np.arange(first, first + count, dtype=np.int64))
        first += _read(manifest, everything=True)
    return np.concatenate(ranges)


@dataclass(frozen=True, slots=True)
class _Part:
    """Files of one snapshot, by position; `end` is None for all that follow."""

    snapshot: Snapshot
    first: int
    end: int | None
    everything: bool
    refused: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PlannedBatch:
    """The files of a micro-batch, in one or several plans, and how to read them."""

    metadata: TableMetadata
    context: ScanContext
    plans: tuple[ScanPlan, ...]


@dataclass(slots=True)
class _Room:
    """What a batch can still take; None: no limit."""

    files: int | None
    rows: int | None


@dataclass(slots=True)
class AppendStream:
    """Computes the end of the next batch and the files of a batch."""

    options: StreamOptions
    _files: FilesKnown = field(default_factory=FilesKnown)
    _read_whole: StreamOffset | None = None
    _passed: tuple[StreamOffset, int] | None = None
    """An offset with nothing after it up to a snapshot; both may expire."""

    def start(self, history: BranchHistory) -> StreamOffset:
        """Return the start of the first batch."""
        return starting_point(self.options, history)

    def latest(self, seen: TableSeen, start: StreamOffset, *, limited: bool) -> StreamOffset:
        """Return the end of the next batch, `start` if there is nothing to read.

        Raises:
            UnsupportedError: the batch reaches a snapshot that the options refuse.
            NoSuchSnapshotError: `start` has expired.
            ValidationException: `start` is not in the branch's history.
        """
        head = seen.history.head
        if start == FROM_LATEST:
            return NOTHING_READ if head is None else self._after(seen, head)
        begin = self._begin(seen, start)
        if not begin.names_snapshot:
            return start
        room = _Room(self.options.max_files, self.options.max_rows)
        if not (limited and self.options.is_limited):
            room = _Room(None, None)
        parts = self._parts(seen, begin, None)
        if start == FROM_FULL:
            parts = iter([_Part(seen.metadata.snapshot(begin.snapshot_id), 0, None, True)])
        end = self._advance(seen, begin, parts, room)
        if end != begin or start == FROM_FULL:
            return end
        if head is not None:
            self._passed = begin, head.snapshot_id
        return start

    def plan(self, seen: TableSeen, start: StreamOffset, end: StreamOffset) -> PlannedBatch:
        """Return the files between two offsets; deterministic.

        Raises as `latest` does, and NoSuchSnapshotError if the end has expired.
        """
        if start in (end, FROM_LATEST) or not end.names_snapshot:
            return PlannedBatch(seen.metadata, seen.context, ())
        if start == FROM_FULL:
            if not end.scan_all_files:
                raise InvalidInputError(
                    "The checkpoint's first batch did not begin with the whole table: give "
                    f"option 'stream-from-snapshot' as it was. {HOW_TO_GO_ON}"
                )
            begin = replace(end, position=0)
        else:
            begin = self._begin(seen.up_to(_in(seen, end)), start)
        plans = tuple(self._planned(seen, self._parts(seen, begin, end)))
        return PlannedBatch(seen.metadata, seen.context, plans)

    def _begin(self, seen: TableSeen, start: StreamOffset) -> StreamOffset:
        """Return the current offset of a start; NOTHING_READ if there is no snapshot yet."""
        head = seen.history.head
        if start == NOTHING_READ:
            return first_offset(self.options, seen.history)
        if start == FROM_FULL:
            return NOTHING_READ if head is None else StreamOffset(head.snapshot_id, 0, True)
        return start

    def _after(self, seen: TableSeen, snapshot: Snapshot) -> StreamOffset:
        end = self._files.end(seen.metadata, seen.io, snapshot, everything=False)
        self._read_whole = StreamOffset(snapshot.snapshot_id, end)
        return self._read_whole

    def _parts(
        self, seen: TableSeen, begin: StreamOffset, end: StreamOffset | None
    ) -> Iterator[_Part]:
        """Yield the parts after an offset, oldest first, up to an end or the branch's head."""
        end_id = None if end is None else end.snapshot_id
        passed = self._passed
        nothing_up_to = passed[1] if passed is not None and passed[0] == begin else None
        following = seen.history.after(nothing_up_to or begin.snapshot_id, end_id)
        snapshot = seen.metadata.snapshots.get(begin.snapshot_id)
        last = end.position if end is not None and not following else None
        if snapshot is None:
            self._check_read(seen, begin, following)
        elif self._has_more(seen, begin, snapshot, last):
            rest = _Part(snapshot, begin.position, last, begin.scan_all_files)
            yield from self._taken(rest) if not begin.scan_all_files else [rest]
        for snapshot in following:
            is_last = end is not None and snapshot is following[-1]
            yield from self._taken(
                _Part(snapshot, 0, end.position if end is not None and is_last else None, False)
            )

    def _has_more(
        self, seen: TableSeen, begin: StreamOffset, snapshot: Snapshot, end: int | None
    ) -> bool:
        if is_past_everything(begin):
            return False
        if end is not None:
            return begin.position < end
        known_end = self._files.end(
            seen.metadata, seen.io, snapshot, everything=begin.scan_all_files
        )
        return begin.position < known_end

    def _taken(self, part: _Part) -> Iterator[_Part]:
        """Yield a part if the options allow it, or one with the refusal."""
        match part.snapshot.operation:
            case Operation.APPEND:
                yield part
            case Operation.REPLACE:
                return
            case Operation.DELETE if self.options.skip_deletes:
                return
            case Operation.OVERWRITE if self.options.skip_overwrites:
                return
            case _:
                yield replace(part, refused=True)

    def _check_read(
        self, seen: TableSeen, begin: StreamOffset, following: tuple[Snapshot, ...]
    ) -> None:
        """Raise NoSuchSnapshotError unless all files of an expired snapshot were surely read."""
        is_passed = self._passed is not None and self._passed[0] == begin
        if is_passed or begin == self._read_whole or is_past_everything(begin):
            return
        metadata, io = seen.metadata, seen.io
        if following and self._files.read_after(metadata, io, begin, following[0]):
            return
        raise NoSuchSnapshotError(
            f"Snapshot {begin.snapshot_id} of {metadata.location}, in which the stream has read "
            f"up to file {begin.position}, has expired, and no later snapshot proves that it had "
            f"no further files. {HOW_TO_GO_ON}"
        )

    def _advance(
        self, seen: TableSeen, begin: StreamOffset, parts: Iterator[_Part], room: _Room
    ) -> StreamOffset:
        last_part: _Part | None = None
        for part in parts:
            if part.refused:
                raise _refusal(part.snapshot)
            if room.files is None and room.rows is None:
                last_part = part
                continue
            stop = self._stop(seen, part, room)
            if stop is not None:
                return StreamOffset(part.snapshot.snapshot_id, stop, part.everything)
            last_part = part
        if last_part is None:
            return begin
        end = self._files.end(
            seen.metadata, seen.io, last_part.snapshot, everything=last_part.everything
        )
        self._read_whole = StreamOffset(last_part.snapshot.snapshot_id, end, last_part.everything)
        return self._read_whole

    def _stop(self, seen: TableSeen, part: _Part, room: _Room) -> int | None:
        """Return where a batch ends in a part, None if it has room for all of it.

        As in Java: never more files than the limit; the file that reaches the row limit is the
        last.
        """
        key = part.snapshot.snapshot_id, part.everything
        files = self._files.files(seen.metadata, seen.io, seen.context, key)
        positions = files.positions
        first = int(np.searchsorted(positions, part.first))
        count = len(positions) - first
        rows = np.cumsum(files.record_counts[first:])
        fitting = count if room.files is None else min(count, room.files)
        if room.rows is not None:
            reached = int(np.searchsorted(rows, room.rows)) + 1
            if reached <= fitting:
                return int(positions[first + reached - 1]) + 1
            room.rows -= int(rows[-1]) if count else 0
        if room.files is not None:
            if fitting < count:
                return int(positions[first + fitting])
            room.files -= count
        return None

    def _planned(self, seen: TableSeen, parts: Iterable[_Part]) -> list[ScanPlan]:
        """Return plans of parts: one of all whole snapshots, and one for each partial snapshot."""
        plans: list[ScanPlan] = []
        whole_snapshots: list[Snapshot] = []
        for part in parts:
            if part.refused:
                raise _refusal(part.snapshot)
            number = part.snapshot.snapshot_id
            if not self._is_whole(seen, part):
                key = number, part.everything
                files = self._files.files(seen.metadata, seen.io, seen.context, key)
                plans.append(files.between(part.first, part.end))
            elif part.everything:
                table = replace(seen.context, snapshot_id=number)
                plans.append(plan(seen.metadata, seen.io, table))
            else:
                whole_snapshots.append(part.snapshot)
        if whole_snapshots:
            newest_first = tuple(reversed(whole_snapshots))
            plans.append(plan(seen.metadata, seen.io, seen.context, added_by=newest_first))
        return plans

    def _is_whole(self, seen: TableSeen, part: _Part) -> bool:
        if part.first > 0 or part.end is None:
            return part.first <= 0
        known_end = self._files.end(
            seen.metadata, seen.io, part.snapshot, everything=part.everything
        )
        return part.end >= known_end


def _in(seen: TableSeen, end: StreamOffset) -> int | None:
    """Return the snapshot that a batch ends in, None if it has expired, which `after` reports."""
    return end.snapshot_id if end.snapshot_id in seen.metadata.snapshots else None


def _refusal(snapshot: Snapshot) -> UnsupportedError:
    """Return the error for a snapshot that a stream of appends cannot show."""
    match snapshot.operation:
        case Operation.DELETE | Operation.OVERWRITE as operation:
            return UnsupportedError(
                f"Snapshot {snapshot.snapshot_id} has operation {operation}: to skip such "
                f"snapshots, set option 'streaming-skip-{operation}-snapshots' to true; to "
                "get their rows as changes, read the stream load('<table>#changes')"
            )
        case other:
            return UnsupportedError(
                f"Snapshot {snapshot.snapshot_id} has operation {other!r}, which streams don't "
                f"know. {HOW_TO_GO_ON}"
            )
