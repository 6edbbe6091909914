"""Files below a table that no metadata refers to; any doubt deletes nothing.

Source: Java's DeleteOrphanFilesSparkAction. The files are listed first, then compared with the
table, and again with commits until the deletion begins. A file that a commit refers to by then is
not an orphan, whatever its age. Of a large table, files that it has before the listing are not
even held: they stay, although a commit may drop them meanwhile.
"""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.metadata_file import (
    METADATA_FOLDER,
    read_metadata,
)
from iceberg_spark.catalog.own_folders import own_folders
from iceberg_spark.catalog.owned import (
    POINTERS,
    STAGING,
    OwnedFolders,
    at_the_ends,
    is_folder,
    owner_of,
)
from iceberg_spark.commits.table_part import load_newest
from iceberg_spark.errors import (
    CorruptFileError,
    IcebergError,
    InvalidInputError,
    NoSuchFileError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.places import Places
from iceberg_spark.maintenance.file_keys import Equal
from iceberg_spark.maintenance.limits import ORPHANS
from iceberg_spark.maintenance.listed_files import below, given_files, listed_files, outside
from iceberg_spark.maintenance.named_files import (
    NamedFiles,
    PrefixMismatch,
    candidates,
    unreferenced_files,
)
from iceberg_spark.spec.arguments import moment_ms, one_of
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import GC_ENABLED, bool_property

Table: TypeAlias = Any  # pyarrow ships no types
Column: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class OrphanSearch:
    """What to search: files last modified before a time (ms since the epoch), and where.

    `listed` (LISTED) replaces a listing of `location`.
    """

    older_than_ms: int
    location: str | None = None
    equal: Equal = field(default_factory=lambda: Equal({}, {}))
    mismatch: PrefixMismatch = PrefixMismatch.ERROR
    listed: Table | None = None
    threads: int = ORPHANS.deletes


@dataclass(frozen=True, slots=True)
class OrphanResult:
    """The orphans that were found and, except in a dry run, deleted.

    `not_deleted` names those that the store failed to delete; another run deletes them.
    """

    orphan_file_locations: tuple[str, ...]
    dry_run: bool
    not_deleted: tuple[str, ...] = ()

    @property
    def orphan_files_count(self) -> int:
        """The number of orphans."""
        return len(self.orphan_file_locations)

    def __repr__(self) -> str:
        verb = "would delete" if self.dry_run else "deleted"
        left = f"; {len(self.not_deleted):,} could not be deleted" if self.not_deleted else ""
        deleted = self.orphan_files_count - len(self.not_deleted)
        return f"{verb} {deleted:,} orphan files{left}"


def remove_orphan_files(
    catalog: Catalog, identifier: str, search: OrphanSearch, *, dry_run: bool = False
) -> OrphanResult:
    """Delete the files below a table that no metadata refers to.

    Memory: about 500 bytes for each file that is old enough, and a million paths of metadata at a
    time. Of a table with more than 500,000 files: 8 bytes for each, 500 for each orphan.

    Raises:
        ValidationException: `gc.enabled` is false, or it is unclear what is an orphan. Nothing was
            deleted.
        StorageError: the store fails during the search; nothing was deleted.
        CorruptFileError: metadata cannot be read; nothing was deleted.
    """
    table = catalog.load(identifier)
    _check(table)
    unreferenced = _candidates(table, search)
    seen: tuple[str, int] | None = None
    for _ in range(ORPHANS.looks):
        table = load_newest(catalog, table)
        version = table.metadata_location, table.metadata.last_updated_ms
        if version == seen:
            break
        seen = version
        unreferenced = unreferenced_files(table, unreferenced, search.equal, search.mismatch)
    orphans = _own(table, search, concat(unreferenced.column("file_path")))
    _check_pointers(table, orphans)
    if dry_run:
        return OrphanResult(tuple(orphans), dry_run=True)
    return OrphanResult(tuple(orphans), False, _deleted(table.io, orphans, search.threads))


def old_enough(older_than: int | datetime | None, allow_recent: bool) -> int:
    """Return the time (ms since the epoch) before which files were last modified.

    Raises InvalidInputError for one less than 24 hours ago, unless `allow_recent`.
    """
    now = int(time.time() * 1000)
    if older_than is None:
        return now - ORPHANS.default_days * ORPHANS.day_ms
    limit = moment_ms(older_than, "older_than")
    if now - limit < ORPHANS.day_ms and not allow_recent:
        raise InvalidInputError(
            "older_than is less than 24 hours ago: files of a running write would be "
            "deleted. Give an earlier time, or allow_recent=True if nobody writes to the table"
        )
    return limit


def mismatch_mode(text: str) -> PrefixMismatch:
    """Return the mode of `prefix_mismatch_mode`. Raises InvalidOptionError."""
    one_of(text, "prefix_mismatch_mode", [mode.value.lower() for mode in PrefixMismatch])
    return PrefixMismatch(text.upper())


def _check(table: LoadedTable) -> None:
    metadata = table.metadata
    if not bool_property(metadata.properties, GC_ENABLED):
        raise ValidationException(
            f"Can't remove orphan files of {table.identifier}: '{GC_ENABLED}' is false, other "
            f"tables may use its files; set '{GC_ENABLED}' to true if none does"
        )
    if not table.metadata_location:
        raise ValidationException(
            f"Can't remove orphan files of {table.identifier}: its catalog does not say which "
            "metadata file is the current one"
        )
    places = Places()
    if is_folder(table) and places.folder(table.identifier) != places.folder(metadata.location):
        raise ValidationException(
            f"Can't remove orphan files of {table.identifier}: its metadata says that the table "
            f"is at {metadata.location}, so this may be a copy of that one, with its files"
        )


def _candidates(table: LoadedTable, search: OrphanSearch) -> Table:
    """Return the files (CANDIDATES) of the searched folder that are old enough."""
    folder = search.location or table.metadata.location
    _check_location(table, search, folder)
    places = Places()
    own = {below(folder, metadata_folder, places) for metadata_folder in _metadata_folders(table)}
    own_in_folder = frozenset(
        metadata_folder for metadata_folder in own if metadata_folder is not None
    )
    if search.listed is None:
        named = NamedFiles.of_large_table(table, search.equal)
        listing = listed_files(
            table.io,
            folder,
            table.metadata,
            search.older_than_ms,
            own_in_folder,
            None if named is None else named.has,
        )
        files = outside(listing.files, folder, listing.areas)
    else:
        files = given_files(
            search.listed, folder, table.metadata, search.older_than_ms, own_in_folder
        )
    return candidates(concat(files.column(0)), search.equal)


def _owned_folders(table: LoadedTable, search: OrphanSearch) -> OwnedFolders:
    """Return the table's folders, with the one that the caller names if the metadata agrees.

    The metadata alone does not suffice: an orphan is every file that it does not refer to.
    """
    places = Places()
    former = (f for f in _metadata_folders(table) if location.name(f) == METADATA_FOLDER)
    folders = (*own_folders(table.metadata), *map(location.parent, former))
    folder_of_search = search.location
    agrees = folder_of_search and any(
        below(folder, folder_of_search, places) is not None for folder in folders
    )
    return OwnedFolders(table.io, table, folder_of_search if agrees else None)


def _check_location(table: LoadedTable, search: OrphanSearch, folder: str) -> None:
    """Raise InvalidInputError for a folder that may have files of other tables."""
    owned = _owned_folders(table, search)
    if not owned.has(location.join(folder, "any")):
        raise InvalidInputError(
            f"{folder} is not a folder of the table {table.identifier}, or has another table: "
            "its files would be mistaken for orphans. Set location to the table's location, to "
            "a folder of its properties write.*.path, or to one below"
        )


def _metadata_folders(table: LoadedTable) -> set[str]:
    """Return the folders in which metadata files are the table's."""
    log = [entry.metadata_file for entry in table.metadata.metadata_log]
    home = location.join(table.metadata.location, METADATA_FOLDER)
    return {home, *map(location.parent, [*log, table.metadata_location])}


def _own(table: LoadedTable, search: OrphanSearch, paths: Column) -> list[str]:
    """Return the files in the table's own folders; links are never deleted."""
    owned = _owned_folders(table, search)
    owned_paths = paths.filter(owned.mask(paths)).to_pylist()
    return [path for path in owned_paths if not _is_link(path)]


def _is_link(path: str) -> bool:
    return location.is_local(path) and os.path.islink(location.strip_scheme(path))  # noqa: PTH114 (of many)


def _check_pointers(table: LoadedTable, orphans: list[str]) -> None:
    """Refuse if metadata files among the orphans belong to another table or registration.

    Two tables may share a folder: a file that one does not refer to may be the other's. Raises
    ValidationException.
    """
    pointers = re.compile(POINTERS)
    staged = tuple(
        location.join(metadata_folder, STAGING) for metadata_folder in _metadata_folders(table)
    )
    metadata_files = [
        path for path in orphans if pointers.search(path) and not path.startswith(staged)
    ]
    for path in at_the_ends(metadata_files, ORPHANS.looked_at):
        if _is_anothers(table, path):
            raise ValidationException(
                f"Can't tell which files of {table.identifier} are orphans: {path} is metadata of "
                "another table or a view, or of a copy of this table that was written to, in the "
                "same folder; nothing was deleted. Delete that metadata file if its table is gone"
            )


def _is_anothers(table: LoadedTable, path: str) -> bool:
    mine = table.metadata
    try:
        other = read_metadata(table.io, path)
    except NoSuchFileError:
        return False
    except CorruptFileError:  # a view's, or half a file
        return owner_of(table.io, path) not in (None, mine.table_uuid)
    except UnsupportedError as error:
        raise ValidationException(
            f"Can't tell which files of {table.identifier} are orphans: {path} is metadata "
            f"that can't be read here ({error}), perhaps another table's; nothing was deleted"
        ) from error
    return other.table_uuid != mine.table_uuid or _went_on(mine, other)


def _went_on(ours: TableMetadata, other: TableMetadata) -> bool:
    """Return whether another version was made by commits that the table does not have.

    A refused commit leaves one version that no other follows; here another came before it.
    """
    log = other.metadata_log
    mine = ours.metadata_log
    if not log or not mine or other.last_updated_ms <= mine[0].timestamp_ms:
        return False
    own_files = {location.normalise(entry.metadata_file) for entry in mine}
    return log[-1].timestamp_ms > mine[0].timestamp_ms and (
        location.normalise(log[-1].metadata_file) not in own_files
    )


def _deleted(io: FileIO, paths: list[str], threads: int) -> tuple[str, ...]:
    """Delete files; return those that the store failed to delete."""

    def refused(path: str) -> bool:
        try:
            io.delete(path)
        except IcebergError:
            return True
        return False

    with ThreadPoolExecutor(threads) as pool:
        return tuple(path for path, no in zip(paths, pool.map(refused, paths), strict=True) if no)
