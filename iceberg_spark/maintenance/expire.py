"""Expire snapshots: commit their removal, then delete the files that nothing reaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.commit import CleanupOnFailure, commit
from iceberg_spark.commits.expire_snapshots import ExpireSnapshots, Expiry, check_known
from iceberg_spark.commits.table_part import load_newest
from iceberg_spark.errors import IcebergError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.limits import EXPIRING
from iceberg_spark.maintenance.reachable import (
    LEFT_FILES,
    FileKind,
    FindFiles,
    LeftFiles,
    Manifests,
    left_behind,
    unreachable_files,
)
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata

Table: TypeAlias = Any  # pyarrow ships no types


@dataclass(frozen=True, slots=True)
class ExpireResult:
    """What was removed, or would be in a dry run; counts are named as in Java's procedure.

    A dry run sets `files` (columns `file_path` and `kind`). `not_deleted` names unreferenced files
    that still exist: those that the store failed to delete, which orphan removal deletes, and those
    `outside` the table's folders. These may belong to another table and are deleted with
    `delete_outside` only. `unfinished` is the reason if the search for files failed after the
    commit, otherwise empty.
    """

    snapshot_ids: tuple[int, ...]
    refs: tuple[str, ...]
    deleted_data_files_count: int
    deleted_position_delete_files_count: int
    deleted_equality_delete_files_count: int
    deleted_manifest_files_count: int
    deleted_manifest_lists_count: int
    deleted_statistics_files_count: int
    dry_run: bool
    not_deleted: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    files: Table | None = None
    unfinished: str = ""

    def __repr__(self) -> str:
        verb = "would expire" if self.dry_run else "expired"
        refused = len(self.not_deleted) - len(self.outside)
        left = f"; {refused} could not be deleted" if refused else ""
        if self.outside:
            left += f"; {len(self.outside)} outside the table's folders were left"
        return (
            f"{verb} {len(self.snapshot_ids)} snapshots and {len(self.refs)} references; files: "
            f"{self.deleted_data_files_count} data, "
            f"{self.deleted_position_delete_files_count} position deletes, "
            f"{self.deleted_equality_delete_files_count} equality deletes, "
            f"{self.deleted_manifest_files_count} manifests, "
            f"{self.deleted_manifest_lists_count} manifest lists, "
            f"{self.deleted_statistics_files_count} statistics{left}"
            + (f"; the search for files failed: {self.unfinished}" if self.unfinished else "")
        )


def expire_snapshots(
    catalog: Catalog,
    before: LoadedTable,
    expiry: Expiry,
    *,
    dry_run: bool = False,
    delete_outside: bool = False,
    find_files: FindFiles | None = None,
    threads: int = EXPIRING.threads,
) -> tuple[LoadedTable, ExpireResult]:
    """Expire snapshots of a table; return its newest version and the result.

    Reachable files are determined after the commit, including later commits. Only files in the
    table's own folders are deleted (`catalog/owned`), unless `delete_outside` is set. A failure
    after the commit is part of the result.

    Raises:
        ValidationException: `gc.enabled` is false; nothing was deleted.
        InvalidInputError: a reference keeps a snapshot to expire; nothing was deleted.
        NoSuchSnapshotError: a snapshot does not exist; nothing was deleted.
        CommitFailedException: other commits won each time; nothing was deleted.
        CommitStateUnknownException: an interrupt, also after the commit.
    """
    io = before.io
    check_known(before.metadata, expiry.snapshot_ids)
    find = _found_here if find_files is None else find_files
    deletion = _Deletion(io, delete_outside, threads)
    if dry_run:
        updates = ExpireSnapshots(expiry).prepare(before.metadata, io).updates
        after = apply(before.metadata, updates, now_ms=before.metadata.last_updated_ms)
        left = left_behind(io, before.metadata, replace(before, metadata=after), find)
        would_go = pa.concat_tables([LEFT_FILES.empty_table(), *map(deletion.taken, left)])
        deletion.kinds.update(would_go.column("kind").to_pylist())
        return before, _result(before.metadata, after, deletion, files=would_go)
    action = ExpireSnapshots(expiry)
    with CleanupOnFailure(io, ()) as commit_state:
        committed = commit(catalog, before.identifier, action, before, commit_state=commit_state)
        base = action.base or before.metadata
        if committed.metadata.snapshots.keys() == base.snapshots.keys():
            return committed, _result(base, committed.metadata, deletion)
        newest = _cleaned(catalog, committed, base, deletion, find)
        return newest, _result(base, committed.metadata, deletion)


def _cleaned(
    catalog: Catalog,
    committed: LoadedTable,
    base: TableMetadata,
    deletion: _Deletion,
    find: FindFiles,
) -> LoadedTable:
    """Delete what a commit left behind; return the newest version of the table."""
    try:
        newest = load_newest(catalog, committed)
        deletion.run(left_behind(deletion.io, base, newest, find))
    except Exception as error:  # noqa: BLE001 (the commit has landed: whatever breaks now, it stays)
        deletion.unfinished = str(error) or type(error).__name__
        return committed
    return newest


def _found_here(io: FileIO, manifests: Manifests) -> Iterable[Table]:
    return (unreachable_files(io, manifests),)


@dataclass(slots=True)
class _Deletion:
    """The outcome for the files found: counts by kind, and files that still exist."""

    io: FileIO
    outside_too: bool
    threads: int
    kinds: Counter[int] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    unfinished: str = ""

    def run(self, left_behind: Iterable[LeftFiles]) -> None:
        """Delete files as they are found."""
        with ThreadPoolExecutor(self.threads) as pool:
            for files in left_behind:
                for batch in self.taken(files).to_batches(max_chunksize=EXPIRING.deleted_at_once):
                    paths = batch.column(0).to_pylist()
                    # Deleting a local file does not wait, so threads would only compete.
                    is_local = pc.all(pc.starts_with(batch.column(0), "/")).as_py()
                    threads = 1 if is_local else self.threads
                    shares = [paths[first::threads] for first in range(threads)]
                    self._note(batch, [*chain.from_iterable(pool.map(self._refused, shares))])

    def _note(self, batch: Table, refused: list[str]) -> None:
        """Count deleted files, and record those that still exist."""
        self.refused += refused
        still_there = pc.is_in(batch.column(0), value_set=pa.array(refused, pa.string()))
        self.kinds.update(batch.column(1).filter(pc.invert(still_there)).to_pylist())

    def taken(self, files: LeftFiles) -> Table:
        """Return the files to delete; record the others."""
        if self.outside_too:
            return pa.concat_tables([files.own, files.outside])
        self.outside += files.outside.column(0).to_pylist()
        return files.own

    def _refused(self, paths: list[str]) -> list[str]:
        return [path for path in paths if not _is_deleted(self.io, path)]


def _is_deleted(io: FileIO, path: str) -> bool:
    try:
        io.delete(path)
    except IcebergError:
        return False
    return True


def _result(
    before: TableMetadata,
    after: TableMetadata,
    deletion: _Deletion,
    *,
    files: Table | None = None,
) -> ExpireResult:
    kinds = deletion.kinds
    return ExpireResult(
        snapshot_ids=tuple(
            snapshot_id for snapshot_id in before.snapshots if snapshot_id not in after.snapshots
        ),
        refs=tuple(name for name in before.refs if name not in after.refs),
        deleted_data_files_count=kinds[FileKind.DATA],
        deleted_position_delete_files_count=kinds[FileKind.POSITION_DELETES],
        deleted_equality_delete_files_count=kinds[FileKind.EQUALITY_DELETES],
        deleted_manifest_files_count=kinds[FileKind.MANIFEST],
        deleted_manifest_lists_count=kinds[FileKind.MANIFEST_LIST],
        deleted_statistics_files_count=kinds[FileKind.STATISTICS],
        dry_run=files is not None,
        not_deleted=(*deletion.refused, *deletion.outside),
        outside=tuple(deletion.outside),
        files=files,
        unfinished=deletion.unfinished,
    )
