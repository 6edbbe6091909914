"""Run EXECUTE IMMEDIATE and SET VARIABLE with Iceberg tables in their texts."""

from __future__ import annotations

import re
import uuid
from typing import cast

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.arguments import with_arguments, with_expressions
from iceberg_spark.spark.sql.identifier_clauses import replace_identifier_clauses
from iceberg_spark.spark.sql.query import Args
from iceberg_spark.spark.sql.references_iceberg import references_iceberg
from iceberg_spark.spark.sql.statements.read import Query, read_statement
from iceberg_spark.spark.sql.statements.session_state import ExecuteImmediate, SetVariable
from iceberg_spark.spark.sql.subquery_views import with_subquery_views
from iceberg_spark.statements.answers import nothing, values_of

_IMMEDIATE = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*EXECUTE\s", re.IGNORECASE | re.DOTALL)


def build_immediate_text(
    spark: SparkSession, statement: ExecuteImmediate, text: str, args: Args
) -> str | None:
    """Return the text that EXECUTE IMMEDIATE runs, with its values as literals; None for Spark's.

    Raises InvalidInputError for missing values, and for INTO with a statement that is not a query.
    """
    dialect = session_dialect(spark)
    if args:
        bound = read_statement(with_arguments(spark, text, args), dialect)
        statement = cast(ExecuteImmediate, bound)
    try:
        (template,) = values_of(spark, [statement.text])
    except PySparkException:
        return None  # Spark says what is wrong with it
    if not isinstance(template, str):
        return None
    by_name = "IDENTIFIER" in template.upper()
    if not by_name and not references_iceberg(spark, template):
        return None
    inner_text = with_expressions(spark, template, statement.values)
    named, _ = replace_identifier_clauses(spark, inner_text, None)
    if not references_iceberg(spark, named):
        return None
    inner = read_statement(named, dialect)
    if isinstance(inner, ExecuteImmediate):
        raise InvalidInputError("EXECUTE IMMEDIATE can't run another EXECUTE IMMEDIATE")
    if statement.into is not None and not isinstance(inner, Query):
        raise InvalidInputError("EXECUTE IMMEDIATE ... INTO takes the only row of a query")
    return inner_text


def may_name_iceberg_tables(spark: SparkSession, text: str, args: Args) -> bool:
    """Return whether a statement, or a text that it executes, may name Iceberg tables."""
    if references_iceberg(spark, text) or _IMMEDIATE.match(text):
        return True
    named, _ = replace_identifier_clauses(spark, text, args)
    return named is not text


def into_variables(spark: SparkSession, names: str, rows: DataFrame) -> DataFrame:
    """Set session variables to a query's only row, or to NULL if it has no row."""
    view = f"iceberg_spark_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        return run_sql(spark, f"SET VARIABLE ({names}) = (SELECT * FROM {view})")  # noqa: S608
    finally:
        spark.catalog.dropTempView(view)


def set_variables(spark: SparkSession, statement: SetVariable, args: Args) -> DataFrame:
    """Set session variables; subqueries read Iceberg tables."""
    with with_subquery_views(spark, [value for _, value in statement.assignments]) as values:
        heads = (head for head, _ in statement.assignments)
        text = "".join(f"{head} {value}" for head, value in zip(heads, values, strict=True))
        run_sql(spark, text, args)
    return nothing(spark)
