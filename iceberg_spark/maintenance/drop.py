"""Drop a table, and with `purge` the files of its own that are anywhere."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.owned import POINTERS, OwnedFolders, former_metadata
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


def drop_table(catalog: Catalog, identifier: str, *, purge: bool) -> None:
    """Remove a table from its catalog; with `purge` its files as well.

    What the table's snapshots have goes where it lies in a folder of the table's own; files that
    `add_files` took from elsewhere, and other tables, stay. Where a folder is the table, all of
    its data and metadata goes; where a catalog has names, only what the table's metadata reaches
    (Java: CatalogUtil.dropTableData), for a table of its former name may lie there too. A server
    that keeps the metadata removes the files itself, and may keep them for a while. Raises
    NoSuchTableError, ValidationException (`gc.enabled`), StorageError where what the table has
    can't be told, CommitFailedException where another table got the name meanwhile; then nothing
    was dropped.
    """
    if not purge:
        catalog.drop_table(identifier, purge=False)
        return
    table = catalog.load(identifier)
    check_purge(table)
    if table.given_by_catalog:
        catalog.drop_table(identifier, purge=True)
        return
    io = table.io
    own: list[str] | None = None
    # Of a broken table what lies at its location goes; one whose store fails is not known as such.
    with suppress(NotFoundError, CorruptFileError, UnsupportedError):
        own = _own_files(io, table)
    if own is not None and isinstance(catalog, PointerCatalog):
        own += metadata_to_purge(io, table, table.metadata.location)
        _check_same(catalog, table)
        catalog.drop_table(identifier, purge=False)
    else:
        catalog.drop_table(identifier, purge=True)
    io.delete_many(own or [])


def _check_same(catalog: Catalog, table: LoadedTable) -> None:
    """Look once more: to find all files takes a while, and a renamed table is in use."""
    now = catalog.load(table.identifier).metadata.table_uuid
    if now != table.metadata.table_uuid:
        raise CommitFailedException(
            f"{table.identifier} is another table now, nothing was dropped: try again"
        )


def _own_files(io: FileIO, table: LoadedTable) -> list[str]:
    """Return the files that the table's snapshots reach, in the table's own folders.

    Memory: some 200 bytes a file.
    """
    metadata = table.metadata
    snapshots = tuple(metadata.snapshots.values())
    manifests = manifests_of(io, snapshots, metadata, metadata).kept
    lists = [one.manifest_list for one in snapshots if one.manifest_list]
    named = pa.array([*lists, *sorted(statistics_paths(metadata))], pa.string())
    owned = OwnedFolders(io, table, former_metadata(io, table))
    columns = chain(
        (chunk for files in live_files(io, manifests) for chunk in files.column(0).chunks),
        manifests.column("manifest_path").chunks,
        (named,),
    )
    return [path for column in columns for path in _owned(owned, column)]


def _owned(owned: OwnedFolders, paths: Any) -> list[str]:
    mask = pc.and_(owned.mask(paths), pc.invert(pc.match_substring_regex(paths, POINTERS)))
    found: list[str] = paths.filter(mask).to_pylist()
    return found
