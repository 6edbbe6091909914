"""A catalog in this process's memory, for tests and trials.

It names its metadata files as a metastore does; catalogs of one name share their tables within a
process.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.pointer_catalog import Move, PointerCatalog
from iceberg_spark.io import location

_tables: dict[tuple[str, str], str] = {}
_swap = threading.Lock()


def memory_catalog(name: str, properties: Mapping[str, str] | None = None) -> PointerCatalog:
    """Return the catalog of that name; its tables' files go wherever their locations say."""
    given = properties or {}
    warehouse = given.get("warehouse", f"memory://{name}")
    return PointerCatalog(name, given, MemoryCatalog(name, warehouse), None, memory_catalog)


class MemoryCatalog:
    """A pointer for each table, moved under a lock."""

    __slots__ = ("_name", "_warehouse")

    def __init__(self, name: str, warehouse: str) -> None:
        self._name = name
        self._warehouse = warehouse

    def find(self, identifier: str) -> str | None:
        """Return where a table's newest metadata file is; None: there is no such table."""
        return _tables.get((self._name, identifier))

    def insert(self, made: LoadedTable) -> bool:
        """Add a table; False where the name is taken."""
        place = made.metadata_location
        with _swap:
            return _tables.setdefault((self._name, made.identifier), place) == place

    def move(self, base: LoadedTable, made: LoadedTable) -> bool:
        """Move a table's pointer; False where it isn't at `base`."""
        return self.move_all((Move(base, made),))

    def move_all(self, moves: Sequence[Move]) -> bool:
        """Move pointers of several tables at once; False, and none moved, where one can't be."""
        with _swap:
            fit = all(self.find(made.identifier) == base.metadata_location for base, made in moves)
            for made in [each.made for each in moves] if fit else ():
                _tables[self._name, made.identifier] = made.metadata_location
            return fit

    def remove(self, identifier: str) -> bool:
        """Forget a table; False where there is none."""
        return _tables.pop((self._name, identifier), None) is not None

    def default_location(self, identifier: str) -> str:
        """Return where a new table of that name goes."""
        return location.join(location.absolute(self._warehouse), *identifier.split("."))
