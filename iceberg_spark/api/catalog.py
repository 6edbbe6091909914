"""Catalogs as users see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iceberg_spark.api.new_table import create
from iceberg_spark.api.schema_input import SchemaInput
from iceberg_spark.api.table import Table
from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.registry import load_catalog as load
from iceberg_spark.catalog.table_name import TableName, table_name
from iceberg_spark.maintenance.drop import drop_table


class TableCatalog:
    """A named catalog: creates, loads and drops tables by "namespace.table"."""

    __slots__ = ("_catalog",)

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __repr__(self) -> str:
        return f"TableCatalog({self.name})"

    @property
    def name(self) -> str:
        """The catalog's name."""
        return self._catalog.name

    def load_table(self, identifier: TableName) -> Table:
        """Load a table. Raises NoSuchTableError."""
        return Table(self._catalog, self._catalog.load(table_name(identifier)))

    def create_table(
        self,
        identifier: TableName,
        schema: SchemaInput,
        *,
        partition_by: Sequence[str] | str = (),
        sort_order: Sequence[str] | str = (),
        properties: Mapping[str, str] | None = None,
    ) -> Table:
        """Create an empty table, as `iceberg_spark.create_table` does."""
        made = properties or {}
        return create(self._catalog, table_name(identifier), schema, partition_by, sort_order, made)

    def table_exists(self, identifier: TableName) -> bool:
        """Return whether there is a table of that name."""
        return self._catalog.table_exists(table_name(identifier))

    def drop_table(self, identifier: TableName, purge: bool = False) -> None:
        """Remove a table; with `purge` its files too, those in its own folders.

        Tables below its location and files that `add_files` took from elsewhere stay. Raises
        NoSuchTableError, and ValidationException for a purge where `gc.enabled` is false.
        """
        drop_table(self._catalog, table_name(identifier), purge=purge)


def load_catalog(name: str | None = None, **properties: str) -> TableCatalog:
    """Return a catalog by name: configured properties with those given laid over them.

    `type` is `filesystem` (or `hadoop`: tables below `warehouse`) or `memory`; configuration is
    PyIceberg's (.pyiceberg.yaml, PYICEBERG_CATALOG__NAME__...). Raises InvalidInputError.
    """
    return TableCatalog(load(name, **properties))
