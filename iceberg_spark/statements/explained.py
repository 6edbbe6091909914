"""EXPLAIN of commands: what a statement does, and how the rows that it needs are read."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.spark.sql.query import Query, plan_query
from iceberg_spark.spark.sql.statements.create_table import CreateTable
from iceberg_spark.spark.sql.statements.read import Command
from iceberg_spark.spark.sql.statements.rows import (
    Delete,
    Insert,
    Merge,
    Truncate,
    Update,
    WhenClause,
)
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.statements.answers import rows_of
from iceberg_spark.statements.row_changes import planned_query
from iceberg_spark.statements.write_target import resolve_write_target

_TITLE = "== Physical Plan =="


def explain_command(
    spark: SparkSession, command: Command, name: tuple[str, ...], mode: str
) -> DataFrame:
    """Return a plan as text, in one row as Spark does: the command, and below it the rows it reads.

    `name` is what the command is about; `mode` is a word of EXPLAIN, or nothing. Raises
    NoSuchTableError for rows of a table that is not there, and what the query raises.
    """
    lines = [f"{type(command).__name__} {'.'.join(name)}"]
    query = _read(spark, command)
    if query is not None:
        (plan,) = query.frame(spark, before=f"EXPLAIN {mode} ").first() or ("",)
        if plan.startswith(_TITLE):
            lines += _below(plan.removeprefix(_TITLE).strip("\n").splitlines())
        else:  # several plans, each with a title of its own
            lines.append(plan.strip("\n"))
    text = "\n".join([_TITLE, *lines, ""])
    return rows_of(spark, "plan string", [(text,)])


def _below(plan: list[str]) -> list[str]:
    """Return the lines of a plan as those below another node."""
    return [f"{'+- ' if index == 0 else '   '}{line}" for index, line in enumerate(plan)]


def _read(spark: SparkSession, command: Command) -> Query | None:
    """Return the query whose rows a command reads; None for one that reads none."""
    match command:
        case Insert():
            return planned_query(spark, command)
        case CreateTable(query=str() as text):
            return plan_query(spark, text)
        case Delete() | Update():
            resolve_write_target(spark, command.table)
            rows = f"{_named(command.table)} {_alias(command.alias)}"
            return plan_query(spark, f"SELECT * FROM {rows} WHERE {command.condition}")  # noqa: S608
        case Merge():
            return plan_query(spark, _merged(spark, command))
        case Truncate(table=table):
            resolve_write_target(spark, table)
            return None
        case _:
            return None


def _merged(spark: SparkSession, merge: Merge) -> str:
    resolve_write_target(spark, merge.table)
    source = merge.source if merge.source_name else f"{merge.source} {_alias(merge.source_alias)}"
    target = f"{_named(merge.table)} {_alias(merge.alias)}"
    join = f"{_join(merge.clauses)} JOIN"
    return f"SELECT * FROM {source} {join} {target} ON {merge.on}"  # noqa: S608 (the user's own text)


def _join(clauses: tuple[WhenClause, ...]) -> str:
    """Return the join that finds the rows which the clauses are about."""
    kinds = {clause.kind for clause in clauses}
    if "by_source" in kinds:
        return "FULL"
    return "LEFT" if "not_matched" in kinds else "INNER"


def _named(name: tuple[str, ...]) -> str:
    return ".".join(map(quote, name))


def _alias(alias: str | None) -> str:
    return "" if alias is None else f"AS {quote(alias)}"
