"""The files of one snapshot by the positions that offsets count (Java: MicroBatches).

A manifest's first position is the number of added and existing files in the manifests before it.
From there on, the files that a stream reads are counted. Only manifests that the snapshot itself
wrote count, unless the whole table at that time is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import counted, read_manifest_list
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.split import Longs
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation, Snapshot
from iceberg_spark.streams.limits import STREAMING
from iceberg_spark.streams.offset import StreamOffset

Value = TypeVar("Value")
Key = tuple[int, bool]
"""A snapshot's id, and whether to read all its files."""


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


@dataclass(slots=True)
class FilesKnown:
    """A cache of the files of recent snapshots, which never change."""

    _manifests: OrderedDict[Key, tuple[ManifestFile, ...]] = field(default_factory=OrderedDict)
    _files: OrderedDict[Key, SnapshotFiles] = field(default_factory=OrderedDict)

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
        return _cached(self._files, key, lambda: self._plan(metadata, io, context, key))

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
        def read() -> tuple[ManifestFile, ...]:
            return tuple(
                _with_counts(manifest, metadata, io)
                for manifest in read_manifest_list(io, snapshot, metadata)
                if manifest.content is ManifestContent.DATA
                and (everything or manifest.added_snapshot_id == snapshot.snapshot_id)
            )

        return _cached(self._manifests, (snapshot.snapshot_id, everything), read)


def _with_counts(manifest: ManifestFile, metadata: TableMetadata, io: FileIO) -> ManifestFile:
    """Return a manifest with the counts that lists of old writers lack."""
    if manifest.added_files_count is not None and manifest.existing_files_count is not None:
        return manifest
    return counted(io, manifest, metadata.partition_specs[manifest.partition_spec_id], metadata)


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


def _cached(cached: OrderedDict[Key, Value], key: Key, make: Callable[[], Value]) -> Value:
    if key not in cached:
        cached[key] = make()
        while len(cached) > STREAMING.kept_snapshots:
            cached.popitem(last=False)
    cached.move_to_end(key)
    return cached[key]
