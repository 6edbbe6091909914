"""Which files a table may delete: those below folders that are its own.

Metadata can name any path. What it names is deleted only below the table's location and its
properties `write.*.path`, and not where another table lies in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.metadata_file import METADATA_FOLDER, is_metadata_file, read_metadata
from iceberg_spark.catalog.own_folders import own_folders, whole_folder
from iceberg_spark.catalog.versions import holds_table, newest_version
from iceberg_spark.errors import CorruptFileError, StorageError, UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.real_paths import RealPaths
from iceberg_spark.io.split_paths import split_paths
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import WRITE_METADATA_PATH

Column: TypeAlias = Any  # pyarrow ships no types

POINTERS = r"(?:\.metadata\.json(?:\.gz)?|(?:^|/)version-hint\.text)$"
"""Metadata files and hints: no snapshot has one, so what names one is wrong."""

STAGING = "copy-table-staging-"
"""What a folder of metadata that `rewrite_table_path` staged begins with (Java: the same)."""
_NOT_NAMES = ("", ".", "..")

_LAID_OUT = re.compile(r"^(?:data|metadata|[01]{4}|[01]{8}|.*=.*)$", re.DOTALL)
"""Folders that writers make inside a table: not looked into for other tables on remote stores."""


class OwnedFolders:
    """The folders of a table, as its catalog and metadata say, and what lies in them.

    `home` is the table's location by its catalog. Where that is a folder, metadata that names
    another location (of the table that this one is a copy of) does not make that its own while a
    table is there. `former` is earlier metadata by where it is (`former_metadata`).
    """

    __slots__ = (
        "_folders", "_io", "_known", "_manifests", "_metadata_folders", "_others", "_real", "home",
    )  # fmt: skip

    def __init__(
        self, io: FileIO, table: LoadedTable, former: Mapping[str, TableMetadata] | None = None
    ) -> None:
        earlier = former or {}
        self._io = io
        self.home = sure_folder(table.identifier if is_folder(table) else table.metadata.location)
        every = (table.metadata, *earlier.values())
        found = (self.home, *(sure_folder(each) for one in every for each in own_folders(one)))
        self._folders = tuple(dict.fromkeys(each for each in found if each not in (None, "file:")))
        self._metadata_folders, self._manifests = _metadata_folders(self.home, table)
        self._known = () if is_folder(table) else tuple(map(location.normalise, earlier))
        self._others: dict[str, bool] = {}
        self._real = RealPaths()

    def mask(self, paths: Column) -> Column:
        """Return which of a column of locations are files of the table's own."""
        folders, names = split_paths(paths)
        encoded = folders.dictionary_encode()
        owned = pa.array([self._owns(each) for each in encoded.dictionary.to_pylist()], pa.bool_())
        named = pc.invert(pc.is_in(names, value_set=pa.array(_NOT_NAMES)))
        return pc.and_(owned.take(encoded.indices), named)

    def has(self, path: str) -> bool:
        """Return whether one location is a file of the table's own."""
        return bool(self.mask(pa.array([path], pa.string()))[0].as_py())

    def metadata_mask(self, paths: Column) -> Column:
        """Return which of a column of locations lie where the table's manifests go."""
        parents = [location.parent(path) for path in paths.to_pylist()]
        there = {
            folder: sure_folder(folder, self._real) in self._manifests for folder in set(parents)
        }
        return pc.and_(pa.array([there[each] for each in parents], pa.bool_()), self.mask(paths))

    def in_metadata(self, path: str) -> bool:
        """Return whether a file lies in a folder of metadata files of the table's own."""
        return sure_folder(location.parent(path)) in self._metadata_folders and self.has(path)

    def _owns(self, folder: str) -> bool:
        place = sure_folder(folder, self._real)
        if place is None:
            return False
        return any(
            _is_below(place, own) and not any(map(self._is_other, self._between(own, place)))
            for own in self._folders
        )

    def _between(self, own: str, place: str) -> Iterator[str]:
        """Yield the folders where another table may lie: around an own one far off, and below."""
        if self.home is None or not _is_below(own, self.home):
            above = location.parent(own)
            if self.home is None or not _is_below(self.home, above):
                yield above
        yield own
        at = own
        for part in place[len(own) :].split("/")[1:]:
            is_staged = part.startswith(STAGING) and at in self._metadata_folders
            at = f"{at}/{part}"
            if not is_staged and (location.is_local(at) or _LAID_OUT.match(part) is None):
                yield at

    def _is_other(self, folder: str) -> bool:
        known = self._others.get(folder)
        if known is None:
            known = self._others[folder] = (
                folder != self.home
                and f"{folder}/{METADATA_FOLDER}" not in self._metadata_folders
                and holds_table(self._io, folder)
                and not self._was_here(folder)
            )
        return known

    def _was_here(self, folder: str) -> bool:
        """Return whether what a table's folder has last is earlier metadata of this table."""
        try:
            newest = newest_version(self._io, folder)
        except StorageError:
            return False
        return newest is not None and location.normalise(newest.metadata_location) in self._known


def is_folder(table: LoadedTable) -> bool:
    """Return whether a table is known by its folder rather than by a name in a catalog."""
    named = table.identifier
    return location.is_absolute(named) and not is_metadata_file(named)


def former_metadata(io: FileIO, table: LoadedTable) -> dict[str, TableMetadata]:
    """Return earlier metadata of a table by its log, newest first; what can't be read is left out.

    Only files with the table's uuid, in a folder that is the table's own by its catalog or, where
    a catalog has it, was its own by what is in the file: a log can name any file.
    """
    owned = OwnedFolders(io, table)
    found: dict[str, TableMetadata] = {}
    for entry in reversed(table.metadata.metadata_log):
        path = entry.metadata_file
        inside = owned.in_metadata(path)
        if not is_metadata_file(path) or (is_folder(table) and not inside):
            continue
        try:
            metadata = read_metadata(io, path)
        except (StorageError, CorruptFileError, UnsupportedError):
            continue
        there = replace(table, metadata=metadata, metadata_location=path)
        if metadata.table_uuid == table.metadata.table_uuid and (
            inside or OwnedFolders(io, there).in_metadata(path)
        ):
            found[path] = metadata
    return found


def sure_folder(folder: str, real: RealPaths | None = None) -> str | None:
    """Return a folder by the one name that it surely has, None where it may be another's.

    Local links are followed. A key of an object store is taken as it is written, and one with
    parts that some drivers resolve is in no folder for sure.
    """
    kind = location.store_of(folder)
    rest = location.strip_scheme(folder)
    if kind == location.LOCAL:
        is_whole = rest.startswith("/") and "\0" not in rest
        return f"file:{(real or RealPaths()).of(rest).rstrip('/')}" if is_whole else None
    plain = rest.rstrip("/").lower().replace("%2e", ".").split("/")
    if any(part in ("", ".", "..") for part in plain[0 if rest[:1] != "/" else 1 :]):
        return None
    return f"{kind}://{rest.rstrip('/')}"


def _metadata_folders(
    home: str | None, table: LoadedTable
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the folders of the table's metadata files, and those of its manifests as well."""
    usual = {f"{home}/{METADATA_FOLDER}"} if home is not None else set()
    folder = table.metadata.properties.get(WRITE_METADATA_PATH)
    set_one = sure_folder(whole_folder(table.metadata, folder)) if folder else None
    every = usual if set_one is None else usual | {set_one}
    return frozenset(usual if is_folder(table) else every), frozenset(every)


def _is_below(place: str, folder: str) -> bool:
    return place == folder or place.startswith(f"{folder}/")
