"""What keeps a table small, as methods of `t.maintenance`."""

from __future__ import annotations

from collections.abc import Callable

from iceberg_spark.catalog.catalog import Catalog, LoadedTable


class Maintenance:
    """Maintenance of one table; each method commits by itself and moves the table on."""

    __slots__ = ("_catalog", "_loaded", "_take")

    def __init__(
        self, catalog: Catalog, loaded: LoadedTable, take: Callable[[LoadedTable], None]
    ) -> None:
        self._catalog = catalog
        self._loaded = loaded
        self._take = take

    def __repr__(self) -> str:
        return f"Maintenance of {self._loaded.identifier}"
