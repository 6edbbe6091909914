"""`spark.catalog` of an enabled session: names in catalogs of ours are answered by these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql.catalog import Column, Database, Table

from iceberg_spark.api.statements.in_catalogs import matching
from iceberg_spark.api.statements.target import Name, catalog_named, names_ours, new_target
from iceberg_spark.errors import NoSuchNamespaceError
from iceberg_spark.spark.row_level.target_rows import row_type
from iceberg_spark.spark.session.classic_session import session_of_catalog
from iceberg_spark.spark.sql.table_names import name_parts
from iceberg_spark.spec.transforms import BucketTransform, IdentityTransform

Method: TypeAlias = Callable[..., Any]


def hooked_catalog() -> Mapping[str, Callable[[Method], Method]]:
    """Return, by the name of a method of PySpark's `Catalog`, what makes ours of it."""
    return {
        "tableExists": partial(_about_table, _table_exists),
        "getTable": partial(_about_table, _get_table),
        "listColumns": partial(_about_table, _list_columns),
        "refreshTable": partial(_about_table, _refresh_table),
        "listTables": partial(_about_namespace, _list_tables),
        "databaseExists": partial(_about_namespace, _database_exists),
        "getDatabase": partial(_about_namespace, _get_database),
    }


def _about_table(ours: Method, own: Method) -> Method:
    def answer(self: Any, tableName: str, dbName: str | None = None) -> Any:  # noqa: N803
        spark = session_of_catalog(self)
        above = () if dbName is None else name_parts(spark, dbName)
        last = name_parts(spark, tableName) if dbName is None else (tableName,)
        name = (*above, *last)
        if names_ours(spark, name, 3) and "/" not in name[-1]:
            return ours(spark, name)
        return own(self, tableName) if dbName is None else own(self, tableName, dbName)

    return answer


def _about_namespace(ours: Method, own: Method) -> Method:
    def answer(self: Any, dbName: str | None = None, *more: Any, **named: Any) -> Any:  # noqa: N803
        spark = session_of_catalog(self)
        name = name_parts(spark, dbName)
        if names_ours(spark, name, 2) and "/" not in name[-1]:
            return ours(spark, name, *more, **named)
        return own(self, dbName, *more, **named)

    return answer


def _table_exists(spark: SparkSession, name: Name) -> bool:
    place = new_target(spark, name)
    try:
        if place.catalog.table_exists(place.identifier):
            return True
        views = place.catalog.views
        return views is not None and bool(views.exists(place.identifier))
    except NoSuchNamespaceError:
        return False


def _get_table(spark: SparkSession, name: Name) -> Table:
    table = new_target(spark, name).table()
    return _shown(name, table.properties.get("comment"))


def _shown(name: Name, comment: str | None) -> Table:
    return Table(name[-1], name[0], list(name[1:-1]), comment, "MANAGED", False)


def _list_columns(spark: SparkSession, name: Name) -> list[Column]:
    table = new_target(spark, name).table()
    parts = {
        table.schema().find_column_name(part.source_id): part.transform
        for part in table.spec().fields
    }
    found = []
    for field, kind in zip(table.schema().fields, row_type(table.schema()).fields, strict=True):
        transform = parts.get(field.name)
        found.append(
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
    return found


def _refresh_table(spark: SparkSession, name: Name) -> None:
    """Do nothing: each query asks for the newest version."""
    new_target(spark, name).table()


def _list_tables(spark: SparkSession, name: Name, pattern: str | None = None) -> list[Table]:
    catalog = catalog_named(spark, name[0])
    names = [table[-1] for table in catalog.list_tables(name[1:])]
    return [_shown((*name, each), None) for each in matching(names, pattern)]


def _database_exists(spark: SparkSession, name: Name) -> bool:
    return catalog_named(spark, name[0]).namespace_exists(name[1:])


def _get_database(spark: SparkSession, name: Name) -> Database:
    found = catalog_named(spark, name[0]).load_namespace_properties(name[1:])
    location = found.get("location", "")
    return Database(".".join(name[1:]), name[0], found.get("comment"), location)
