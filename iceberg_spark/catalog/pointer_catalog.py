"""Tables of a catalog that stores one pointer per table: the location of its newest metadata file.

A commit writes a metadata file of a new name and moves the pointer from the file that it was
derived from to the new one. Only one of several writers can do so (Java:
BaseMetastoreTableOperations).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from iceberg_spark.catalog.catalog import (
    Creation,
    LoadedTable,
    Namespaces,
    NewTable,
    TableChange,
    Views,
    one_table_only,
)
from iceberg_spark.catalog.metadata_file import (
    codec_of,
    digest_of,
    encode_metadata,
    load_version,
    metadata_location,
    number_of,
    numbered_name,
)
from iceberg_spark.catalog.metadata_log import delete_dropped, with_log
from iceberg_spark.catalog.new_version import unknown
from iceberg_spark.catalog.owned import recorded_location
from iceberg_spark.catalog.pointer_views import PointerViews, ViewPointers, was_sent_again
from iceberg_spark.catalog.purge import check_purge, files_to_purge
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.catalog.trust import Trust
from iceberg_spark.errors import (
    CommitFailedException,
    CorruptFileError,
    IcebergError,
    InvalidInputError,
    NoSuchFileError,
    NoSuchTableError,
    StorageError,
    TableAlreadyExistsError,
)
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import TableRequirement, check
from iceberg_spark.spec.secrets import check_place
from iceberg_spark.spec.updates import TableUpdate

_TRIES = 4
"""How often to repeat a move without a response, or the read of a file that was just replaced."""
_LONGEST_PAUSE = 5.0  # seconds


class Move(NamedTuple):
    """The move of a table's pointer from `base` to `made`."""

    base: LoadedTable
    created: LoadedTable


class Pointers(Protocol):
    """The location of each table's newest metadata file.

    After a StorageError the outcome is unknown; every other IcebergError is a refusal.
    """

    def find(self, identifier: str) -> str | None:
        """Return the location of a table's newest metadata file, None if there is no table."""
        ...

    def insert(self, created: LoadedTable) -> bool:
        """Add a table; False if the name is taken."""
        ...

    def move(self, base: LoadedTable, created: LoadedTable) -> bool:
        """Move a table's pointer; False if it is not at `base`."""
        ...

    def move_all(self, moves: Sequence[Move]) -> bool:
        """Move several pointers in one step; False, without any move, if one is not at its base.

        Raises UnsupportedError if pointers can only be moved one by one.
        """
        ...

    def remove(self, identifier: str, expected: str | None = None) -> bool:
        """Remove a table's pointer; False if there is none, or it differs from `expected`."""
        ...

    def default_location(self, identifier: str) -> str:
        """Return the location of a new table of this name."""
        ...


class _New(NamedTuple):
    """The base of a table that is created: it has no pointer yet."""

    base: None
    created: LoadedTable


_Written: TypeAlias = Move | _New
"""A table's new metadata file and the change that it was written for."""


class PointerCatalog:
    """Loads, commits and drops by the pointers of a store."""

    __slots__ = ("_io", "_made_by", "_name", "_namespaces", "_pointers", "_properties", "_trust",
                 "_views")  # fmt: skip

    def __init__(
        self,
        name: str,
        properties: Mapping[str, str],
        pointers: Pointers,
        namespaces: Namespaces | None,
        made_by: Callable[[str, dict[str, str]], PointerCatalog],
        views: ViewPointers | None = None,
    ) -> None:
        """`made_by` creates the catalog in another process; `views` is None without views."""
        self._name = name
        self._properties = dict(properties)
        self._pointers = pointers
        self._namespaces = namespaces
        self._made_by = made_by
        self._io = open_storage(self._properties)
        self._trust = Trust(name, self._properties)
        self._views = None if views is None else PointerViews(name, views, self._io, self._trust)

    def __reduce__(self) -> tuple[Callable[..., PointerCatalog], tuple[str, dict[str, str]]]:
        return self._made_by, (self._name, self._properties)

    def __repr__(self) -> str:
        return f"{type(self._pointers).__name__}({self._name})"

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
        """Its namespaces and tables; None if it keeps no list."""
        return self._namespaces

    @property
    def views(self) -> Views | None:
        """Its views; None if it supports none."""
        return self._views

    def io(self, location: str) -> FileIO:  # noqa: ARG002 (one storage for every location)
        """Return storage for files of a new table at this location."""
        return self._io

    def stage(self, identifier: str, creation: Creation) -> NewTable:
        """Prepare a table that `commit` creates."""
        table_location = self.location_of(identifier)
        return NewTable(creation(table_location), self.io(table_location))

    def location_of(self, identifier: str) -> str:
        """Return the location of a new table of this name.

        Raises InvalidInputError for a name that leads out of its namespace's folder.
        """
        if "/" in identifier or any(part in ("", ".", "..") for part in identifier.split(".")):
            raise InvalidInputError(
                f"{identifier} is a path: tables of catalog '{self._name}' have names, and "
                "lie in the folder of their namespace. Give the table a location if it is to lie "
                "elsewhere"
            )
        return self._pointers.default_location(identifier)

    def load(self, identifier: str) -> LoadedTable:
        """Return the newest committed metadata.

        Raises:
            NoSuchTableError: there is no table of this name.
            CorruptFileError: the metadata cannot be decoded, or the file that the catalog names is
                missing. Then the table is broken, not absent.
            StorageError: the catalog or the storage fails.
            UnsupportedError: the catalog of another machine names a local path.
        """
        path = self._find(identifier)
        for _ in range(_TRIES):
            self._trust.check_local(path)
            try:
                return self._recorded(load_version(self._io, identifier, path))
            except NoSuchFileError:  # deleted after a later commit, or missing: load again
                before, path = path, self._find(identifier)
                if path == before:
                    break
        raise CorruptFileError(
            f"Table {identifier} of catalog '{self._name}' is at {path}, and there is no such file"
        )

    def _recorded(self, table: LoadedTable) -> LoadedTable:
        """Return a table with the location that the catalog has for its name, if it is there.

        Needed only if the metadata file is elsewhere; by default it is below the location.
        """
        if recorded_location(table) is not None:
            return table
        # Without a location from the catalog, the table owns fewer files.
        with suppress(IcebergError):
            default = self.location_of(table.identifier)
            if location.same_file(default, table.metadata.location):
                return replace(table, recorded_location=default)
        return table

    def _find(self, identifier: str) -> str:
        path = self._pointers.find(identifier)
        if path is None:
            raise NoSuchTableError(f"No table {identifier} in catalog '{self._name}'")
        return path

    def table_exists(self, identifier: str) -> bool:
        """Return whether the table exists."""
        return self._pointers.find(identifier) is not None

    def commit(
        self,
        identifier: str,
        requirements: Iterable[TableRequirement],
        updates: Iterable[TableUpdate],
        base: LoadedTable | None,
    ) -> LoadedTable:
        """Check requirements, apply updates, and move the pointer from `base` to a new file."""
        change = TableChange(identifier, tuple(requirements), tuple(updates), base)
        if base is None:
            return self._create(change)
        move = self._next(change, base)
        self._settle((move,), lambda: self._pointers.move(*move))
        return move.created

    def commit_tables(self, changes: Sequence[TableChange]) -> list[LoadedTable]:
        """Move the pointers of several existing tables in one step, or none."""
        bases = [change.base for change in changes if change.base is not None]
        if len(bases) < len(changes):
            raise one_table_only(self._name, [change.identifier for change in changes])
        written: list[Move] = []
        try:
            for change, base in zip(changes, bases, strict=True):
                written.append(self._next(change, base))
        except BaseException:
            for move in written:
                self._forget(move.created)
            raise
        self._settle(written, lambda: self._pointers.move_all(written))
        return [move.created for move in written]

    def _next(self, change: TableChange, base: LoadedTable) -> Move:
        """Write the metadata file that a change derives from its base, which must be the newest."""
        identifier = change.identifier
        before = self._find(identifier)
        if before != base.metadata_location:
            raise self._overtaken(identifier, base, before)
        check(base.metadata, change.requirements)
        now_ms = max(int(time.time() * 1000), base.metadata.last_updated_ms)
        metadata = with_log(apply(base.metadata, change.updates, now_ms=now_ms), base)
        version = (number_of(location.name(before)) or 0) + 1
        folder = _metadata_folder(base, metadata)
        return Move(base, self._write(identifier, metadata, version, folder))

    def _create(self, change: TableChange) -> LoadedTable:
        identifier = change.identifier
        if self._pointers.find(identifier) is not None:
            raise self._taken(identifier)
        check(None, change.requirements)
        metadata = apply(None, change.updates, now_ms=int(time.time() * 1000))
        check_place(metadata.location)
        created = self._write(identifier, metadata, 0)
        self._settle((_New(None, created),), lambda: self._pointers.insert(created))
        return created

    def _write(
        self, identifier: str, metadata: TableMetadata, version: int, folder: str | None = None
    ) -> LoadedTable:
        """Write a metadata file to a folder, None: to the metadata's own location."""
        codec = codec_of(metadata.properties)
        name = numbered_name(version, str(uuid.uuid4()), codec)
        path = location.join(folder, name) if folder else metadata_location(metadata, name)
        data = encode_metadata(metadata, codec)
        self._io.create_if_absent(path, data)
        io = table_io(self._io, path)
        return LoadedTable(identifier, metadata, path, io, digest_of(data))

    def _settle(self, written: Sequence[_Written], ask: Callable[[], bool]) -> None:
        """Move pointers; repeat a request without a response, for only one of them can succeed.

        The names of the files belong to this commit alone. So a second move fails if the first one
        succeeded or another commit won, and the newest log shows which. One table decides for all.
        """
        first = written[0].created
        pauses = wait_random_exponential(multiplier=0.1, max=_LONGEST_PAUSE)
        asking = Retrying(
            retry=retry_if_exception_type(StorageError),
            stop=stop_after_attempt(_TRIES),
            wait=pauses,
            reraise=True,
        )
        try:
            landed = asking(ask) or (was_sent_again(asking) and self._have_landed(written))
        except IcebergError as error:
            if isinstance(error, StorageError) or was_sent_again(asking):
                raise unknown(first.metadata_location, error) from error
            self._forget_all(written)
            raise
        if not landed:
            self._forget_all(written)
            raise self._refused(written)
        with suppress(Exception):  # committed: a failure from here on is not the commit's
            for base, created in written:
                if base is not None:
                    delete_dropped(self._io, base, created)

    def _refused(self, written: Sequence[_Written]) -> IcebergError:
        for base, created in written:
            if base is None:
                return self._taken(created.identifier)
            now = self._find(created.identifier)
            if now != base.metadata_location:
                return self._overtaken(created.identifier, base, now)
        names = ", ".join(created.identifier for _, created in written)
        return CommitFailedException(f"{names} can't be changed at once now: try again")

    def _forget_all(self, written: Sequence[_Written]) -> None:
        for written_table in written:
            self._forget(written_table.created)

    def _forget(self, created: LoadedTable) -> None:
        with suppress(IcebergError):  # nothing names the file; orphan removal finds it
            self._io.delete(created.metadata_location)

    def _have_landed(self, written: Sequence[_Written]) -> bool:
        """Return whether all moves succeeded, by one table. Raises StorageError: unknown."""
        unclear: StorageError | None = None
        for written_table in written:
            try:
                return self._has_landed(written_table.created, written_table.base)
            except StorageError as error:
                unclear = error
        assert unclear is not None  # noqa: S101 (there is at least one table)
        raise unclear

    def _has_landed(self, created: LoadedTable, base: LoadedTable | None) -> bool:
        """Return whether a move succeeded, by the newest metadata. StorageError: unknown."""
        identifier = created.identifier
        path = self._pointers.find(identifier)
        if path == created.metadata_location:
            return True
        if path is None:  # it may have been committed and renamed since: then the file is in use
            raise StorageError(f"{identifier} is no longer in catalog '{self._name}'")
        newest = load_version(self._io, identifier, path).metadata
        if base is None:
            return newest.table_uuid == created.metadata.table_uuid
        files = [entry.metadata_file for entry in newest.metadata_log] + [path]
        if base.metadata_location not in files:
            raise StorageError(f"The log of {path} does not reach back to {base.metadata_location}")
        return files[files.index(base.metadata_location) + 1] == created.metadata_location

    def _taken(self, identifier: str) -> TableAlreadyExistsError:
        return TableAlreadyExistsError(f"Table {identifier} is in catalog '{self._name}' already")

    def _overtaken(self, identifier: str, base: LoadedTable, now: str) -> CommitFailedException:
        return CommitFailedException(
            f"{identifier} was changed by another commit: it is at {now} now, this commit was "
            f"made for {base.metadata_location}"
        )

    def drop_table(self, identifier: str, purge: bool = False) -> None:
        """Remove the table from the catalog; with `purge` also its files (`files_to_purge`).

        Raises:
            NoSuchTableError: there is no table of this name.
            CommitFailedException: another writer changed the table (only with `purge`).
        """
        if purge:
            table = self.load(identifier)
            self.remove(table)
            self._io.delete_many(files_to_purge(self._io, table))
        elif not self._pointers.remove(identifier):
            raise NoSuchTableError(f"No table {identifier} in catalog '{self._name}' to drop")

    def remove(self, table: LoadedTable) -> None:
        """Remove a table's pointer if the table is still at this version; its files stay.

        Required before its files are deleted: a renamed table is in use under its new name.

        Raises:
            CommitFailedException: the pointer has moved.
            ValidationException: `gc.enabled` is false.
        """
        check_purge(table)
        if not self._pointers.remove(table.identifier, table.metadata_location):
            raise CommitFailedException(
                f"{table.identifier} was changed by another commit, or is another table now; "
                "nothing was dropped: try again"
            )


def _metadata_folder(base: LoadedTable, metadata: TableMetadata) -> str | None:
    """Return the folder of the base's metadata file, None if the change moves the metadata.

    By this folder the catalog knows where the table is (`owned.recorded_location`). Metadata that
    names another location must not move the table there by the user's next commit.
    """
    is_moved = metadata_location(base.metadata, "") != metadata_location(metadata, "")
    return None if is_moved else location.parent(base.metadata_location)
