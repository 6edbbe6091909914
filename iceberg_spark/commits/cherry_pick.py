"""Apply the change of another snapshot to main (Java: CherryPickOperation, WapUtil)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.conflicts import History, history_since, refuse_added_data_files
from iceberg_spark.commits.manifest_filter import (
    Mask,
    Partitions,
    Paths,
    Selection,
    check_all_removed,
)
from iceberg_spark.commits.new_manifests import data_files_of
from iceberg_spark.commits.snapshot_change import FileChange, FileChanges, Removed
from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.ancestry import ancestors
from iceberg_spark.spec.data_file import DataFile, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import (
    MAIN_BRANCH,
    Operation,
    Snapshot,
    SnapshotRef,
    SnapshotRefType,
)
from iceberg_spark.spec.summary import (
    PUBLISHED_WAP_ID,
    REPLACE_PARTITIONS,
    SOURCE_SNAPSHOT_ID,
    STAGED_WAP_ID,
)
from iceberg_spark.spec.updates import SetSnapshotRef


class CherryPick:
    """Apply an append or a dynamic overwrite of another snapshot to main, or fast-forward main.

    A snapshot whose parent is main's head becomes main's head. These are a ValidationException: any
    other operation, picking a snapshot or a write-audit-publish id twice, and an overwrite of
    partitions that got files since.
    """

    def __init__(self, snapshot_id: int) -> None:
        self._snapshot_id = snapshot_id
        self._change = FileChange()

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: `prepare` checks main as earlier actions left it."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that apply the change to this base."""
        picked = base.snapshot(self._snapshot_id)
        _not_published(base, picked)
        if picked.parent_snapshot_id == base.current_snapshot_id:
            return ActionCommit((SetSnapshotRef(MAIN_BRANCH, _forward(base, picked)),))
        overwrites = _replaces_partitions(picked)
        if picked.operation != Operation.APPEND and not overwrites:
            raise ValidationException(
                f"Can't cherry-pick snapshot {picked.snapshot_id} ({picked.operation}): only "
                "appends, dynamic overwrites, and a snapshot whose parent is current can be "
                "repeated"
            )
        _not_ancestor(base, picked)
        added = _files(base, io, picked, ManifestEntryStatus.ADDED)
        removed = _files(base, io, picked, ManifestEntryStatus.DELETED) if overwrites else ()
        if overwrites:
            _partitions_unchanged(base, io, picked, added)
        return self._change.prepare(base, io, _file_changes(picked, added, removed))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._change.clean_up(io, committed)


def _file_changes(
    picked: Snapshot, added: tuple[DataFile, ...], removed: tuple[DataFile, ...]
) -> FileChanges:
    summary = {SOURCE_SNAPSHOT_ID: str(picked.snapshot_id)}
    if wap_id := picked.summary.get(STAGED_WAP_ID):
        summary[PUBLISHED_WAP_ID] = wap_id
    paths = Paths.of(removed)
    selections: tuple[Selection, ...] = (paths,) if removed else ()

    def check(gone: Removed) -> None:
        check_all_removed(paths, gone)

    operation = Operation(picked.operation or Operation.APPEND)
    return FileChanges(
        added=added,
        data=selections,
        operation=lambda _: operation,
        check=check,
        summary=summary,
    )


def _forward(base: TableMetadata, picked: Snapshot) -> SnapshotRef:
    main = base.refs.get(MAIN_BRANCH)
    if main is None:
        return SnapshotRef(picked.snapshot_id, SnapshotRefType.BRANCH)
    return replace(main, snapshot_id=picked.snapshot_id)


def _replaces_partitions(picked: Snapshot) -> bool:
    flag = picked.summary.get(REPLACE_PARTITIONS, "false").lower()
    return picked.operation == Operation.OVERWRITE and flag == "true"


def _main(base: TableMetadata) -> Iterator[Snapshot]:
    return iter(()) if base.current_snapshot_id is None else ancestors(
        base, base.current_snapshot_id
    )  # fmt: skip


def _not_published(base: TableMetadata, picked: Snapshot) -> None:
    wap_id = picked.summary.get(STAGED_WAP_ID)
    if not wap_id:
        return
    for ancestor in _main(base):
        if wap_id in (ancestor.summary.get(STAGED_WAP_ID), ancestor.summary.get(PUBLISHED_WAP_ID)):
            raise ValidationException(
                f"Can't publish snapshot {picked.snapshot_id}: the {STAGED_WAP_ID} '{wap_id}' was "
                f"published by snapshot {ancestor.snapshot_id} already"
            )


def _not_ancestor(base: TableMetadata, picked: Snapshot) -> None:
    number = picked.snapshot_id
    for ancestor in _main(base):
        if ancestor.snapshot_id == number:
            raise ValidationException(f"Can't cherry-pick snapshot {number}: main has it already")
        if ancestor.summary.get(SOURCE_SNAPSHOT_ID) == str(number):
            raise ValidationException(
                f"Can't cherry-pick snapshot {number}: it was picked already, as snapshot "
                f"{ancestor.snapshot_id}"
            )


def _partitions_unchanged(
    base: TableMetadata, io: FileIO, picked: Snapshot, added: tuple[DataFile, ...]
) -> None:
    """Refuse a pick if the replaced partitions got files since the picked one's parent."""
    history = history_since(base, io, base.current_snapshot, picked.parent_snapshot_id)
    touched = Partitions.of(base, added)

    def hits(manifest: ManifestFile, entries: pa.Table) -> Mask:
        if not touched.may_hold(manifest):
            return np.zeros(entries.num_rows, np.bool_)
        return touched.hits(manifest, entries)

    refuse_added_data_files(history, hits)


def _files(
    base: TableMetadata, io: FileIO, picked: Snapshot, status: ManifestEntryStatus
) -> tuple[DataFile, ...]:
    """Return the data files that the snapshot itself added or removed."""
    only = History(base, io, (picked,))
    entries_by_manifest = only.changed_entries(
        ManifestContent.DATA, status, [str(picked.operation)]
    )
    return tuple(
        file
        for manifest, entries in entries_by_manifest
        for file in data_files_of(base, manifest, entries)
    )
