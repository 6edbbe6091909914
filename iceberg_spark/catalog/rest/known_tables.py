"""Recently loaded tables, and the tags by which the server knows whether they have changed."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

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

    __slots__ = ("_lock", "_staged", "_tables")

    def __init__(self) -> None:
        self._tables: OrderedDict[str, Tagged] = OrderedDict()
        self._staged: OrderedDict[str, FileIO] = OrderedDict()
        self._lock = threading.Lock()

    def stage(self, location: str, io: FileIO) -> None:
        """Cache the storage of a table that is about to be created."""
        with self._lock:
            self._staged[location] = io
            while len(self._staged) > _MOST_TABLES:
                self._staged.popitem(last=False)

    def staged(self, location: str) -> FileIO | None:
        """Return the cached storage of a location."""
        with self._lock:
            return self._staged.pop(location, None)

    def find(self, identifier: str) -> Tagged | None:
        """Return a table that can be requested by its tag."""
        with self._lock:
            tagged = self._tables.get(identifier)
        return tagged if tagged is not None and time.monotonic() < tagged.until else None

    def keep(self, table: LoadedTable, tag: str | None, until: float | None = None) -> None:
        """Cache a table if the server sent a tag for it; a commit keeps its `until`."""
        with self._lock:
            self._tables.pop(table.identifier, None)
            if tag:
                ends = time.monotonic() + _FRESH_S if until is None else until
                self._tables[table.identifier] = Tagged(table, tag, ends)
            while len(self._tables) > _MOST_TABLES:
                self._tables.popitem(last=False)

    def forget(self, identifier: str) -> None:
        """Drop a table that was dropped or renamed."""
        with self._lock:
            self._tables.pop(identifier, None)
