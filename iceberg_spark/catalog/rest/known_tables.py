"""Recently loaded tables, and the tags by which the server knows whether they have changed."""

from __future__ import annotations

import time
from dataclasses import dataclass

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.io.file_io import FileIO

_MOST_TABLES = 32
_FRESH_S = 300.0
"""How long to request a table by its tag; afterwards new credentials are requested too."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """A table as last loaded, and the server's tag for it."""

    table: LoadedTable
    tag: str
    until: float


class KnownTables:
    """The last tables that one catalog loaded; thread-safe."""

    __slots__ = ("_staged", "_tables")

    def __init__(self) -> None:
        self._tables = BoundedCache(_MOST_TABLES)
        self._staged = BoundedCache(_MOST_TABLES)

    def stage(self, location: str, io: FileIO) -> None:
        """Cache the storage of a table that is about to be created."""
        self._staged.put(location, io)

    def staged(self, location: str) -> FileIO | None:
        """Remove and return the cached storage of a location."""
        io: FileIO | None = self._staged.pop(location)
        return io

    def find(self, identifier: str) -> Tagged | None:
        """Return a table that can be requested by its tag."""
        tagged: Tagged | None = self._tables.get(identifier)
        return tagged if tagged is not None and time.monotonic() < tagged.until else None

    def keep(self, table: LoadedTable, tag: str | None, until: float | None = None) -> None:
        """Cache a table if the server sent a tag for it; a commit keeps its `until`."""
        if tag:
            ends = time.monotonic() + _FRESH_S if until is None else until
            self._tables.put(table.identifier, Tagged(table, tag, ends))
        else:
            self._tables.pop(table.identifier)

    def forget(self, identifier: str) -> None:
        """Drop a table that was dropped or renamed."""
        self._tables.pop(identifier)
