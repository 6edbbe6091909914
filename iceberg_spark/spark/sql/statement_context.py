"""The catalogs and tables of one statement: all parts of it read the same versions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.registry import catalog_of, identifier_of, resolve, with_settings
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.session_catalogs import session_catalog
from iceberg_spark.spark.sql.current_namespace import Name, is_iceberg_table

Planned = TypeVar("Planned")


@dataclass(frozen=True, slots=True)
class StatementContext:
    """The catalogs, their settings, and the loaded tables of a statement that is being planned.

    Each is loaded once, so that all parts of the statement read the same versions.
    """

    spark: SparkSession
    _iceberg_namespaces: dict[Name, bool] = field(default_factory=dict)
    _settings: dict[str, dict[str, str]] = field(default_factory=dict)
    _catalogs: dict[str, Catalog] = field(default_factory=dict)
    _loaded: dict[tuple[str, str], LoadedTable] = field(default_factory=dict)
    _views: list[str] = field(default_factory=list)
    _planned: dict[tuple[str, Hashable], tuple[Any, tuple[str, ...]]] = field(default_factory=dict)

    def plan_view(self, name: str, version: Hashable, plan: Callable[[], Planned]) -> Planned:
        """Return the query of a view, which is planned once in a statement.

        Raises InvalidInputError if the statement reads more than MOST_VIEWS views.
        """
        cached = self._planned.get((name, version))
        if cached is not None:
            planned, names = cached
            self._count_views(names)
        else:
            first = len(self._views)
            self._count_views([name])
            planned = plan()
            self._planned[name, version] = planned, tuple(self._views[first:])
        result: Planned = planned
        return result

    def _count_views(self, names: Sequence[str]) -> None:
        self._views.extend(names)
        name = names[0]
        if len(self._views) > MOST_VIEWS:
            raise InvalidInputError(
                f"The statement reads more than {MOST_VIEWS:,} views, {name} "
                f"{self._views.count(name):,} times: views that read others several times double "
                "their number at each level. Store the rows of one of them in a table"
            )

    def is_table(self, name: Name) -> bool:
        """Return whether a full name belongs to an Iceberg catalog."""
        if name[:-1] not in self._iceberg_namespaces:
            self._iceberg_namespaces[name[:-1]] = is_iceberg_table(self.spark, name)
        return self._iceberg_namespaces[name[:-1]]

    def settings(self, name: str) -> dict[str, str]:
        """Return the properties that the session defines for a catalog."""
        if name not in self._settings:
            self._settings[name] = session_catalog(self.spark, name)
        return self._settings[name]

    def resolve(self, table: str) -> tuple[Catalog, str]:
        """Return the catalog of a table and its identifier there, as `registry.resolve`."""
        name = catalog_of(table)
        cached = None if name is None else self._catalogs.get(name)
        if cached is not None:
            return cached, identifier_of(table)
        catalog, identifier = resolve(table, with_settings(table, {}, self.settings))
        if name is not None:
            self._catalogs[name] = catalog
        return catalog, identifier

    def load(self, catalog: Catalog, identifier: str) -> LoadedTable:
        """Load a table, once. Raises NoSuchTableError, NoSuchNamespaceError."""
        key = catalog.name, identifier
        if key not in self._loaded:
            self._loaded[key] = catalog.load(identifier)
        return self._loaded[key]


MOST_VIEWS = 1_000
"""Views that one statement reads, repeated ones counted each time. Each takes 10 ms to plan, and a
view that reads the one below it twice doubles their number: 20 such levels would take hours."""
