"""Methods of `spark.catalog` of an enabled session that read from Iceberg catalogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql.catalog import Column, Database, Table

from iceberg_spark.api.table import Table as OurTable
from iceberg_spark.api.view import View
from iceberg_spark.errors import NoSuchNamespaceError, NoSuchTableError
from iceberg_spark.spark.row_level.target_rows import row_type
from iceberg_spark.spark.session.classic_session import session_of_catalog
from iceberg_spark.spark.session.own_methods import uses_original_methods
from iceberg_spark.spark.session.session_catalogs import is_ours
from iceberg_spark.spark.sql.current_namespace import current_namespace, use_namespace
from iceberg_spark.spark.sql.statements.listings import Use
from iceberg_spark.spark.sql.table_names import namespace_parts, table_parts
from iceberg_spark.spec.transforms import BucketTransform, IdentityTransform
from iceberg_spark.statements.current import use
from iceberg_spark.statements.in_catalogs import matching, namespace_properties
from iceberg_spark.statements.table_details import table_type
from iceberg_spark.statements.target import (
    Name,
    catalog_named,
    names_namespace,
    names_table,
    new_target,
)
from iceberg_spark.statements.views import view_at

Method: TypeAlias = Callable[..., Any]


def hooked_catalog() -> Mapping[str, Callable[[Method], Method]]:
    """Return the hooks of methods of PySpark's `Catalog`, by the methods' names."""
    return {
        "tableExists": partial(_about_table, _table_exists),
        "getTable": partial(_about_table, _get_table),
        "listColumns": partial(_about_table, _list_columns),
        "refreshTable": partial(_about_table, _refresh_table),
        "listTables": partial(_about_namespace, _list_tables),
        "databaseExists": partial(_about_namespace, _database_exists),
        "getDatabase": partial(_about_namespace, _get_database),
        "listDatabases": _list_databases,
        "currentCatalog": partial(_current, lambda chosen: chosen[0]),
        "currentDatabase": partial(_current, lambda chosen: ".".join(chosen[1:])),
        "setCurrentCatalog": _choosing_catalog,
        "setCurrentDatabase": _choosing_namespace,
    }


def _about_table(iceberg_method: Method, spark_method: Method) -> Method:
    def answer(self: Any, tableName: str, dbName: str | None = None) -> Any:  # noqa: N803
        spark = session_of_catalog(self)
        if uses_original_methods():  # what is Spark's own
            return (
                spark_method(self, tableName)
                if dbName is None
                else spark_method(self, tableName, dbName)
            )
        name = _named(spark, tableName, dbName)
        if names_table(spark, name) and "/" not in name[-1]:
            return iceberg_method(spark, name)
        return (
            spark_method(self, tableName)
            if dbName is None
            else spark_method(self, tableName, dbName)
        )

    return answer


def _named(spark: SparkSession, table: str, database: str | None) -> Name:
    if database is None:
        return table_parts(spark, table)
    return (*namespace_parts(spark, database), table)


def _about_namespace(iceberg_method: Method, spark_method: Method) -> Method:
    def answer(self: Any, dbName: str | None = None, *more: Any, **named: Any) -> Any:  # noqa: N803
        spark = session_of_catalog(self)
        name = () if uses_original_methods() else namespace_parts(spark, dbName)
        if names_namespace(spark, name) and "/" not in name[-1]:
            return iceberg_method(spark, name, *more, **named)
        return spark_method(self, dbName, *more, **named)

    return answer


def _list_databases(spark_method: Method) -> Method:
    def list_databases(self: Any, pattern: str | None = None) -> Any:
        spark = session_of_catalog(self)
        chosen = current_namespace(spark)
        if chosen is None or uses_original_methods():
            return spark_method(self, pattern)
        namespaces = catalog_named(spark, chosen[0]).list_namespaces()
        names = matching([".".join(namespace) for namespace in namespaces], pattern)
        return [_get_database(spark, (chosen[0], *name.split("."))) for name in names]

    return list_databases


def _current(shown: Callable[[Name], str], spark_method: Method) -> Method:
    def current(self: Any) -> Any:
        chosen = current_namespace(session_of_catalog(self))
        return spark_method(self) if chosen is None or uses_original_methods() else shown(chosen)

    return current


def _choosing_catalog(spark_method: Method) -> Method:
    def choose(self: Any, catalogName: str) -> None:  # noqa: N803 - PySpark's name
        spark = session_of_catalog(self)
        if not uses_original_methods() and is_ours(spark, catalogName):
            use(spark, Use((catalogName,)))
        else:
            spark_method(self, catalogName)
            use_namespace(spark, None)

    return choose


def _choosing_namespace(spark_method: Method) -> Method:
    """Return what chooses a namespace of the current catalog."""

    def choose(self: Any, dbName: str) -> None:  # noqa: N803 - PySpark's name
        spark = session_of_catalog(self)
        namespace = namespace_parts(spark, dbName)
        names_catalog_too = len(namespace) > 1
        if not uses_original_methods() and names_catalog_too and names_namespace(spark, namespace):
            use(spark, Use(namespace))
        else:
            spark_method(self, dbName)
            use_namespace(spark, None)

    return choose


def _table_exists(spark: SparkSession, name: Name) -> bool:
    target = new_target(spark, name)
    try:
        if target.catalog.table_exists(target.identifier):
            return True
        views = target.catalog.views
        return views is not None and bool(views.exists(target.identifier))
    except NoSuchNamespaceError:
        return False


def _get_table(spark: SparkSession, name: Name) -> Table:
    table_or_view = _table_or_view(spark, name)
    kind = "VIEW" if isinstance(table_or_view, View) else table_type(table_or_view)
    return _shown(name, table_or_view.properties.get("comment"), kind)


def _table_or_view(spark: SparkSession, name: Name) -> OurTable | View:
    """Return the table of that name, else the view. Raises NoSuchTableError."""
    try:
        return new_target(spark, name).table()
    except (NoSuchTableError, NoSuchNamespaceError):
        view = view_at(spark, name)
        if view is None:
            raise
        return view


def _shown(name: Name, comment: str | None, kind: str = "MANAGED") -> Table:
    return Table(name[-1], name[0], list(name[1:-1]), comment, kind, False)


def _list_columns(spark: SparkSession, name: Name) -> list[Column]:
    table = _table_or_view(spark, name)
    parts = {
        table.schema().find_column_name(part.source_id): part.transform
        for part in (() if isinstance(table, View) else table.spec().fields)
    }
    columns = []
    for field, kind in zip(table.schema().fields, row_type(table.schema()).fields, strict=True):
        transform = parts.get(field.name)
        columns.append(
            Column(
                field.name,
                field.doc,
                kind.dataType.simpleString(),
                not field.required,
                isinstance(transform, IdentityTransform),
                isinstance(transform, BucketTransform),
                False,
            )
        )
    return columns


def _refresh_table(spark: SparkSession, name: Name) -> None:
    """Do nothing: each query loads the newest version."""
    new_target(spark, name).table()


def _list_tables(spark: SparkSession, name: Name, pattern: str | None = None) -> list[Table]:
    catalog = catalog_named(spark, name[0])
    names = [table[-1] for table in catalog.list_tables(name[1:])]
    return [_shown((*name, table_name), None) for table_name in matching(names, pattern)]


def _database_exists(spark: SparkSession, name: Name) -> bool:
    return catalog_named(spark, name[0]).namespace_exists(name[1:])


def _get_database(spark: SparkSession, name: Name) -> Database:
    properties = namespace_properties(spark, name)
    location = properties.get("location", "")
    return Database(".".join(name[1:]), name[0], properties.get("comment"), location)
