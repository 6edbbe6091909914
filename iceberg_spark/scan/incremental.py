"""The range of snapshots whose changes are read, and the files appended in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from iceberg_spark.errors import InvalidOptionError, NoSuchSnapshotError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.spec.ancestry import ancestors, ancestors_between
from iceberg_spark.spec.arguments import integer_option
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation, Snapshot

Appended: TypeAlias = tuple[int, ...]
"""Ids of the snapshots whose added files a scan is about."""


def append_snapshots(metadata: TableMetadata, start: int, end: int) -> tuple[Snapshot, ...]:
    """Return the append snapshots after `start` up to and including `end`, newest first.

    Other operations (overwrite, delete, replace) are ignored.
    """
    between = ancestors_between(metadata, end, start)
    return tuple(snapshot for snapshot in between if snapshot.operation == Operation.APPEND.value)


def appended_manifests(
    metadata: TableMetadata, io: FileIO, start: int, end: int
) -> tuple[tuple[ManifestFile, ...], Appended]:
    """Return the data manifests that the appends after `start` wrote, each once, and their ids."""
    return added_manifests(metadata, io, append_snapshots(metadata, start, end))


def added_manifests(
    metadata: TableMetadata, io: FileIO, snapshots: Sequence[Snapshot]
) -> tuple[tuple[ManifestFile, ...], Appended]:
    """Return the data manifests that some snapshots wrote, each once, and the snapshots' ids.

    The snapshots come newest first. A manifest that a later commit rewrote is read from the
    snapshot that added its files, so nothing is missed or seen twice.
    """
    ids = tuple(snapshot.snapshot_id for snapshot in snapshots)
    manifests: dict[str, ManifestFile] = {}
    for snapshot in reversed(snapshots):
        for manifest in read_manifest_list(io, snapshot, metadata):
            if manifest.content is ManifestContent.DATA and manifest.added_snapshot_id in ids:
                manifests.setdefault(manifest.manifest_path, manifest)
    return tuple(manifests.values()), ids


# The range of snapshots whose changes are read.
#
# Source: Java's SparkChangelogScanBuilder.

CHANGES = "changes"
"""The name of a table's changes: `T#changes`, `cat.db.t.changes`, as a stream too."""
_START, _END = "start-snapshot-id", "end-snapshot-id"
_START_MS, _END_MS = "start-timestamp", "end-timestamp"
CHANGE_TIMES = (_START_MS, _END_MS)
"""Options of a load of changes that no other load has."""
CHANGE_BOUNDS = (_START, _END, *CHANGE_TIMES)


def is_changes(name: str | None) -> bool:
    """Return whether the suffix of a table's name stands for its changes, ignoring case."""
    return name is not None and name.lower() == CHANGES


def refuse_change_times(options: Mapping[str, str]) -> None:
    """Raise InvalidOptionError for time options of changes on a load of rows."""
    names = {name.lower() for name in options}
    times = [name for name in CHANGE_TIMES if name in names]
    if times:
        raise InvalidOptionError(f"Option '{times[0]}' is for changes: load('<table>#{CHANGES}')")


def bounds_of(options: Mapping[str, str]) -> dict[str, int]:
    """Return the integer options of a load that bound its changes, by name."""
    texts = {name.lower(): text for name, text in options.items()}
    numbers = {name: integer_option(texts, name) for name in CHANGE_BOUNDS}
    return {name: number for name, number in numbers.items() if number is not None}


def change_bounds(
    metadata: TableMetadata, head: int | None, bounds: Mapping[str, int]
) -> tuple[int | None, int | None]:
    """Return the snapshot before the first change, None for all, and that of the last one.

    Times are in ms since the epoch, among `head`, the newest snapshot, and its ancestors. Raises
    InvalidOptionError, NoSuchSnapshotError if requested changes have expired.
    """
    for by_id, by_ms in ((_START, _START_MS), (_END, _END_MS)):
        if by_id in bounds and by_ms in bounds:
            raise InvalidOptionError(f"'{by_id}' and '{by_ms}' exclude each other")
    if _START_MS in bounds and bounds[_START_MS] >= bounds.get(_END_MS, bounds[_START_MS] + 1):
        raise InvalidOptionError(f"'{_START_MS}' must be before '{_END_MS}'")
    start, end = bounds.get(_START), bounds.get(_END, head)
    snapshots = () if head is None else tuple(ancestors(metadata, head))
    if _START_MS in bounds:
        start = _last_until(snapshots, bounds[_START_MS])
        if start is None and snapshots and snapshots[-1].parent_snapshot_id is not None:
            raise NoSuchSnapshotError(
                f"Some changes after '{_START_MS}' {bounds[_START_MS]} have expired: the "
                f"oldest snapshot is {snapshots[-1].snapshot_id} of {snapshots[-1].timestamp_ms}"
            )
    if _END_MS in bounds:
        end = _last_until(snapshots, bounds[_END_MS])
        if end is None:  # before the first snapshot: an empty range at the head
            start = end = head
    return start, end


def _last_until(snapshots: Sequence[Snapshot], timestamp_ms: int) -> int | None:
    """Return the newest snapshot not later than a time; `snapshots` are newest first."""
    return next(
        (snapshot.snapshot_id for snapshot in snapshots if snapshot.timestamp_ms <= timestamp_ms),
        None,
    )
