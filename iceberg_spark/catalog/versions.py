"""The newest metadata file of a table's folder (Java: HadoopTableOperations)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from iceberg_spark.catalog.decoded_tables import HINT_BYTES
from iceberg_spark.catalog.metadata_file import (
    METADATA_FOLDER,
    is_metadata_file,
    number_of,
    version_of,
    versioned_names,
)
from iceberg_spark.errors import NoSuchFileError, StorageError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileInfo, FileIO

VERSION_HINT = "version-hint.text"


@dataclass(frozen=True, slots=True)
class FoundVersion:
    """The newest metadata file; `version` is None if a metastore decides instead of the name.

    `tag` identifies its content if the store has tags.
    """

    metadata_location: str
    version: int | None
    tag: str = ""


def newest_version(io: FileIO, table: str) -> FoundVersion | None:
    """Return the newest metadata file below a table's location, None if there is none.

    The hint is only the start of the search: each next version is looked for from there, the first
    together with the hinted one. Without a usable hint, the folder is listed. If a folder has only
    a metastore's `<N>-<uuid>.metadata.json`, the newest of them is chosen by number, then by time.
    """
    folder = location.join(table, METADATA_FOLDER)
    hinted = _read_hint(io, folder)
    newest = None if hinted is None else _from(io, table, hinted)
    return newest or _listed(io, table, folder)


def version_paths(table: str, version: int) -> list[str]:
    """Return the possible paths of a version's file, in each spelling."""
    return [location.join(table, METADATA_FOLDER, name) for name in versioned_names(version)]


def _from(io: FileIO, table: str, version: int) -> FoundVersion | None:
    """Return the newest version from a given one on, None if that one does not exist."""
    there = io.find([*version_paths(table, version), *version_paths(table, version + 1)])
    newest, later = _spelt(there, table, version), _spelt(there, table, version + 1)
    if newest is None:
        return None
    while later is not None:
        newest, version = later, version + 1
        there = io.find(version_paths(table, version + 1))
        later = _spelt(there, table, version + 1)
    return newest


def _spelt(there: Mapping[str, FileInfo], table: str, version: int) -> FoundVersion | None:
    """Return a version's file, in the first spelling that exists."""
    for path in version_paths(table, version):
        if path in there:
            return FoundVersion(path, version, there[path].tag)
    return None


def is_unchanged(io: FileIO, table: str, path: str, tag: str) -> bool:
    """Return whether a version's file has the content of a tag, and no later version is known."""
    version = version_of(location.name(path))
    if version is None or not tag:
        return False
    there = io.find([path, *version_paths(table, version + 1), hint_path(table)])
    if there.keys() - {hint_path(table)} != {path} or there[path].tag != tag:
        return False
    return not has_gone_on(io, table, version, there, version)


def has_gone_on(
    io: FileIO, table: str, version: int, there: Mapping[str, FileInfo], hinted: int
) -> bool:
    """Return whether a later version is known, even if the next one may be missing.

    If versions are deleted after commits, one whose deletion failed looks like the newest. The hint
    proves that no writer went on if it has the expected number, by its tag `there` (most S3 stores
    give the MD5) or by its content. Otherwise the newest version is searched.
    """
    hint = there.get(hint_path(table))
    number = hashlib.md5(str(hinted).encode(), usedforsecurity=False).hexdigest()
    if hint is not None and hint.tag.strip('"') == number:
        return False
    if hint is not None and _read_hint(io, location.join(table, METADATA_FOLDER)) == hinted:
        return False
    newest = newest_version(io, table)
    return newest is not None and newest.version is not None and newest.version > version


def hint_path(table: str) -> str:
    """Return the path of the version hint."""
    return location.join(table, METADATA_FOLDER, VERSION_HINT)


def version_files(io: FileIO, table: str) -> list[tuple[int, str]]:
    """Return every version and its file, oldest first."""
    folder = location.join(table, METADATA_FOLDER)
    versions = [
        (version, info.path)
        for info in _files_in(io, folder)
        if (version := version_of(location.name(info.path))) is not None
    ]
    return sorted(versions)


def write_hint(io: FileIO, table: str, version: int) -> None:
    """Write the version hint; if that fails, readers start at an older version."""
    try:
        io.replace(hint_path(table), str(version).encode())
    except StorageError:
        return


def holds_table(io: FileIO, folder: str) -> bool:
    """Return whether a folder is a table's: its metadata folder has metadata files or a hint.

    A folder that cannot be listed may be one.
    """
    try:
        infos = list(io.list(location.join(folder, METADATA_FOLDER)))
    except StorageError:
        return True
    return any(is_pointer(info.path) for info in infos)


def is_pointer(path: str) -> bool:
    """Return whether a file identifies a table: a metadata file, or the version hint."""
    return is_metadata_file(path) or location.name(path) == VERSION_HINT


def _read_hint(io: FileIO, folder: str) -> int | None:
    """Return the hint's number, None if it is missing, empty, too long or not a number."""
    try:
        with io.open(location.join(folder, VERSION_HINT)) as file:
            text = file.read(HINT_BYTES + 1)  # a hostile one may claim gigabytes
            return int(text) if len(text) <= HINT_BYTES else None
    except (NoSuchFileError, ValueError):
        return None


def _listed(io: FileIO, table: str, folder: str) -> FoundVersion | None:
    infos = list(_files_in(io, folder))
    versions = [v for info in infos if (v := version_of(location.name(info.path))) is not None]
    if versions:
        newest = _from(io, table, max(versions))
        if newest is not None:
            return newest
    return _newest_numbered(infos)


def _newest_numbered(infos: Iterable[FileInfo]) -> FoundVersion | None:
    numbered = [
        (number, info.modified_ms, info.path)
        for info in infos
        if (number := number_of(location.name(info.path))) is not None
    ]
    return FoundVersion(max(numbered)[2], None) if numbered else None


def _files_in(io: FileIO, folder: str) -> Iterator[FileInfo]:
    """Yield the files directly in a folder."""
    for info in io.list(folder):
        if location.same_file(location.parent(info.path), folder):
            yield info
