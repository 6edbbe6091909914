"""Drop a table, and with `purge` all of its own files."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.owned import POINTERS, OwnedFolders
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.catalog.purge import check_purge, metadata_to_purge
from iceberg_spark.errors import (
    CommitFailedException,
    CorruptFileError,
    NotFoundError,
    UnsupportedError,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.reachable import live_files, manifests_of, statistics_paths

_TRIES = 4
"""How often a purge lists the files of a table that other writers change."""


def drop_table(
    catalog: Catalog, identifier: str, *, purge: bool, delete_outside: bool = False
) -> None:
    """Remove a table from its catalog; with `purge` also its files.

    Deletes files of the table's snapshots in the table's own folders (`catalog/owned`). Other files
    only with `delete_outside`: files that `add_files` added, and those in the folders of the
    properties `write.*.path`. If the table is its folder, all of its data and metadata is deleted.
    If a catalog has names, only what the table's metadata reaches (Java:
    CatalogUtil.dropTableData), because a renamed table may be in the same folder. A server that
    stores the metadata removes the files itself, perhaps later.

    Raises:
        NoSuchTableError: the table does not exist.
        ValidationException: `gc.enabled` is false.
        StorageError: the table's files could not be determined.
        CommitFailedException: other writers changed the table each time, or another table got the
            name. Nothing was dropped.
    """
    if not purge:
        catalog.drop_table(identifier, purge=False)
        return
    table = catalog.load(identifier)
    check_purge(table)
    if isinstance(catalog, PointerCatalog):
        _purge(catalog, table, delete_outside)
    elif table.given_by_catalog:
        catalog.drop_table(identifier, purge=True)
    else:
        own = _own_files_if_readable(table, delete_outside) or []
        catalog.drop_table(identifier, purge=True)
        table.io.delete_many(own)


def _purge(catalog: PointerCatalog, table: LoadedTable, delete_outside: bool) -> None:
    """Remove the pointer to the version whose files were listed, then these files.

    Listing takes a while. If another commit comes first, the files are listed again.
    """
    for _ in range(_TRIES):
        own = _own_files_if_readable(table, delete_outside)
        if own is None:
            catalog.drop_table(table.identifier, purge=True)
            return
        own += metadata_to_purge(table.io, table)
        with suppress(CommitFailedException):
            catalog.remove(table)
            table.io.delete_many(own)
            return
        newest = catalog.load(table.identifier)
        if newest.metadata.table_uuid != table.metadata.table_uuid:
            break
        table = newest
    raise CommitFailedException(
        f"{table.identifier} is another table now, or other writers changed it each time; nothing "
        "was dropped: try again"
    )


def _own_files_if_readable(table: LoadedTable, delete_outside: bool) -> list[str] | None:
    """Return the files of a table, None if its metadata is broken.

    For a broken table only the files at its location are deleted. Raises StorageError: a failing
    store does not prove that the table is broken.
    """
    with suppress(NotFoundError, CorruptFileError, UnsupportedError):
        return _own_files(table.io, table, delete_outside)
    return None


def _own_files(io: FileIO, table: LoadedTable, delete_outside: bool) -> list[str]:
    """Return the files that the table's snapshots reach, in its own folders or everywhere.

    Memory: about 200 bytes a file.
    """
    metadata = table.metadata
    snapshots = tuple(metadata.snapshots.values())
    manifests = manifests_of(io, snapshots, metadata, metadata).remaining
    lists = [snapshot.manifest_list for snapshot in snapshots if snapshot.manifest_list]
    named = pa.array([*lists, *sorted(statistics_paths(metadata))], pa.string())
    owned = None if delete_outside else OwnedFolders(io, table)
    columns = chain(
        (chunk for files in live_files(io, manifests) for chunk in files.column(0).chunks),
        manifests.column("manifest_path").chunks,
        (named,),
    )
    return [path for column in columns for path in _owned(owned, column)]


def _owned(owned: OwnedFolders | None, paths: Any) -> list[str]:
    mask = pc.invert(pc.match_substring_regex(paths, POINTERS))
    if owned is not None:
        mask = pc.and_(owned.mask(paths), mask)
    own_paths: list[str] = paths.filter(mask).to_pylist()
    return own_paths
