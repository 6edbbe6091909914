"""Tables that are folders: version N is `metadata/v<N>.metadata.json` (Java: HadoopCatalog).

A commit creates the file of the next version, which only one writer can do (specification: "File
System Tables"). A writer of another library that first checks and then renames, as Java does on
local disks, can still overwrite a version that was created in between.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from iceberg_spark.catalog.catalog import (
    Creation,
    LoadedTable,
    Namespaces,
    NewTable,
    TableChange,
    Views,
    one_table_only,
)
from iceberg_spark.catalog.folder_namespaces import FolderNamespaces, folder_of
from iceberg_spark.catalog.metadata_file import (
    METADATA_FOLDER,
    Codec,
    codec_of,
    digest_of,
    encode_metadata,
    is_metadata_file,
    load_version,
    read_metadata,
    version_of,
    versioned_name,
)
from iceberg_spark.catalog.new_version import another_came_first, create_version, unknown
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.catalog.versions import (
    FoundVersion,
    has_gone_on,
    hint_path,
    is_unchanged,
    newest_version,
    version_files,
    version_paths,
    write_hint,
)
from iceberg_spark.errors import (
    CommitFailedException,
    IcebergError,
    InvalidInputError,
    NoSuchFileError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.lazy import LazyFunction, LazyModule
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import METADATA_DELETE_AFTER_COMMIT_ENABLED, bool_property
from iceberg_spark.spec.requirements import TableRequirement, check
from iceberg_spark.spec.secrets import check_place
from iceberg_spark.spec.updates import TableUpdate

WAREHOUSE = "warehouse"
_TRIES_TO_READ = 3
_log = LazyModule("iceberg_spark.catalog.metadata_log")
_purge = LazyModule("iceberg_spark.catalog.purge")
_foreign_folder = LazyFunction("iceberg_spark.catalog.foreign_folder", "foreign_folder")
_apply: Callable[..., TableMetadata] = LazyFunction("iceberg_spark.spec.apply_updates", "apply")

_MOST_KNOWN = 16
"""Tables whose newest metadata one catalog caches."""


class FileSystemCatalog:
    """Tables by location, or by `db.table` below the property `warehouse`.

    It can read, but not change, a location that is a metadata file and a folder with a metastore's
    table.
    """

    __slots__ = ("_io", "_loaded", "_name", "_properties")

    def __init__(self, name: str, properties: Mapping[str, str] | None = None) -> None:
        self._name = name
        self._properties = dict(properties or {})
        self._io = open_storage(self._properties)
        self._loaded: dict[str, LoadedTable] = {}

    def __reduce__(self) -> tuple[type[FileSystemCatalog], tuple[str, dict[str, str]]]:
        return FileSystemCatalog, (self._name, self._properties)

    def __repr__(self) -> str:
        return f"FileSystemCatalog({self._name})"

    @property
    def name(self) -> str:
        """The catalog's name."""
        return self._name

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties that created it. They may hold secrets: never print them."""
        return MappingProxyType(self._properties)

    @property
    def namespaces(self) -> Namespaces | None:
        """The folders below the warehouse; None without a warehouse."""
        warehouse = self._properties.get(WAREHOUSE)
        if warehouse is None:
            return None
        return FolderNamespaces(self._name, self._io, location.absolute(warehouse))

    @property
    def views(self) -> Views | None:
        """None: it has no views."""
        return None

    def io(self, location: str) -> FileIO:  # noqa: ARG002 (one storage for every location)
        """Return storage for files of a table at this location."""
        return self._io

    def stage(self, identifier: str, creation: Creation) -> NewTable:
        """Prepare a table that `commit` creates."""
        table_location = self.location_of(identifier)
        return NewTable(creation(table_location), self.io(table_location))

    def location_of(self, identifier: str) -> str:
        """Return a table's location: the text itself, or `db.table` below the warehouse."""
        if location.is_absolute(identifier):
            return identifier.rstrip("/")
        warehouse = self._properties.get(WAREHOUSE)
        if warehouse is None:
            raise InvalidInputError(
                f"'{identifier}' is not a location; to name tables give catalog "
                f"'{self._name}' the property {WAREHOUSE}"
            )
        return folder_of(location.absolute(warehouse), tuple(identifier.split(".")))

    def load(self, identifier: str) -> LoadedTable:
        """Return the newest committed metadata.

        Raises NoSuchTableError, CorruptFileError, StorageError.
        """
        table = self.location_of(identifier)
        if is_metadata_file(table):
            return self._load_file(table)
        cached = self._loaded.get(table)
        if cached is not None and is_unchanged(
            self._io, table, cached.metadata_location, cached.tag
        ):
            return cached
        for _ in range(_TRIES_TO_READ):
            newest = newest_version(self._io, table)
            if newest is None:
                break
            try:
                loaded = load_version(self._io, table, newest.metadata_location, cached)
                return self._remember(table, replace(loaded, tag=newest.tag))
            except NoSuchFileError:  # deleted after a later commit: load again
                continue
        other = _foreign_folder(self._io, table)
        if other is not None:
            raise NoSuchTableError(f"No Iceberg table at {table}: {other}")
        raise NoSuchTableError(
            f"No table at {table}: there is no metadata file in its folder '{METADATA_FOLDER}'; "
            "give the location that holds that folder, or create the table"
        )

    def _remember(self, table: str, loaded: LoadedTable) -> LoadedTable:
        """Cache a version by the store's tag, so that an unchanged table is not read again.

        If versions are deleted after commits, the tag proves nothing. A version whose deletion
        failed is still there, and its next version may be deleted.
        """
        self._loaded.pop(table, None)
        if bool_property(loaded.metadata.properties, METADATA_DELETE_AFTER_COMMIT_ENABLED):
            return replace(loaded, tag="")
        if loaded.tag:
            self._loaded[table] = loaded
        while len(self._loaded) > _MOST_KNOWN:
            self._loaded.pop(next(iter(self._loaded)), None)
        return loaded

    def _load_file(self, path: str) -> LoadedTable:
        try:
            return load_version(self._io, path, path)
        except NoSuchFileError:
            raise NoSuchTableError(f"No table at {path}: there is no such file") from None

    def table_exists(self, identifier: str) -> bool:
        """Return whether the table exists."""
        table = self.location_of(identifier)
        if is_metadata_file(table):
            return self._io.exists(table)
        return newest_version(self._io, table) is not None

    def commit(
        self,
        identifier: str,
        requirements: Iterable[TableRequirement],
        updates: Iterable[TableUpdate],
        base: LoadedTable | None,
    ) -> LoadedTable:
        """Check requirements, apply updates, and create the file of the next version.

        Applies the updates to the newest metadata, which must be `base`: a snapshot prepared for
        older metadata has another sequence number.
        """
        table = self.location_of(identifier)
        check_place(table)
        if base is None:
            return self._create(table, tuple(requirements), tuple(updates))
        # `_put` proves by the tag that the base is still the newest when it creates the version.
        newest = base if base.tag else self._read_newest(table, base)
        check(newest.metadata, requirements)
        self._refuse_changed(newest, base)
        metadata = _apply(newest.metadata, updates, now_ms=_now_ms(newest.metadata))
        metadata = _log.with_log(metadata, newest)
        self._refuse_moved(newest.metadata, metadata)
        # Every writer of a version takes the codec of the version before it, and so one name:
        # with two spellings two writers could win.
        codec = codec_of(newest.metadata.properties)
        codec_of(metadata.properties)
        version = version_of(location.name(newest.metadata_location)) or 0
        committed = self._put(table, version + 1, metadata, codec, newest)
        with suppress(Exception):  # committed: a failure from here on is not the commit's
            _log.delete_dropped(self._io, newest, committed)
        return self._remember(table, committed)

    def _refuse_changed(self, current: LoadedTable, base: LoadedTable) -> None:
        table = current.identifier
        if not location.same_file(current.metadata_location, base.metadata_location):
            raise CommitFailedException(
                f"{table} was changed by another commit: it is at {current.metadata_location} now, "
                f"this commit was made for {base.metadata_location}"
            )
        if not _is_same(current, base):
            raise _replaced(base)

    def commit_tables(self, changes: Sequence[TableChange]) -> list[LoadedTable]:
        """Raise UnsupportedError: each table has its own folder."""
        raise one_table_only(self._name, [change.identifier for change in changes])

    def _committable(self, table: str) -> FoundVersion:
        if is_metadata_file(table):
            raise UnsupportedError(
                f"{table} is one metadata file and read-only: load the table by its location "
                "to change it"
            )
        newest = newest_version(self._io, table)
        if newest is None:
            raise NoSuchTableError(f"No table at {table}; it may have been dropped")
        if newest.version is None:
            raise UnsupportedError(
                f"{table} belongs to a catalog that keeps its own pointer "
                f"({location.name(newest.metadata_location)}), so changing it through its folder "
                "would not be seen there; load it through that catalog to change it"
            )
        return newest

    def _read_newest(self, table: str, base: LoadedTable) -> LoadedTable:
        newest = self._committable(table)
        same = location.same_file(newest.metadata_location, base.metadata_location)
        try:
            path = newest.metadata_location
            return load_version(self._io, base.identifier, path, base if same else None)
        except NoSuchFileError:
            raise CommitFailedException(
                f"{newest.metadata_location} was removed by a later commit"
            ) from None

    def _refuse_moved(self, before: TableMetadata, after: TableMetadata) -> None:
        if not location.same_file(before.location, after.location):
            raise UnsupportedError(
                f"A file-system table is its location: {before.location} can't be set to "
                f"{after.location}"
            )

    def _create(
        self,
        table: str,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> LoadedTable:
        newest = None if is_metadata_file(table) else newest_version(self._io, table)
        if newest is not None:
            raise TableAlreadyExistsError(f"A table is at {table} already")
        check(None, requirements)
        metadata = _apply(None, updates, now_ms=int(time.time() * 1000))
        try:
            codec_of(metadata.properties)
            # No earlier version decides the codec, so the first version has only one name.
            return self._put(table, 1, metadata, Codec.NONE)
        except CommitFailedException:
            raise TableAlreadyExistsError(f"A table is at {table} already") from None

    def _put(
        self,
        table: str,
        version: int,
        metadata: TableMetadata,
        codec: Codec,
        base: LoadedTable | None = None,
    ) -> LoadedTable:
        """Create a version's file, the one step that makes a commit visible."""
        path = location.join(table, METADATA_FOLDER, versioned_name(version, codec))
        data = encode_metadata(metadata, codec)
        self._look_before(table, version, base)
        create_version(self._io, path, data)
        own = table_io(self._io, path)
        put = LoadedTable(table, metadata, path, own, digest_of(data))
        try:
            tag = self._withdraw_if_late(table, version, put, base)
        except CommitFailedException:
            raise
        except IcebergError as error:
            raise unknown(path, error) from error
        with suppress(Exception):  # committed: a failure from here on is not the commit's
            write_hint(self._io, table, version)
        return replace(put, tag=tag)

    def _look_before(self, table: str, version: int, base: LoadedTable | None) -> None:
        """Raise CommitFailedException if the version exists or its base is gone."""
        paths = version_paths(table, version)
        earlier = () if base is None else (base.metadata_location, hint_path(table))
        existing = self._io.find([*earlier, *paths])
        other = next((path for path in paths if path in existing), None)
        if other is not None:
            raise another_came_first(other)
        if base is None or not base.tag:
            return
        if (
            base.metadata_location not in existing
            or existing[base.metadata_location].tag != base.tag
        ):
            raise _replaced(base)
        if has_gone_on(self._io, table, version - 1, existing, version - 1):
            raise CommitFailedException(f"Others came first: {table} has a later version")

    def _withdraw_if_late(
        self, table: str, version: int, put: LoadedTable, base: LoadedTable | None
    ) -> str:
        """Withdraw a version that came too late; otherwise return the tag of the created file."""
        if version == 1:
            self._withdraw_if_doubled(table, put)
        if base is None:
            return ""
        own = put.metadata_location
        there = self._io.find([base.metadata_location, own, hint_path(table)])
        tag = there[own].tag if own in there else ""
        is_gone = base.metadata_location not in there
        if is_gone or (tag and has_gone_on(self._io, table, version, there, version - 1)):
            self._withdraw_if_overtaken(table, base.metadata.snapshots, put)
        return tag

    def _withdraw_if_doubled(self, table: str, put: LoadedTable) -> None:
        """Withdraw a first version if another writer created a compressed one."""
        versions = version_files(self._io, table)
        first = [path for version, path in versions if version == 1]
        other = next((path for path in first if path != put.metadata_location), None)
        if other is None or (versions[-1][0] > 1 and self._is_built_upon(versions[-1][1], (), put)):
            return
        self._io.delete(put.metadata_location)
        raise another_came_first(other)

    def _withdraw_if_overtaken(self, table: str, before: Collection[int], put: LoadedTable) -> None:
        """Withdraw a version that was created after others had created and deleted it.

        Applies only if old metadata is deleted after commits. The version stays if others have
        built on it or deleted it since.
        """
        versions = version_files(self._io, table)
        if not versions or location.same_file(versions[-1][1], put.metadata_location):
            return
        if self._is_built_upon(versions[-1][1], before, put):
            return
        if self._io.exists(put.metadata_location):
            self._io.delete(put.metadata_location)
            raise CommitFailedException(f"Others came first: {table} is at {versions[-1][1]} now")

    def _is_built_upon(self, newest: str, before: Collection[int], put: LoadedTable) -> bool:
        """Return whether the newest version was derived from `put`.

        `put` added to the snapshots `before`. The newest log names `put` then, or the newest
        version has its snapshots.
        """
        metadata = read_metadata(self._io, newest)
        if any(entry.metadata_file == put.metadata_location for entry in metadata.metadata_log):
            return True
        added = put.metadata.snapshots.keys() - set(before)
        return bool(added) and added <= metadata.snapshots.keys()

    def drop_table(self, identifier: str, purge: bool = False) -> None:
        """Remove the table's metadata files, oldest first; with `purge` its data and metadata too.

        Files outside the table's folders stay (`purge.files_to_purge`); empty folders are removed.
        A commit between the listing and the removal goes unnoticed: a folder has no conditional
        removal.
        """
        table = self.location_of(identifier)
        if is_metadata_file(table) or not self.table_exists(identifier):
            raise NoSuchTableError(f"No table at {table} to drop")
        self._committable(table)
        dropped = self.load(identifier) if purge else None
        rest = _purge.files_to_purge(self._io, dropped) if dropped else ()
        pointers = [*(path for _, path in version_files(self._io, table)), hint_path(table)]
        self._io.delete_many(pointers)
        # Another table may be created here from now on, with the same paths for its pointers.
        removed = set(map(location.normalise, pointers))
        self._io.delete_many(path for path in rest if location.normalise(path) not in removed)
        if dropped is not None:
            remove_empty_folders(self._io, table, dropped.metadata)


def _replaced(base: LoadedTable) -> CommitFailedException:
    return CommitFailedException(
        f"{base.metadata_location} was replaced by another writer since it was read"
    )


def _is_same(newest: LoadedTable, base: LoadedTable) -> bool:
    """Return whether the file still has the bytes that `base` was read from."""
    if base.digest is None:
        return newest.metadata == base.metadata
    return newest.digest == base.digest


def _now_ms(base: TableMetadata) -> int:
    """Return the time, at least the base's: a clock that is behind must not reorder logs."""
    return max(int(time.time() * 1000), base.last_updated_ms)


def remove_empty_folders(io: FileIO, home: str, metadata: TableMetadata) -> None:
    """Remove a purged table's own folders and its home, each unless it contains a file.

    An empty home would be a namespace in a catalog of folders. Never fails: folders that cannot be
    removed stay.
    """
    within = f"{location.normalise(home)}/"
    own = [location.join(home, name) for name in (_purge.DATA_FOLDER, METADATA_FOLDER)]
    folders = _purge.own_folders(metadata)
    own += [folder for folder in folders if location.normalise(folder).startswith(within)]
    if location.is_local(home):
        for folder in own:
            for current, _, _ in os.walk(location.strip_scheme(folder), topdown=False):
                _remove_local(current)
        _remove_local(location.strip_scheme(home))
    elif location.store_of(home) in location.HADOOP:
        with suppress(IcebergError):
            used = _used(io, home)
            for folder in own:
                _remove(io, folder, used)
            _remove_one(io, home, used)


def _remove_local(folder: str) -> None:
    with suppress(OSError):  # the folder has a file
        os.rmdir(folder)


def _used(io: FileIO, home: str) -> set[str]:
    """Return the folders that contain a file at any depth."""
    used = set()
    for info in io.list(home):
        path = location.normalise(info.path)
        while len(above := location.parent(path)) < len(path):
            used.add(path := above)
    return used


def _remove(io: FileIO, folder: str, used: Collection[str]) -> None:
    for child in io.list_folders(folder):
        _remove(io, child, used)
    _remove_one(io, folder, used)


def _remove_one(io: FileIO, folder: str, used: Collection[str]) -> None:
    if location.normalise(folder) not in used:
        io.delete(folder)  # refused if the folder got a file since
