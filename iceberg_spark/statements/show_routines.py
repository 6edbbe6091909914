"""SHOW and DESCRIBE of the procedures and functions of a catalog."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import (
    NoSuchNamespaceError,
    NoSuchProcedureError,
    UnsupportedError,
)
from iceberg_spark.spark.session.error_conditions import NO_FUNCTION_CATALOG, with_condition
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.sql.functions import FUNCTION_NAMES, check_function
from iceberg_spark.spark.sql.statements.listings import (
    DescribeRoutine,
    ShowFunctions,
    ShowProcedures,
)
from iceberg_spark.statements.answers import rows_of
from iceberg_spark.statements.in_catalogs import matching
from iceberg_spark.statements.procedures import PROCEDURES, PURPOSES, procedure_named
from iceberg_spark.statements.table_details import display_name
from iceberg_spark.statements.target import catalog_named

_SYSTEM = ("system",)
_PROCEDURE_COLUMNS = "catalog string, namespace array<string>, schema string, procedure_name string"


def show_procedures(spark: SparkSession, statement: ShowProcedures) -> DataFrame:
    """List the procedures of a namespace; only `system` has any (Java: SparkProcedures)."""
    catalog, *namespace = statement.namespace
    names = list(PROCEDURES) if tuple(namespace) == _SYSTEM else []
    rows = [(catalog, namespace, namespace[-1], name) for name in names]
    return rows_of(spark, _PROCEDURE_COLUMNS, rows)


def describe_routine(spark: SparkSession, statement: DescribeRoutine) -> DataFrame:
    """Describe a procedure in two rows (Java: DescribeProcedureExec).

    Spark describes functions of its own catalog only. Raises NoSuchProcedureError,
    InvalidInputError for an unknown function, UnsupportedError for a known one.
    """
    *namespace, name = statement.name
    if statement.is_function:
        check_function(name)
        unsupported = UnsupportedError(
            f"DESCRIBE FUNCTION {'.'.join(statement.name)}: Spark describes its own only; "
            f"SHOW FUNCTIONS IN {'.'.join(namespace)} lists those of the catalog"
        )
        raise with_condition(unsupported, NO_FUNCTION_CATALOG)
    if tuple(namespace[1:]) != _SYSTEM:
        raise NoSuchProcedureError(f"There is no procedure {'.'.join(statement.name)}")
    procedure_named(name)
    texts = [f"Procedure:   {name.lower()}", f"Description: {PURPOSES[name.lower()]}"]
    return rows_of(spark, "procedure_desc string", [(text,) for text in texts])


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
        names += [display_name((*statement.namespace, name)) for name in functions]
    if statement.scope != "user":
        sparks = [row[0] for row in run_sql(spark, "SHOW SYSTEM FUNCTIONS").collect()]
        names += matching(sparks, statement.pattern)
    return rows_of(spark, "function string", [(name,) for name in sorted(names)])


def _check_namespace(spark: SparkSession, statement: ShowFunctions) -> None:
    catalog, *namespace = statement.namespace
    if not catalog_named(spark, catalog).namespace_exists(tuple(namespace)):
        raise NoSuchNamespaceError(f"There is no namespace {'.'.join(statement.namespace)}")
