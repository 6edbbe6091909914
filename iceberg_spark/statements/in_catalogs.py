"""Create, drop, alter, list and describe namespaces; list catalogs."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.catalog import TableCatalog
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.errors import InvalidInputError, NoSuchNamespaceError
from iceberg_spark.io.location import parent
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.redaction import without_secrets
from iceberg_spark.spark.session.session_catalogs import catalog_names
from iceberg_spark.spark.sql.statements.listings import (
    DescribeNamespace,
    ShowCatalogs,
    ShowNamespaces,
    ShowTables,
    ShowTablesExtended,
)
from iceberg_spark.spark.sql.statements.namespaces import (
    AlterNamespace,
    CreateNamespace,
    DropNamespace,
)
from iceberg_spark.statements.answers import nothing, rows_of
from iceberg_spark.statements.table_details import display_name, table_information
from iceberg_spark.statements.target import catalog_named, new_target

_LOCATION = "location"
_SHOWN_APART = ("comment", _LOCATION, "owner")


def create_namespace(spark: SparkSession, statement: CreateNamespace) -> DataFrame:
    """Create a namespace. Raises NamespaceAlreadyExistsError."""
    catalog, namespace = _catalog_and_namespace(spark, statement.name)
    make = catalog.create_namespace
    if statement.if_not_exists:
        make = catalog.create_namespace_if_not_exists
    make(namespace, statement.properties)
    return nothing(spark)


def drop_namespace(spark: SparkSession, statement: DropNamespace) -> DataFrame:
    """Drop a namespace, with CASCADE the tables and views in it too (files stay).

    Raises NoSuchNamespaceError, NamespaceNotEmptyError.
    """
    catalog, namespace = _catalog_and_namespace(spark, statement.name)
    try:
        catalog.drop_namespace(namespace, cascade=statement.cascade)
    except NoSuchNamespaceError:
        if not statement.if_exists or catalog.namespace_exists(namespace):  # an inner one went
            raise
    return nothing(spark)


def alter_namespace(spark: SparkSession, statement: AlterNamespace) -> DataFrame:
    """Change a namespace's properties. Raises NoSuchNamespaceError."""
    catalog, namespace = _catalog_and_namespace(spark, statement.name)
    catalog.update_namespace_properties(namespace, statement.removals, statement.updates)
    return nothing(spark)


def show_tables(spark: SparkSession, statement: ShowTables) -> DataFrame:
    """List the tables of a namespace: namespace, tableName, isTemporary."""
    catalog, namespace = _catalog_and_namespace(spark, statement.namespace)
    names = [table[-1] for table in catalog.list_tables(namespace)]
    shown_namespace = display_name(namespace)
    rows = [(shown_namespace, name, False) for name in matching(names, statement.pattern)]
    return rows_of(spark, "namespace string, tableName string, isTemporary boolean", rows)


def show_tables_extended(
    spark: SparkSession, statement: ShowTablesExtended, sparks: DataFrame
) -> DataFrame:
    """List tables with the output of DESCRIBE, and the temporary views among Spark's own rows.

    Columns are namespace, tableName, isTemporary and information (Spark: ShowTablesExtendedExec).
    """
    catalog, namespace = _catalog_and_namespace(spark, statement.namespace)
    names = [table[-1] for table in catalog.list_tables(namespace)]
    rows = [
        (display_name(namespace), name, False, _information(spark, catalog, (*namespace, name)))
        for name in matching(names, statement.pattern)
    ]
    rows += [tuple(row) for row in sparks.collect() if row.isTemporary]
    columns = "namespace string, tableName string, isTemporary boolean, information string"
    return rows_of(spark, columns, rows)


def _information(spark: SparkSession, catalog: TableCatalog, name: tuple[str, ...]) -> str:
    table = catalog.load_table(name)
    facts_of_table = {
        "Catalog": catalog.name,
        "Namespace": display_name(name[:-1]),
        "Table": name[-1],
        **table_information(spark, table),
        "Schema": to_spark(table.schema()).treeString(),
    }
    return "".join(f"{label}: {text}\n" for label, text in facts_of_table.items())


def show_namespaces(spark: SparkSession, statement: ShowNamespaces) -> DataFrame:
    """List the namespaces right below a catalog or namespace."""
    catalog = catalog_named(spark, statement.parent[0])
    names = [display_name(namespace) for namespace in catalog.list_namespaces(statement.parent[1:])]
    return rows_of(
        spark, "namespace string", [(name,) for name in matching(names, statement.pattern)]
    )


def show_catalogs(spark: SparkSession, statement: ShowCatalogs, sparks: DataFrame) -> DataFrame:
    """List Spark's catalogs and the Iceberg catalogs, as `spark.catalog.listCatalogs` does."""
    names = {str(row[0]) for row in sparks.collect()}
    names |= {*matching(catalog_names(spark), statement.pattern)}
    return rows_of(spark, "catalog string", [(name,) for name in sorted(names)])


def describe_namespace(spark: SparkSession, statement: DescribeNamespace) -> DataFrame:
    """Show a namespace's properties, as Spark does: info_name, info_value."""
    catalog, namespace = _catalog_and_namespace(spark, statement.name)
    properties = namespace_properties(spark, statement.name)
    rows = [("Catalog Name", catalog.name), ("Namespace Name", display_name(namespace))]
    rows += [(name.capitalize(), properties[name]) for name in _SHOWN_APART if name in properties]
    if statement.extended:
        others = {k: v for k, v in sorted(properties.items()) if k not in _SHOWN_APART}
        visible = without_secrets(spark, others).items()
        shown = ", ".join(f"({key},{value})" for key, value in visible)
        rows.append(("Properties", f"({shown})" if others else ""))
    return rows_of(spark, "info_name string, info_value string", rows)


def namespace_properties(spark: SparkSession, name: tuple[str, ...]) -> dict[str, str]:
    """Return a namespace's properties, with the default location of its tables.

    Java's catalogs show that location, too. Raises NoSuchNamespaceError.
    """
    properties = catalog_named(spark, name[0]).load_namespace_properties(name[1:])
    target = new_target(spark, (*name, "t"))
    if _LOCATION in properties or not isinstance(target.catalog, PointerCatalog):
        return properties
    try:
        default = parent(target.catalog.location_of(target.identifier))
    except InvalidInputError:  # neither the namespace nor the catalog has one
        return properties
    return {**properties, _LOCATION: default}


def _catalog_and_namespace(
    spark: SparkSession, name: tuple[str, ...]
) -> tuple[TableCatalog, tuple[str, ...]]:
    return catalog_named(spark, name[0]), name[1:]


def matching(names: list[str], pattern: str | None) -> list[str]:
    """Return the names that Spark's pattern matches, sorted (Spark: StringUtils.filterPattern).

    A pattern is regular expressions with `|` between them, in which `*` stands for `.*`. An invalid
    expression matches nothing.
    """
    if pattern is None:
        return sorted(names)
    matches: set[str] = set()
    for part in pattern.strip().split("|"):
        try:
            regex = re.compile(part.replace("*", ".*"), re.ASCII | re.IGNORECASE)
        except (re.error, ValueError, OverflowError):  # flags, or counts, that can't be
            continue
        matches.update(name for name in names if regex.fullmatch(name))
    return sorted(matches)
