"""Expire snapshots: commit their removal, then delete the files that nothing reaches any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.errors import IcebergError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.reachable import (
    Manifests,
    manifests_of,
    statistics_paths,
    unreachable_files,
)
from iceberg_spark.manifest.live_files import FILES
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.transaction.commit import commit, removed_unless_committed
from iceberg_spark.transaction.expire_snapshots import ExpireSnapshots, Expiry, check_known

Table: TypeAlias = Any  # pyarrow ships no types
FindFiles: TypeAlias = Callable[[FileIO, Manifests], Iterable[Table]]
"""From manifests to the files (tables of FILES) that only the unreachable ones hold."""

_THREADS = 8
_DELETED_AT_A_TIME = 10_000


class FileKind(IntEnum):
    """Kinds of files in the order they are deleted; the first three are `DataFileContent`."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2
    MANIFEST = 3
    MANIFEST_LIST = 4
    STATISTICS = 5


@dataclass(frozen=True, slots=True)
class ExpireResult:
    """What was removed, or would be by a dry run; counts are named as Java's procedure names them.

    `files` (columns `file_path` and `kind`) is there after a dry run. `not_deleted` names files
    that the store did not delete: nothing refers to them any more, orphan removal takes them.
    `unfinished` says why the search for such files broke off after the snapshots were expired, and
    is empty where it did not.
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
    files: Table | None = None
    unfinished: str = ""

    def __repr__(self) -> str:
        said = "would expire" if self.dry_run else "expired"
        left = f"; {len(self.not_deleted)} could not be deleted" if self.not_deleted else ""
        return (
            f"{said} {len(self.snapshot_ids)} snapshots and {len(self.refs)} references; files: "
            f"{self.deleted_data_files_count} data, "
            f"{self.deleted_position_delete_files_count} position deletes, "
            f"{self.deleted_equality_delete_files_count} equality deletes, "
            f"{self.deleted_manifest_files_count} manifests, "
            f"{self.deleted_manifest_lists_count} manifest lists, "
            f"{self.deleted_statistics_files_count} statistics{left}"
            + (f"; the search for files broke off: {self.unfinished}" if self.unfinished else "")
        )


def expire_snapshots(
    catalog: Catalog,
    identifier: str,
    expiry: Expiry,
    *,
    dry_run: bool = False,
    find_files: FindFiles | None = None,
) -> tuple[LoadedTable, ExpireResult]:
    """Expire snapshots of the newest version of a table; return that and what was removed.

    What can be reached is looked up in the table as it stands after the commit, with what others
    committed meanwhile. A failure after the commit ends in the result. Raises ValidationException
    (`gc.enabled`), InvalidInputError, NoSuchSnapshotError, CommitFailedException; nothing was
    deleted then. Raises CommitStateUnknownException for an interrupt after the commit, too.
    """
    before = catalog.load(identifier)
    io = catalog.io(before.metadata.location)
    check_known(before.metadata, expiry.snapshot_ids)
    find = _found_here if find_files is None else find_files
    if dry_run:
        updates = ExpireSnapshots(expiry).prepare(before.metadata, io).updates
        after = apply(before.metadata, updates, now_ms=before.metadata.last_updated_ms)
        would_go = pa.concat_tables([_NONE, *_files(io, before.metadata, after, find)])
        kinds = Counter(would_go.column("kind").to_pylist())
        return before, _result(before.metadata, after, kinds, files=would_go)
    action = ExpireSnapshots(expiry)
    with removed_unless_committed(io, ()) as handover:
        committed = commit(catalog, identifier, action, before, handover=handover)
        base = action.base or before.metadata
        if committed.metadata.snapshots.keys() == base.snapshots.keys():
            return committed, _result(base, committed.metadata, Counter())
        done = _Deletion()
        try:
            newest = catalog.load(identifier)
            done.run(io, _files(io, base, newest.metadata, find))
        except Exception as error:  # noqa: BLE001 (the commit has landed: whatever breaks now, it stays)
            newest, done.unfinished = committed, str(error)
        return newest, replace(
            _result(base, committed.metadata, done.kinds),
            not_deleted=tuple(done.left),
            unfinished=done.unfinished,
        )


def _found_here(io: FileIO, manifests: Manifests) -> Iterable[Table]:
    return (unreachable_files(io, manifests),)


def _files(
    io: FileIO, before: TableMetadata, after: TableMetadata, find: FindFiles
) -> Iterator[Table]:
    """Yield what can no longer be reached as tables of `file_path` and `kind`.

    Files come before what names them, so that a deletion that breaks off leaves a trail.
    """
    gone = [one for number, one in before.snapshots.items() if number not in after.snapshots]
    if not gone:
        return
    manifests = manifests_of(io, gone, before, after)
    if manifests.unreachable.num_rows:
        for found in find(io, manifests):
            yield found.cast(FILES).rename_columns(_NONE.schema.names)
    yield _of_kind(FileKind.MANIFEST, manifests.unreachable.column("manifest_path").to_pylist())
    kept_lists = {one.manifest_list for one in after.snapshots.values()}
    lists = {one.manifest_list for one in gone if one.manifest_list} - kept_lists
    yield _of_kind(FileKind.MANIFEST_LIST, sorted(path for path in lists if path))
    statistics = statistics_paths(before) - statistics_paths(after)
    yield _of_kind(FileKind.STATISTICS, sorted(statistics))


_NONE = FILES.empty_table().rename_columns(["file_path", "kind"])


def _of_kind(kind: FileKind, paths: list[str]) -> Table:
    kinds = pa.repeat(pa.scalar(int(kind), pa.int32()), len(paths))
    return pa.table([pa.array(paths, pa.string()), kinds], schema=_NONE.schema)


@dataclass(slots=True)
class _Deletion:
    """Files deleted as they are found: how many of each kind, and those left behind."""

    kinds: Counter[int] = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)
    unfinished: str = ""

    def run(self, io: FileIO, tables: Iterable[Table]) -> None:
        def refused(paths: list[str]) -> list[str]:
            return [path for path in paths if not _is_deleted(io, path)]

        with ThreadPoolExecutor(_THREADS) as pool:
            for batch in chain.from_iterable(
                table.to_batches(max_chunksize=_DELETED_AT_A_TIME) for table in tables
            ):
                paths = batch.column(0).to_pylist()
                self.kinds.update(batch.column(1).to_pylist())
                shares = [paths[at::_THREADS] for at in range(_THREADS)]
                self.left += chain.from_iterable(pool.map(refused, shares))


def _is_deleted(io: FileIO, path: str) -> bool:
    try:
        io.delete(path)
    except IcebergError:
        return False
    return True


def _result(
    before: TableMetadata,
    after: TableMetadata,
    kinds: Counter[int],
    *,
    files: Table | None = None,
) -> ExpireResult:
    return ExpireResult(
        snapshot_ids=tuple(each for each in before.snapshots if each not in after.snapshots),
        refs=tuple(name for name in before.refs if name not in after.refs),
        deleted_data_files_count=kinds[FileKind.DATA],
        deleted_position_delete_files_count=kinds[FileKind.POSITION_DELETES],
        deleted_equality_delete_files_count=kinds[FileKind.EQUALITY_DELETES],
        deleted_manifest_files_count=kinds[FileKind.MANIFEST],
        deleted_manifest_lists_count=kinds[FileKind.MANIFEST_LIST],
        deleted_statistics_files_count=kinds[FileKind.STATISTICS],
        dry_run=files is not None,
        files=files,
    )
