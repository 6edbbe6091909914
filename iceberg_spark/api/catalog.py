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
        """Load a table.

        Args:
            identifier: The name: "namespace.table", or a tuple.

        Raises:
            NoSuchTableError: There is no such table.

        Examples:
            >>> catalog.load_table("shop.orders")
        """
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

        Args:
            identifier: The name: "namespace.table", or a tuple.
            schema: DDL text, a PySpark StructType, a pyarrow.Schema or an Iceberg Schema.
            partition_by: Columns and transforms: "days(ts)", "bucket(16, id)".
            sort_order: Columns and transforms with directions: "id desc nulls last".
            properties: Table properties, also `format-version`.

        Raises:
            TableAlreadyExistsError: The name is used.
            NoSuchNamespaceError: The namespace does not exist.

        Examples:
            >>> catalog.create_table("shop.log", "id bigint, ts timestamp", partition_by="days(ts)")
        """
        name, table_properties = table_name(identifier), properties or {}
        return deferred.create(
            self._catalog, name, schema, partition_by, sort_order, table_properties
        )

    def transaction(self) -> deferred.CatalogTransaction:
        """Return a transaction of several tables, which its with-block commits at its end.

        Examples:
            >>> with catalog.transaction() as tx:
            ...     tx.load_table("shop.orders").append(rows)
        """
        return deferred.CatalogTransaction(self._catalog)

    def table_exists(self, identifier: TableName) -> bool:
        """Return whether there is a table of that name.

        Args:
            identifier: The name: "namespace.table", or a tuple.

        Examples:
            >>> catalog.table_exists("shop.orders")
        """
        return self._catalog.table_exists(table_name(identifier))

    def drop_table(
        self, identifier: TableName, purge: bool = False, *, delete_outside: bool = False
    ) -> None:
        """Remove a table; with `purge` its files below its location as well.

        Tables below its location stay, and so do files elsewhere: those that `add_files` took, or
        that a `write.data.path` elsewhere holds.

        Args:
            identifier: The name: "namespace.table", or a tuple.
            purge: Delete the files, too.
            delete_outside: A purge deletes the files outside the table's location, too.

        Raises:
            NoSuchTableError: There is no such table.
            ValidationException: `gc.enabled` is false, and `purge` is set.

        Examples:
            >>> catalog.drop_table("shop.orders", purge=True)
        """
        deferred.drop_table(
            self._catalog, table_name(identifier), purge=purge, delete_outside=delete_outside
        )

    def purge_table(self, identifier: TableName) -> None:
        """Remove a table and its files: `drop_table(identifier, purge=True)`.

        Args:
            identifier: The name: "namespace.table", or a tuple.

        Examples:
            >>> catalog.purge_table("shop.orders")
        """
        self.drop_table(identifier, purge=True)

    def list_tables(self, namespace: TableName) -> list[Name]:
        """Return the tables in a namespace, as tuples.

        Args:
            namespace: The name: "a.b", or a tuple; `()` is the root.

        Raises:
            NoSuchNamespaceError: There is no such namespace.

        Examples:
            >>> catalog.list_tables("shop")
        """
        return self._listed.list_tables(_parts_or_root(namespace))

    def rename_table(self, from_identifier: TableName, to_identifier: TableName) -> Table:
        """Rename a table. Its files are not moved.

        Args:
            from_identifier: The name of the table.
            to_identifier: The new name, in the same catalog.

        Raises:
            NoSuchTableError: There is no such table.
            NoSuchNamespaceError: The new namespace does not exist.
            TableAlreadyExistsError: The new name is used.

        Examples:
            >>> catalog.rename_table("shop.orders", "shop.sales")
        """
        self._listed.rename_table(table_name(from_identifier), table_name(to_identifier))
        return self.load_table(to_identifier)

    def register_table(self, identifier: TableName, metadata_location: str) -> Table:
        """Add an existing table to the catalog, at one of its metadata files.

        Args:
            identifier: The name: "namespace.table", or a tuple.
            metadata_location: The location of the metadata file.

        Raises:
            TableAlreadyExistsError: The name is used.
            NoSuchNamespaceError: The namespace does not exist.
            NoSuchFileError: There is no such file.

        Examples:
            >>> catalog.register_table("shop.again", t.metadata_location)
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
        """Return the namespaces directly below another one, as tuples.

        Args:
            parent: The parent; by default the root.

        Raises:
            NoSuchNamespaceError: There is no such namespace.

        Examples:
            >>> catalog.list_namespaces()
        """
        return self._listed.list_namespaces(_parts_or_root(parent))

    def namespace_exists(self, namespace: TableName) -> bool:
        """Return whether there is such a namespace.

        Args:
            namespace: The name: "a.b", or a tuple.

        Examples:
            >>> catalog.namespace_exists("shop")
        """
        return self._listed.exists(_parts_or_root(namespace))

    def create_namespace(
        self, namespace: TableName, properties: Mapping[str, str] | None = None
    ) -> None:
        """Create a namespace.

        Args:
            namespace: The name: "a.b", or a tuple.
            properties: Its properties; `location` is the default location of its tables.

        Raises:
            NamespaceAlreadyExistsError: The name is used.

        Examples:
            >>> catalog.create_namespace("web", {"owner": "sales"})
        """
        self._listed.create(_parts(namespace), property_texts(properties or {}))

    def create_namespace_if_not_exists(
        self, namespace: TableName, properties: Mapping[str, str] | None = None
    ) -> None:
        """Create a namespace; one that exists stays unchanged.

        Args:
            namespace: The name: "a.b", or a tuple.
            properties: Its properties, if it is new.

        Examples:
            >>> catalog.create_namespace_if_not_exists("shop")
        """
        if self.namespace_exists(namespace):
            return
        try:
            self.create_namespace(namespace, properties)
        except NamespaceAlreadyExistsError:
            return

    def drop_namespace(self, namespace: TableName, *, cascade: bool = False) -> None:
        """Remove an empty namespace. Files of tables stay.

        Args:
            namespace: The name: "a.b", or a tuple.
            cascade: Also drop all that is in it.

        Raises:
            NoSuchNamespaceError: There is no such namespace.
            NamespaceNotEmptyError: It is not empty, or with `cascade` something in it cannot be
                dropped. Nothing is dropped then.

        Examples:
            >>> catalog.drop_namespace("shop", cascade=True)
        """
        if cascade:
            deferred.drop_with_all(self._catalog, self._listed, _parts(namespace))
        else:
            self._listed.drop(_parts(namespace))

    def load_namespace_properties(self, namespace: TableName) -> dict[str, str]:
        """Return a namespace's properties.

        Args:
            namespace: The name: "a.b", or a tuple.

        Raises:
            NoSuchNamespaceError: There is no such namespace.

        Examples:
            >>> catalog.load_namespace_properties("shop")
        """
        return self._listed.properties(_parts_or_root(namespace))

    def update_namespace_properties(
        self,
        namespace: TableName,
        removals: Iterable[str] = (),
        updates: Mapping[str, str] | None = None,
    ) -> PropertiesUpdateSummary:
        """Remove and set properties of a namespace at once, and return the changes.

        Args:
            namespace: The name: "a.b", or a tuple.
            removals: Names of properties to remove.
            updates: Values by name.

        Raises:
            NoSuchNamespaceError: There is no such namespace.
            InvalidInputError: A property is removed and set.

        Examples:
            >>> catalog.update_namespace_properties("shop", updates={"owner": "web"}).updated
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
        """Return the views in a namespace, as tuples.

        Args:
            namespace: The name: "a.b", or a tuple; `()` is the root.

        Raises:
            NoSuchNamespaceError: There is no such namespace.
            UnsupportedError: The catalog has no views.

        Examples:
            >>> catalog.list_views("shop")
        """
        return views_of(self._catalog).list_views(_parts_or_root(namespace))

    def view_exists(self, identifier: TableName) -> bool:
        """Return whether there is a view of that name.

        Args:
            identifier: The name: "namespace.view", or a tuple.

        Raises:
            UnsupportedError: The catalog has no views.

        Examples:
            >>> catalog.view_exists("shop.large")
        """
        return views_of(self._catalog).exists(table_name(identifier))

    def load_view(self, identifier: TableName) -> View:
        """Load a view: its columns, texts and history.

        Args:
            identifier: The name: "namespace.view", or a tuple.

        Raises:
            NoSuchViewError: There is no such view.

        Examples:
            >>> catalog.load_view("shop.large").sql_for("spark")
        """
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
        """Create a view of a query in Spark's SQL, which the active session analyzes.

        Names in the query without a catalog are in this catalog.

        Args:
            identifier: The name: "namespace.view", or a tuple.
            sql: The query.
            columns: The view's column names, or names with comments; by default those of the query.
            namespace: Where tables without a namespace are; by default in the view's own.
            properties: The view's properties.
            location: The folder of its files; by default the catalog's choice.
            or_replace: Give an existing view the new definition. It keeps its location unless
                `location` is set.
            spark: By default the active session.

        Raises:
            ViewAlreadyExistsError: The name is used.
            NoSuchNamespaceError: The namespace does not exist.
            InvalidInputError: An argument is wrong, or the location is a table's folder.

        Examples:
            >>> catalog.create_view("shop.big", "SELECT id FROM orders WHERE amount > 100")
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
        """Remove a view. The tables that it reads stay.

        Args:
            identifier: The name: "namespace.view", or a tuple.

        Raises:
            NoSuchViewError: There is no such view.

        Examples:
            >>> catalog.drop_view("shop.large")
        """
        views_of(self._catalog).drop(table_name(identifier))

    def rename_view(self, from_identifier: TableName, to_identifier: TableName) -> View:
        """Rename a view. Names in its text keep their meaning.

        Args:
            from_identifier: The name of the view.
            to_identifier: The new name, in the same catalog.

        Raises:
            NoSuchViewError: There is no such view.
            NoSuchNamespaceError: The new namespace does not exist.
            ViewAlreadyExistsError: The new name is used.

        Examples:
            >>> catalog.rename_view("shop.large", "shop.big")
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
    """Return a transaction of several tables of a catalog.

    Its with-block commits the changes of all tables at its end, or none.

    Args:
        catalog: A catalog, or its name.

    Raises:
        UnsupportedError: At the end: the catalog cannot commit several tables.

    Examples:
        >>> with ice.transaction("prod") as tx:
        ...     tx.load_table("shop.orders").append(rows)
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

    Examples:
        >>> ice.load_catalog("prod", type="rest", uri="https://catalog.example.com")
    """
    called = name or default_catalog()
    return TableCatalog(
        load(called, **overlaid(called, property_texts(properties), session_settings))
    )
