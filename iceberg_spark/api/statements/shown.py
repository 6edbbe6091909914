"""SHOW and DESCRIBE, each by the module that has its rows."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.statements import in_catalogs, shown_routines, shown_tables, views
from iceberg_spark.api.statements.answers import nothing
from iceberg_spark.api.statements.shown_partitions import show_partitions
from iceberg_spark.api.statements.shown_parts import as_table_command, shown_part
from iceberg_spark.api.statements.target import table_above, target
from iceberg_spark.errors import NoSuchNamespaceError, NoSuchTableError
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.sql.statements.listings import (
    DescribeNamespace,
    DescribeTable,
    RefreshTable,
    ShowColumns,
    ShowCreateTable,
    ShowNamespaces,
    ShowPartitions,
    ShowProperties,
    ShowTables,
    ShowTablesExtended,
)
from iceberg_spark.spark.sql.statements.read import Command
from iceberg_spark.spark.sql.statements.routines import ShowFunctions, ShowProcedures
from iceberg_spark.spark.sql.statements.views import ShowViews


def show(spark: SparkSession, command: Command) -> DataFrame | None:
    """Return the rows of a listing; None for another command."""
    return _of_catalog(spark, command) or _of_table(spark, command)


def _of_catalog(spark: SparkSession, command: Command) -> DataFrame | None:
    match command:
        case ShowTables():
            return in_catalogs.show_tables(spark, command)
        case ShowTablesExtended(pattern=pattern):
            quoted_pattern = shown_tables.text(pattern)
            sparks = run_sql(
                spark, f"SHOW TABLE EXTENDED IN spark_catalog.default LIKE {quoted_pattern}"
            )
            return in_catalogs.show_tables_extended(spark, command, sparks)
        case ShowNamespaces():
            return in_catalogs.show_namespaces(spark, command)
        case DescribeNamespace():
            return in_catalogs.describe_namespace(spark, command)
        case ShowViews():
            return views.show_views(spark, command)
        case ShowFunctions():
            return shown_routines.show_functions(spark, command)
        case ShowProcedures():
            return shown_routines.show_procedures(spark, command)
        case _:
            return None


def _of_table(spark: SparkSession, command: Command) -> DataFrame | None:
    match command:
        case DescribeTable() | ShowCreateTable() | ShowProperties() | ShowColumns():
            return _shown(spark, command)
        case ShowPartitions():
            return show_partitions(spark, command)
        case RefreshTable(name):
            if table_above(spark, name) is None:
                target(spark, name).table()
            return nothing(spark)
        case _:
            return None


def _shown(
    spark: SparkSession, command: DescribeTable | ShowCreateTable | ShowProperties | ShowColumns
) -> DataFrame:
    """Show a table or a part of one, or the view of that name if there is no such table."""
    part = shown_part(spark, command)
    if part is not None:
        return part
    command = as_table_command(spark, command)
    try:
        match command:
            case DescribeTable():
                return shown_tables.describe_table(spark, command)
            case ShowCreateTable():
                return shown_tables.show_create_table(spark, command)
            case ShowProperties():
                return shown_tables.show_properties(spark, command)
            case ShowColumns():
                return shown_tables.show_columns(spark, command)
    except (NoSuchTableError, NoSuchNamespaceError):
        view = views.view_at(spark, command.table)
        if view is None:
            raise
        return views.shown_view(spark, command, view)
