"""Which files a table may delete: those in folders that are its own.

Metadata can name any path and any location as its own. Files that it names are deleted only below
the location by which the catalog or the user knows the table, and not if another table is between.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.metadata_file import (
    METADATA_FOLDER,
    inflated_text,
    is_metadata_file,
    number_of,
    version_of,
)
from iceberg_spark.catalog.own_folders import whole_folder
from iceberg_spark.catalog.versions import holds_table
from iceberg_spark.errors import CorruptFileError, NoSuchFileError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import limits_of
from iceberg_spark.io.places import RealPaths, split_paths
from iceberg_spark.spec.properties import WRITE_METADATA_PATH

Column: TypeAlias = Any  # pyarrow ships no types

POINTERS = r"(?:\.metadata\.json(?:\.gz)?|(?:^|/)version-hint\.text)$"
"""Metadata files and hints: no snapshot has one, so whatever names one as data is wrong."""

STAGING = "copy-table-staging-"
"""Prefix of the metadata folders that `rewrite_table_path` stages (Java: the same)."""
_NOT_NAMES = ("", ".", "..")

_LAID_OUT = re.compile(r"^(?:data|metadata|[01]{4}|[01]{8}|.*=.*)$", re.DOTALL)
"""Folders that writers create in a table; not searched for other tables on remote stores."""


class OwnedFolders:
    """A table's folders by its catalog or the user, and what is in them.

    `home` is the table's location (`recorded_location`), `chosen` a folder that the user names as
    the table's. The folder of the newest metadata file, which the catalog names, belongs to both.
    """

    __slots__ = (
        "_folders", "_io", "_manifests", "_metadata_folders", "_others", "_real", "home",
    )  # fmt: skip

    def __init__(self, io: FileIO, table: LoadedTable, chosen: str | None = None) -> None:
        self._io = io
        recorded = recorded_location(table)
        self.home = None if recorded is None else sure_folder(recorded)
        self._metadata_folders = _metadata_folders(self.home, table)
        self._manifests = self._metadata_folders | _manifest_folders(table)
        folders = (self.home, *self._metadata_folders, chosen and sure_folder(chosen))
        self._folders = tuple(
            dict.fromkeys(folder for folder in folders if folder not in (None, "", "file:"))
        )
        self._others: dict[str, bool] = {}
        self._real = RealPaths()

    def mask(self, paths: Column) -> Column:
        """Return which locations of a column are the table's own files."""
        folders, names = split_paths(paths)
        encoded = folders.dictionary_encode()
        owned = pa.array(
            [self._owns(folder) for folder in encoded.dictionary.to_pylist()], pa.bool_()
        )
        named = pc.invert(pc.is_in(names, value_set=pa.array(_NOT_NAMES)))
        return pc.and_(owned.take(encoded.indices), named)

    def has(self, path: str) -> bool:
        """Return whether a location is one of the table's own files."""
        return bool(self.mask(pa.array([path], pa.string()))[0].as_py())

    def metadata_mask(self, paths: Column) -> Column:
        """Return which locations of a column are in the folders of the table's manifests."""
        parents = [location.parent(path) for path in paths.to_pylist()]
        in_manifests = {
            folder: sure_folder(folder, self._real) in self._manifests for folder in set(parents)
        }
        return pc.and_(
            pa.array([in_manifests[parent] for parent in parents], pa.bool_()), self.mask(paths)
        )

    def in_metadata(self, path: str) -> bool:
        """Return whether a file is in one of the table's own folders of metadata files."""
        return sure_folder(location.parent(path)) in self._metadata_folders and self.has(path)

    def _owns(self, folder: str) -> bool:
        path = sure_folder(folder, self._real)
        if path is None:
            return False
        return any(
            _is_below(path, own) and not any(map(self._is_other, self._between(own, path)))
            for own in self._folders
        )

    def _between(self, own: str, path: str) -> Iterator[str]:
        """Yield folders where another table may be: around a remote own folder, and below."""
        if self.home is None or not _is_below(own, self.home):
            above = location.parent(own)
            if self.home is None or not _is_below(self.home, above):
                yield above
        yield own
        current = own
        for part in path[len(own) :].split("/")[1:]:
            is_staged = part.startswith(STAGING) and current in self._metadata_folders
            current = f"{current}/{part}"
            if not is_staged and (location.is_local(current) or _LAID_OUT.match(part) is None):
                yield current

    def _is_other(self, folder: str) -> bool:
        is_other = self._others.get(folder)
        if is_other is None:
            is_other = self._others[folder] = (
                folder != self.home
                and f"{folder}/{METADATA_FOLDER}" not in self._metadata_folders
                and holds_table(self._io, folder)
            )
        return is_other


def is_folder(table: LoadedTable) -> bool:
    """Return whether a table is known by its folder rather than by a name in a catalog."""
    named = table.identifier
    return location.is_absolute(named) and not is_metadata_file(named)


def recorded_location(table: LoadedTable) -> str | None:
    """Return a table's location by its catalog or the user, None if neither gives it.

    Others write metadata, so its `location` counts only in the response of a catalog's server. If a
    catalog names the metadata file `/t/metadata/v.metadata.json`, the table is at `/t`. If
    `write.metadata.path` decides where that file is, its folder proves nothing.
    """
    if is_folder(table):
        return table.identifier
    if table.given_by_catalog:
        return table.metadata.location
    folder = location.parent(table.metadata_location)
    is_usual = WRITE_METADATA_PATH not in table.metadata.properties
    if is_usual and location.name(folder) == METADATA_FOLDER:
        return location.parent(folder)
    return table.recorded_location or None


def sure_folder(folder: str, real: RealPaths | None = None) -> str | None:
    """Return a folder's canonical name, None if it may be another table's.

    Follows local links. Keys of object stores are compared as written; a key with parts that some
    drivers resolve is in no folder for certain.
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


def _metadata_folders(home: str | None, table: LoadedTable) -> frozenset[str]:
    """Return the folders of the table's metadata files, by its catalog or the user."""
    folders = set() if home is None else {f"{home}/{METADATA_FOLDER}"}
    named = location.parent(table.metadata_location)
    recorded = recorded_location(table)
    is_inside = recorded and _is_below(location.normalise(named), location.normalise(recorded))
    outer = sure_folder(named) if named and not is_inside else None
    return frozenset(folders if outer is None else folders | {outer})


def _manifest_folders(table: LoadedTable) -> frozenset[str]:
    """Return the folder of the property for metadata, which also holds manifests."""
    named = table.metadata.properties.get(WRITE_METADATA_PATH)
    folder = sure_folder(whole_folder(table.metadata, named)) if named else None
    return frozenset() if folder is None else frozenset((folder,))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


_ANY_NUMBER = -1
_VIEW = "view-uuid"


def owner_of(io: FileIO, path: str) -> str | None:
    """Return the UUID of the table or view that a metadata file of any version describes.

    The UUID of a table of version 1 can be "". None: the file does not exist or has no metadata.
    Raises StorageError, UnsupportedError (too large to read here).
    """
    node = _metadata_in(io, path)
    return None if node is None else str(node.get("table-uuid", node.get(_VIEW, "")))


def is_of_view(io: FileIO, path: str) -> bool:
    """Return whether a metadata file describes a view; raises as `owner_of`."""
    return _VIEW in (_metadata_in(io, path) or {})


def _metadata_in(io: FileIO, path: str) -> dict[str, object] | None:
    try:
        node = json.loads(inflated_text(path, io.read_bytes(path), limits_of(io.properties)))
    except (NoSuchFileError, CorruptFileError, ValueError, RecursionError):
        return None
    is_metadata = isinstance(node, dict) and {"format-version", "location"} & node.keys()
    return node if is_metadata else None


def at_the_ends(paths: Sequence[str], most: int) -> list[str]:
    """Return that many metadata files of the highest and of the lowest numbers, newest first.

    A table that no catalog has still has its newest or its first metadata files there, or both.
    """
    ordered = sorted(paths, key=_number, reverse=True)
    return ordered if len(ordered) <= 2 * most else [*ordered[:most], *ordered[-most:]]


def _number(path: str) -> tuple[int, str]:
    name = location.name(path)
    number = version_of(name)
    number = number_of(name) if number is None else number
    return _ANY_NUMBER if number is None else number, path
