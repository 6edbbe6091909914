"""The files appended between two snapshots (Java: `BaseIncrementalAppendScan`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.spec.ancestry import ancestors_between
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
