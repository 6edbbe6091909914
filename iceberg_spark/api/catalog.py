"""Catalogs as users see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from iceberg_spark.api import deferred_catalog as deferred
from iceberg_spark.api.table import Table
from iceberg_spark.api.view import View, create_or_replace, new_view, views_of
from iceberg_spark.catalog.catalog import Catalog, Name, Namespaces
from iceberg_spark.catalog.config import default_catalog
from iceberg_spark.catalog.registry import load_catalog as load
from iceberg_spark.catalog.registry import overlaid
from iceberg_spark.catalog.table_name import TableName, check_part, property_texts, table_name
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import session_settings
from iceberg_spark.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.spec.secrets import check_place


@dataclass(frozen=True, slots=True)
class PropertiesUpdateSummary:
    """Names of a namespace's properties that were removed, set, or to be removed and not there."""

    removed: list[str]
    updated: list[str]
    missing: list[str]


class TableCatalog:
    """A named catalog of tables, each called "namespace.table" or by the tuple of these."""

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
        schema: deferred.SchemaInput,
        *,
        partition_by: Sequence[str] | str = (),
        sort_order: Sequence[str] | str = (),
        properties: Mapping[str, str] | None = None,
    ) -> Table:
        """Create an empty table, as `iceberg_spark.create_table` does.

        Raises TableAlreadyExistsError, NoSuchNamespaceError.
        """
        name, table_properties = table_name(identifier), properties or {}
        return deferred.create(
            self._catalog, name, schema, partition_by, sort_order, table_properties
        )

    def transaction(self) -> deferred.CatalogTransaction:
        """Return a transaction of several tables: `with cat.transaction() as tx: ...`."""
        return deferred.CatalogTransaction(self._catalog)

    def table_exists(self, identifier: TableName) -> bool:
        """Return whether there is a table of that name."""
        return self._catalog.table_exists(table_name(identifier))

    def drop_table(
        self, identifier: TableName, purge: bool = False, *, delete_outside: bool = False
    ) -> None:
        """Remove a table; with `purge` its files below its location as well.

        Tables below its location stay, and so do files elsewhere: those that `add_files` took, or
        that a `write.data.path` elsewhere holds. A purge with `delete_outside` deletes these too.
        Raises NoSuchTableError, and ValidationException for a purge where `gc.enabled` is false.
        """
        deferred.drop_table(
            self._catalog, table_name(identifier), purge=purge, delete_outside=delete_outside
        )

    def purge_table(self, identifier: TableName) -> None:
        """Remove a table and its files: `drop_table(identifier, purge=True)`."""
        self.drop_table(identifier, purge=True)

    def list_tables(self, namespace: TableName) -> list[Name]:
        """Return the tables in a namespace, as tuples; `()` is the root.

        Raises NoSuchNamespaceError.
        """
        return self._listed.list_tables(_parts_or_root(namespace))

    def rename_table(self, from_identifier: TableName, to_identifier: TableName) -> Table:
        """Rename a table; its files are not moved.

        Raises NoSuchTableError, NoSuchNamespaceError, TableAlreadyExistsError.
        """
        self._listed.rename_table(table_name(from_identifier), table_name(to_identifier))
        return self.load_table(to_identifier)

    def register_table(self, identifier: TableName, metadata_location: str) -> Table:
        """Add a table that is there already, at one of its metadata files.

        Raises TableAlreadyExistsError, NoSuchNamespaceError, NoSuchFileError.
        """
        name, listed = table_name(identifier), self._listed
        check_place(metadata_location)
        # A REST server has credentials that this process lacks.
        if not isinstance(self._catalog, deferred.RestCatalog):
            deferred.read_metadata(self._catalog.io(metadata_location), metadata_location)
        if not listed.register_table(name, metadata_location):
            raise TableAlreadyExistsError(f"Table {name} is in catalog '{self.name}' already")
        return self.load_table(name)

    def list_namespaces(self, parent: TableName = ()) -> list[Name]:
        """Return the namespaces right below one, as tuples. Raises NoSuchNamespaceError."""
        return self._listed.list_namespaces(_parts_or_root(parent))

    def namespace_exists(self, namespace: TableName) -> bool:
        """Return whether there is such a namespace."""
        return self._listed.exists(_parts_or_root(namespace))

    def create_namespace(
        self, namespace: TableName, properties: Mapping[str, str] | None = None
    ) -> None:
        """Create a namespace; its property `location` is the default location of its tables.

        Raises NamespaceAlreadyExistsError.
        """
        self._listed.create(_parts(namespace), property_texts(properties or {}))

    def create_namespace_if_not_exists(
        self, namespace: TableName, properties: Mapping[str, str] | None = None
    ) -> None:
        """Create a namespace; one that exists stays unchanged."""
        if self.namespace_exists(namespace):
            return
        try:
            self.create_namespace(namespace, properties)
        except NamespaceAlreadyExistsError:
            return

    def drop_namespace(self, namespace: TableName, *, cascade: bool = False) -> None:
        """Remove an empty namespace; with `cascade` also everything in it. Files stay.

        Raises NoSuchNamespaceError, and NamespaceNotEmptyError if it is not empty, or with
        `cascade` if something in it cannot be dropped. Nothing is dropped then.
        """
        if cascade:
            deferred.drop_with_all(self._catalog, self._listed, _parts(namespace))
        else:
            self._listed.drop(_parts(namespace))

    def load_namespace_properties(self, namespace: TableName) -> dict[str, str]:
        """Return a namespace's properties. Raises NoSuchNamespaceError."""
        return self._listed.properties(_parts_or_root(namespace))

    def update_namespace_properties(
        self,
        namespace: TableName,
        removals: Iterable[str] = (),
        updates: Mapping[str, str] | None = None,
    ) -> PropertiesUpdateSummary:
        """Remove properties of a namespace and set others, at once; returns the changes.

        Raises NoSuchNamespaceError, and InvalidInputError for one that is removed and set.
        """
        gone, texts = set(removals), property_texts(updates or {})
        both = gone & texts.keys()
        if both:
            raise InvalidInputError(f"Removed and set at once: {', '.join(sorted(both))}")
        parts, listed = _parts(namespace), self._listed
        before = listed.properties(parts)
        listed.update_properties(parts, gone, texts)
        return PropertiesUpdateSummary(
            removed=sorted(gone & before.keys()),
            updated=sorted(texts),
            missing=sorted(gone - before.keys()),
        )

    def list_views(self, namespace: TableName) -> list[Name]:
        """Return the views in a namespace, as tuples; `()` is the root.

        Raises NoSuchNamespaceError, UnsupportedError (no views).
        """
        return views_of(self._catalog).list_views(_parts_or_root(namespace))

    def view_exists(self, identifier: TableName) -> bool:
        """Return whether there is a view of that name. Raises UnsupportedError (no views)."""
        return views_of(self._catalog).exists(table_name(identifier))

    def load_view(self, identifier: TableName) -> View:
        """Load a view: its columns, texts and history. Raises NoSuchViewError."""
        name = table_name(identifier)
        return View(name, views_of(self._catalog).load(name))

    def create_view(
        self,
        identifier: TableName,
        sql: str,
        *,
        columns: Sequence[str] | Mapping[str, str] = (),
        namespace: TableName | None = None,
        properties: Mapping[str, str] | None = None,
        location: str | None = None,
        or_replace: bool = False,
        spark: on_spark.SparkSession | None = None,
    ) -> View:
        """Create a view of a query in Spark's SQL, which the active session analyses.

        Names in the query without a catalog are in this catalog. Tables without a namespace are in
        `namespace`, by default the view's own. `columns` are the view's column names, or names with
        comments. `location` is the folder of its files, by default the catalog's choice. With
        `or_replace` an existing view gets the new definition, and keeps its location unless
        `location` is set. Raises ViewAlreadyExistsError, NoSuchNamespaceError,
        InvalidInputError (also for a table's folder), and Spark's errors.
        """
        name, views = table_name(identifier), views_of(self._catalog)
        default = _parts(name)[:-1] if namespace is None else _parts_or_root(namespace)
        texts = property_texts(properties or {})
        if location is not None:
            location = deferred.chosen_location(self._catalog, name, location)
        definition = new_view(spark, self._catalog, name, sql, default, columns, texts)
        view = replace(definition, location=location)
        make = partial(create_or_replace, views) if or_replace else views.create
        return View(name, make(name, view))

    def drop_view(self, identifier: TableName) -> None:
        """Remove a view; the tables that it reads stay. Raises NoSuchViewError."""
        views_of(self._catalog).drop(table_name(identifier))

    def rename_view(self, from_identifier: TableName, to_identifier: TableName) -> View:
        """Give a view another name; names in its text stay what they stood for.

        Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError.
        """
        old, new = table_name(from_identifier), table_name(to_identifier)
        views_of(self._catalog).rename(old, new)
        return self.load_view(new)

    @property
    def _listed(self) -> Namespaces:
        namespaces = self._catalog.namespaces
        if namespaces is None:
            raise UnsupportedError(f"Catalog '{self.name}' keeps no list of its tables")
        return namespaces


def transaction(catalog: TableCatalog | str) -> deferred.CatalogTransaction:
    """Return a transaction of several tables of a catalog, given by itself or by its name.

    `with ice.transaction("cat") as tx: tx.load_table("db.a").append(rows); ...` lands the changes
    of all tables in one commit, or none. A catalog that can't raises UnsupportedError then.
    """
    return (load_catalog(catalog) if isinstance(catalog, str) else catalog).transaction()


def _parts_or_root(namespace: TableName) -> Name:
    return _parts(namespace) if namespace else ()


def _parts(namespace: TableName) -> Name:
    if isinstance(namespace, tuple):
        for part in namespace:
            if isinstance(part, str):
                check_part(part)
    parts = tuple(table_name(namespace).split("."))
    if not all(parts):
        raise InvalidInputError(f"'{'.'.join(parts)}' is no namespace: a part of it is empty")
    return parts


def load_catalog(name: str | None = None, **properties: str) -> TableCatalog:
    """Return a catalog by name.

    The configuration is PyIceberg's: `.pyiceberg.yaml`, and `PYICEBERG_CATALOG__NAME__...` in the
    environment. A name that neither defines may be described by the active session's settings
    `spark.sql.catalog.NAME.*`. The catalog `local` needs no configuration.

    Args:
        name: The catalog. Without a name it is the one that the configuration calls
            `default-catalog`, or `default`.
        **properties: Properties that override the configured ones. `type` is `rest`, `sql` (or
            `jdbc`), `hive`, `glue`, `dynamodb`, `filesystem` (or `hadoop`) or `memory` (or
            `in-memory`).

    Raises:
        InvalidInputError: The type is unknown, or a property that it needs is missing.
        UnsupportedError: A package that the type needs is not installed.

    Example:
        >>> ice.load_catalog("prod", type="rest", uri="https://catalog.example.com")
    """
    called = name or default_catalog()
    return TableCatalog(
        load(called, **overlaid(called, property_texts(properties), session_settings))
    )
