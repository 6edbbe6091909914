"""A catalog in this process's memory: a pointer for each table, swapped under a lock.

Shipped for tests and trials. It names its metadata files as a metastore does; catalogs of one
name share their tables within a process.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.metadata_file import (
    codec_of,
    encode_metadata,
    metadata_location,
    number_of,
    numbered_name,
)
from iceberg_spark.catalog.metadata_log import delete_dropped, with_log
from iceberg_spark.catalog.purge import check_purge, files_to_purge
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.errors import CommitFailedException, NoSuchTableError, TableAlreadyExistsError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.check_requirements import check
from iceberg_spark.spec.requirements import TableRequirement
from iceberg_spark.spec.secrets import check_place
from iceberg_spark.spec.updates import TableUpdate

_tables: dict[tuple[str, str], LoadedTable] = {}
_swap = threading.Lock()


class MemoryCatalog:
    """Tables of this process, under any names; their files go wherever their locations say."""

    __slots__ = ("_io", "_name", "_properties")

    def __init__(self, name: str, properties: Mapping[str, str] | None = None) -> None:
        self._name = name
        self._properties = dict(properties or {})
        self._io = open_storage(self._properties)

    def __reduce__(self) -> tuple[type[MemoryCatalog], tuple[str, dict[str, str]]]:
        return MemoryCatalog, (self._name, self._properties)

    def __repr__(self) -> str:
        return f"MemoryCatalog({self._name})"

    @property
    def name(self) -> str:
        """The catalog's name."""
        return self._name

    @property
    def properties(self) -> Mapping[str, str]:
        """What it was made from (may hold secrets: never print)."""
        return MappingProxyType(self._properties)

    @property
    def namespaces(self) -> None:
        """No list of tables is kept."""
        return

    def io(self, location: str) -> FileIO:  # noqa: ARG002 (one storage for every location)
        """Return storage for files of a table at this location."""
        return self._io

    def location_of(self, identifier: str) -> str:
        """Return where a new table of that name goes."""
        if location.is_absolute(identifier):
            return identifier.rstrip("/")
        warehouse = self._properties.get("warehouse", f"memory://{self._name}")
        return location.join(location.absolute(warehouse), *identifier.split("."))

    def load(self, identifier: str) -> LoadedTable:
        """Return the newest committed metadata. Raises NoSuchTableError."""
        found = _tables.get((self._name, identifier))
        if found is None:
            raise NoSuchTableError(f"No table {identifier} in catalog '{self._name}'")
        return replace(found, io=table_io(self._io, found.metadata, found.metadata_location))

    def table_exists(self, identifier: str) -> bool:
        """Return whether there is a table."""
        return (self._name, identifier) in _tables

    def commit(
        self,
        identifier: str,
        requirements: Iterable[TableRequirement],
        updates: Iterable[TableUpdate],
        base: LoadedTable | None,
    ) -> LoadedTable:
        """Check requirements, apply updates, swap the pointer."""
        with _swap:
            newest = _tables.get((self._name, identifier))
            if base is None and newest is not None:
                raise TableAlreadyExistsError(
                    f"Table {identifier} is in catalog '{self._name}' already"
                )
            if base is not None and newest is None:
                raise NoSuchTableError(f"No table {identifier} in catalog '{self._name}'")
            check(newest.metadata if newest else None, requirements)
            if newest and base and newest.metadata_location != base.metadata_location:
                raise CommitFailedException(
                    f"{identifier} was changed by another commit: it is at "
                    f"{newest.metadata_location} now, this commit was made for "
                    f"{base.metadata_location}"
                )
            committed = self._write(identifier, tuple(updates), newest)
            _tables[self._name, identifier] = committed
        if newest is not None:
            with suppress(Exception):  # it has landed: no failure from here on is the commit's
                delete_dropped(self._io, newest, committed)
        return committed

    def _write(
        self, identifier: str, updates: tuple[TableUpdate, ...], newest: LoadedTable | None
    ) -> LoadedTable:
        now_ms = int(time.time() * 1000)
        if newest is None:
            metadata = apply(None, updates, now_ms=now_ms)
            check_place(metadata.location)
            version = 0
        else:
            now_ms = max(now_ms, newest.metadata.last_updated_ms)
            metadata = with_log(apply(newest.metadata, updates, now_ms=now_ms), newest)
            version = (number_of(location.name(newest.metadata_location)) or 0) + 1
        codec = codec_of(metadata.properties)
        path = metadata_location(metadata, numbered_name(version, str(uuid.uuid4()), codec))
        self._io.create_if_absent(path, encode_metadata(metadata, codec))
        return LoadedTable(identifier, metadata, path, table_io(self._io, metadata, path))

    def drop_table(self, identifier: str, purge: bool = False) -> None:
        """Forget the table; with `purge` remove its data and metadata (`files_to_purge`)."""
        with _swap:
            found = _tables.get((self._name, identifier))
            if found is None:
                raise NoSuchTableError(f"No table {identifier} in catalog '{self._name}' to drop")
            if purge:
                check_purge(found)
            del _tables[self._name, identifier]
        if purge:
            self._io.delete_many(files_to_purge(self._io, found, found.metadata.location))
