"""SHOW PROCEDURES and SHOW FUNCTIONS of a catalog."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.statements.answers import rows_of
from iceberg_spark.api.statements.in_catalogs import matching
from iceberg_spark.api.statements.procedures import PROCEDURES
from iceberg_spark.api.statements.shown_details import shown_name
from iceberg_spark.api.statements.target import catalog_named
from iceberg_spark.errors import NoSuchNamespaceError
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.sql.functions import FUNCTION_NAMES
from iceberg_spark.spark.sql.statements.listings import ShowFunctions, ShowProcedures

_SYSTEM = ("system",)
_PROCEDURE_COLUMNS = "catalog string, namespace array<string>, schema string, procedure_name string"


def show_procedures(spark: SparkSession, statement: ShowProcedures) -> DataFrame:
    """List the procedures of a namespace; only `system` has any (Java: SparkProcedures)."""
    catalog, *namespace = statement.namespace
    names = list(PROCEDURES) if tuple(namespace) == _SYSTEM else []
    rows = [(catalog, namespace, namespace[-1], name) for name in names]
    return rows_of(spark, _PROCEDURE_COLUMNS, rows)


def show_functions(spark: SparkSession, statement: ShowFunctions) -> DataFrame:
    """List Iceberg's functions, which the root namespace and `system` have, and Spark's own.

    Raises NoSuchNamespaceError.
    """
    names: list[str] = []
    if statement.scope != "system":
        has_functions = statement.namespace[1:] in ((), _SYSTEM)
        if not has_functions:
            _check_namespace(spark, statement)
        functions = matching(list(FUNCTION_NAMES), statement.pattern) if has_functions else []
        names += [shown_name((*statement.namespace, name)) for name in functions]
    if statement.scope != "user":
        sparks = [row[0] for row in run_sql(spark, "SHOW SYSTEM FUNCTIONS").collect()]
        names += matching(sparks, statement.pattern)
    return rows_of(spark, "function string", [(name,) for name in sorted(names)])


def _check_namespace(spark: SparkSession, statement: ShowFunctions) -> None:
    catalog, *namespace = statement.namespace
    if not catalog_named(spark, catalog).namespace_exists(tuple(namespace)):
        raise NoSuchNamespaceError(f"There is no namespace {'.'.join(statement.namespace)}")
