"""Commands on Iceberg tables: the function that runs each kind of statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.lazy import LazyFunction, LazyModule
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.sql.query import plan_query
from iceberg_spark.spark.sql.statements.alter_table import AlterTable
from iceberg_spark.spark.sql.statements.call import Call
from iceberg_spark.spark.sql.statements.create_table import CreateTable, DropTable
from iceberg_spark.spark.sql.statements.listings import (
    CommentOn,
    DescribeNamespace,
    DescribeRoutine,
    DescribeTable,
    RefreshTable,
    ShowColumns,
    ShowCreateTable,
    ShowFunctions,
    ShowNamespaces,
    ShowPartitions,
    ShowProcedures,
    ShowProperties,
    ShowTables,
    ShowTablesExtended,
)
from iceberg_spark.spark.sql.statements.namespaces import (
    AlterNamespace,
    CreateNamespace,
    DropNamespace,
)
from iceberg_spark.spark.sql.statements.read import Command
from iceberg_spark.spark.sql.statements.rows import Delete, Insert, Merge, Truncate, Update
from iceberg_spark.spark.sql.statements.views import AlterView, CreateView, DropView, ShowViews
from iceberg_spark.statements.answers import nothing
from iceberg_spark.statements.matched_columns import refusing_inner_defaults, reporting_overflow
from iceberg_spark.statements.target import table_above, target

_SET_OPERATION = re.compile(r"\b(UNION|EXCEPT|INTERSECT|MINUS)\b", re.IGNORECASE)
_BEHIND_VALUES = re.compile(r"\b(WHERE|HAVING)\b", re.IGNORECASE)
_definitions = LazyModule("iceberg_spark.statements.definitions")
_in_catalogs = LazyModule("iceberg_spark.statements.in_catalogs")
_describe_table = LazyModule("iceberg_spark.statements.describe_table")
Runner: TypeAlias = Callable[[SparkSession, Any], DataFrame]


def run_command(spark: SparkSession, command: Command) -> DataFrame:
    """Run a command on Iceberg tables, which it names with their catalogs."""
    return RUNNERS[type(command)](spark, command)


def _create_table(spark: SparkSession, command: CreateTable) -> DataFrame:
    rows = None if command.query is None else plan_query(spark, command.query).frame(spark)
    frame: DataFrame = _definitions.create_table(spark, command, rows)
    return frame


def _refuses_inner_defaults(run: Runner) -> Runner:
    """Return the function of a statement whose values may be DEFAULT, but not contain it."""

    def refusing(spark: SparkSession, command: Any) -> DataFrame:
        values, texts = partial(_values, command), partial(str, command)
        with refusing_inner_defaults(values), reporting_overflow(texts):
            return run(spark, command)

    return refusing


def _values(command: Insert | Merge | Update) -> list[str]:
    """Return the texts in which DEFAULT stands for a column's default, as Spark reads them."""
    match command:
        case Insert(query=query):
            return [] if _SET_OPERATION.search(query) else [_BEHIND_VALUES.split(query)[0]]
        case Update(values=values):
            return [value for _, value in values]
        case Merge(clauses=clauses):
            return [value for clause in clauses for value in clause.values]


def _refresh_table(spark: SparkSession, command: RefreshTable) -> DataFrame:
    if table_above(spark, command.table) is None:
        target(spark, command.table).table()
    return nothing(spark)


def _show_tables_extended(spark: SparkSession, command: ShowTablesExtended) -> DataFrame:
    pattern = _describe_table.string_literal(command.pattern)
    sparks = run_sql(spark, f"SHOW TABLE EXTENDED IN spark_catalog.default LIKE {pattern}")
    frame: DataFrame = _in_catalogs.show_tables_extended(spark, command, sparks)
    return frame


RUNNERS: Mapping[type, Runner] = {
    CreateTable: _create_table,
    DropTable: LazyFunction("iceberg_spark.statements.definitions", "drop"),
    AlterTable: LazyFunction("iceberg_spark.statements.alterations", "alter_table"),
    Call: LazyFunction("iceberg_spark.statements.procedures", "call"),
    CreateView: LazyFunction("iceberg_spark.statements.views", "create_view"),
    DropView: LazyFunction("iceberg_spark.statements.views", "drop_view"),
    AlterView: LazyFunction("iceberg_spark.statements.views", "alter_view"),
    Insert: _refuses_inner_defaults(LazyFunction("iceberg_spark.statements.row_changes", "insert")),
    Merge: _refuses_inner_defaults(LazyFunction("iceberg_spark.statements.merge_rows", "merge")),
    Update: _refuses_inner_defaults(LazyFunction("iceberg_spark.statements.row_changes", "update")),
    Delete: LazyFunction("iceberg_spark.statements.row_changes", "delete"),
    Truncate: LazyFunction("iceberg_spark.statements.row_changes", "truncate"),
    ShowTables: LazyFunction("iceberg_spark.statements.in_catalogs", "show_tables"),
    ShowTablesExtended: _show_tables_extended,
    ShowNamespaces: LazyFunction("iceberg_spark.statements.in_catalogs", "show_namespaces"),
    DescribeNamespace: LazyFunction("iceberg_spark.statements.in_catalogs", "describe_namespace"),
    ShowViews: LazyFunction("iceberg_spark.statements.views", "show_views"),
    ShowFunctions: LazyFunction("iceberg_spark.statements.show_routines", "show_functions"),
    ShowProcedures: LazyFunction("iceberg_spark.statements.show_routines", "show_procedures"),
    DescribeRoutine: LazyFunction("iceberg_spark.statements.show_routines", "describe_routine"),
    DescribeTable: LazyFunction("iceberg_spark.statements.show_table", "show_table"),
    ShowCreateTable: LazyFunction("iceberg_spark.statements.show_table", "show_table"),
    ShowProperties: LazyFunction("iceberg_spark.statements.show_table", "show_table"),
    ShowColumns: LazyFunction("iceberg_spark.statements.show_table", "show_table"),
    ShowPartitions: LazyFunction("iceberg_spark.statements.show_partitions", "show_partitions"),
    RefreshTable: _refresh_table,
    CreateNamespace: LazyFunction("iceberg_spark.statements.in_catalogs", "create_namespace"),
    DropNamespace: LazyFunction("iceberg_spark.statements.in_catalogs", "drop_namespace"),
    AlterNamespace: LazyFunction("iceberg_spark.statements.in_catalogs", "alter_namespace"),
    CommentOn: LazyFunction("iceberg_spark.statements.describe_table", "comment_on"),
}
"""The function of each kind of command, but for `USE`, which names no table."""
