"""Which files to delete with a dropped table: its own folders without other tables in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.metadata_file import METADATA_FOLDER, is_metadata_file, read_metadata
from iceberg_spark.catalog.own_folders import own_folders
from iceberg_spark.catalog.owned import at_the_ends, is_folder, owner_of, recorded_location
from iceberg_spark.catalog.versions import is_pointer
from iceberg_spark.errors import (
    CorruptFileError,
    StorageError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.places import Places
from iceberg_spark.spec.properties import GC_ENABLED, bool_property
from iceberg_spark.spec.snapshot import MetadataLogEntry

DATA_FOLDER = "data"
_ANYBODY = "not known"
_LOOKED_AT = 100
"""Metadata files to read at each end, to find their owner."""


def files_to_purge(io: FileIO, table: LoadedTable) -> tuple[str, ...]:
    """Return the files below a table's location (`recorded_location`) that are its own for certain.

    These are all files in its data and metadata folders, in a snapshot or not. Left out are tables
    below the location, other files there, and targets of links. Another table or a view may have
    metadata in the same folders: one that was renamed, dropped without its files, or registered
    twice. Then only the metadata files in the table's logs are returned: its readers know the files
    of its snapshots.

    Raises:
        ValidationException: `gc.enabled` is false.
    """
    check_purge(table)
    home = recorded_location(table)
    if home is None:
        return metadata_to_purge(io, table)
    own_files = _in_own_folders(table, home, [info.path for info in io.list(home)])
    metadata_files = [path for path in own_files if is_metadata_file(path)]
    named = _named(io, table, metadata_files)
    rest = [path for path in metadata_files if _normalised(path) not in named]
    return metadata_to_purge(io, table) if _is_shared(io, table, rest) else own_files


def metadata_to_purge(io: FileIO, table: LoadedTable) -> tuple[str, ...]:
    """Return the metadata files in a table's own folders that its logs, current and earlier, name.

    The table's UUID does not prove ownership: a table can be registered twice, and each
    registration has its own later versions.
    """
    home = recorded_location(table)
    folders = {location.parent(table.metadata_location)}
    if home is not None:
        folders.add(location.join(home, METADATA_FOLDER))
    listed = {info.path for folder in folders for info in io.list(folder)}
    own = _in_own_folders(table, home, sorted(listed))
    metadata_files = [path for path in own if is_metadata_file(path)]
    named = _named(io, table, metadata_files)
    return tuple(path for path in metadata_files if _normalised(path) in named)


def _in_own_folders(table: LoadedTable, home: str | None, listed: Sequence[str]) -> tuple[str, ...]:
    """Return the files in the data and metadata folders, without those of other tables."""
    places = Places()
    own = {places.folder(location.parent(table.metadata_location))}
    others = set(_tables(listed, places))
    if home is not None:
        root = places.folder(home)
        named = map(places.folder, own_folders(table.metadata))
        own |= {folder for folder in named if folder.startswith(f"{root}/")}
        own |= {f"{root}/{DATA_FOLDER}", f"{root}/{METADATA_FOLDER}"}
        others -= {root}
    return tuple(path for path in listed if _is_in(path, places, own, others))


def _named(io: FileIO, table: LoadedTable, metadata_files: Iterable[str]) -> set[str]:
    """Return the metadata files that a table names: its newest, those of its log and older ones.

    A log is short (`write.metadata.previous-versions-max`). So the log of its oldest file is read
    for older ones, as long as that is one of `metadata_files`.
    """
    readable = {_normalised(path): path for path in metadata_files}
    named = {_normalised(table.metadata_location)}
    log = table.metadata.metadata_log
    for _ in range(_LOOKED_AT):
        files = [_normalised(entry.metadata_file) for entry in log]
        oldest = readable.get(files[0]) if files else None
        is_new = oldest is not None and files[0] not in named
        named.update(files)
        if oldest is None or not is_new:
            break
        log = _log_of(io, oldest, table.metadata.table_uuid)
    return named


def _log_of(io: FileIO, path: str, table_uuid: str | None) -> tuple[MetadataLogEntry, ...]:
    """Return the log of an earlier metadata file of a table; empty if it cannot be read."""
    try:
        metadata = read_metadata(io, path)
    except (StorageError, CorruptFileError, UnsupportedError):
        return ()
    return metadata.metadata_log if metadata.table_uuid == table_uuid else ()


def _normalised(path: str) -> str:
    return location.normalise(path)


def _is_shared(io: FileIO, table: LoadedTable, paths: Sequence[str]) -> bool:
    """Return whether metadata files that a table does not name may belong to another owner.

    A table that is a folder cannot be registered twice: files with its UUID are its own.
    """
    own_ids = {None, table.metadata.table_uuid} if is_folder(table) else {None}
    return any(_owner(io, path) not in own_ids for path in at_the_ends(paths, _LOOKED_AT))


def _owner(io: FileIO, path: str) -> str | None:
    """Return the owner of a metadata file; a file that cannot be read may have any owner."""
    try:
        return owner_of(io, path)
    except (StorageError, UnsupportedError):
        return _ANYBODY


def check_purge(table: LoadedTable) -> None:
    """Refuse to delete files that the table shares (Java: Spark's DROP TABLE PURGE)."""
    if not bool_property(table.metadata.properties, GC_ENABLED):
        raise ValidationException(
            f"Can't purge {table.identifier}: '{GC_ENABLED}' is false, other tables may use its "
            f"files; drop it without purge, or set '{GC_ENABLED}' to true if none does"
        )


def _tables(listed: Sequence[str], places: Places) -> Iterator[str]:
    """Yield the folders of tables, recognised by their metadata files."""
    for path in listed:
        folder = location.parent(path)
        if is_pointer(path) and location.name(folder) == METADATA_FOLDER:
            yield places.folder(location.parent(folder))


def _is_in(path: str, places: Places, own: set[str], others: set[str]) -> bool:
    """Return whether the nearest owned folder above a file is the table's own."""
    folder = places.folder(location.parent(path))
    while folder not in others:
        if folder in own and not _is_table_in(folder, others):
            return True
        above = location.parent(folder)
        if len(above) >= len(folder):
            return False
        folder = above
    return False


def _is_table_in(folder: str, others: set[str]) -> bool:
    """Return whether a folder that is named as the table's own is part of another table."""
    return location.parent(folder) in others
