"""`sql(spark, text)`: run SQL statements and queries on Iceberg tables, by their own names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import InvalidInputError, InvalidTypeError
from iceberg_spark.scan.report import explain as explain_plan
from iceberg_spark.spark.catalyst.file_pruning import STATUS, pruning_failure
from iceberg_spark.spark.reading.prune_files import prune_in_optimizer
from iceberg_spark.spark.session.active_session import checked_session, in_session
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_cache import session_cache
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.session.worker_python import check_worker_python
from iceberg_spark.spark.sql.frames import with_frames
from iceberg_spark.spark.sql.functions import with_functions
from iceberg_spark.spark.sql.identifier_clauses import replace_identifier_clauses
from iceberg_spark.spark.sql.query import (
    Args,
    Part,
    QueriedView,
    SparksTable,
    plan_query,
)
from iceberg_spark.spark.sql.references_iceberg import references_iceberg
from iceberg_spark.spark.sql.statements.read import read_statement
from iceberg_spark.spark.sql.statements.script import read_script
from iceberg_spark.spark.sql.statements.session_state import ExecuteImmediate
from iceberg_spark.spark.sql.table_planner import (
    ChangedRows,
    MetadataRows,
    QueriedTable,
)
from iceberg_spark.spark.sql.variables import with_variables
from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.shown import ShownText
from iceberg_spark.statements.run import run_statement
from iceberg_spark.statements.scripts import run_script
from iceberg_spark.statements.session_state import build_immediate_text, into_variables


def sql(spark: SparkSession, query: str, args: Args = None, **frames: Any) -> DataFrame:
    """Run one SQL statement on Iceberg tables, in any session.

    Commands (CREATE, ALTER, INSERT, DELETE, UPDATE, MERGE, CALL, SHOW, ...) run immediately.
    Queries are lazy: each table is pinned to its current snapshot when the DataFrame is created.
    Statements that name no Iceberg table go to Spark unchanged.

    Args:
        spark: The session, classic or Connect.
        query: The statement. A table is named by a catalog (`cat.db.t`, `cat.db.t.snapshots`,
            `cat.db.t.branch_audit`, `cat.db.t.tag_eoy`) or by its location in backticks. Both take
            VERSION AS OF and TIMESTAMP AS OF. Catalogs are those of `load_catalog`; views are read
            where the catalog has them (types rest, sql, hive and memory).
        args: Values of parameters such as `:day` or `?`.
        **frames: DataFrames and values that the text names in braces, as in
            `spark.sql("... FROM {df}", df=df)`.

    Returns:
        The rows of a query, or what the command returns.

    Raises:
        InvalidInputError: The statement cannot be parsed; the message has line and column.
        NoSuchTableError: A table does not exist.
        NoSuchSnapshotError: A snapshot, branch or tag does not exist.
        IcebergError: The change fails, as it does with the methods of `Table`.

    Examples:
        >>> ice.sql(spark, "SELECT count(*) FROM prod.shop.orders WHERE id < :id", {"id": 9})
    """
    return sql_with(spark, query, args, frames)


def sql_with(spark: SparkSession, query: str, args: Args, frames: Mapping[str, Any]) -> DataFrame:
    """Run a statement as `sql` does, with frames of any name: `query=...` may be one."""
    _check(spark, query)
    check_worker_python(spark)
    with in_session(spark), session_cache(spark):
        return _run(spark, query, args, frames)


def _run(spark: SparkSession, query: str, args: Args, frames: Mapping[str, Any]) -> DataFrame:
    query = with_variables(spark, query)
    text, named_frames = with_frames(spark, query, frames) if frames else (query, {})
    text, left = replace_identifier_clauses(spark, text, args)
    script = read_script(text, session_dialect(spark)) if references_iceberg(spark, text) else None
    if script is not None:
        return run_script(spark, script, text, args, frames, sql_with)
    try:
        text = with_functions(spark, text)
        statement = read_statement(text, session_dialect(spark))
    except InvalidInputError:
        if references_iceberg(spark, text):
            raise
        return run_sql(spark, query, args, **frames)
    if isinstance(statement, ExecuteImmediate):
        return _execute(spark, statement, text, args)
    return run_statement(spark, statement, text, left, named_frames)


def _execute(spark: SparkSession, statement: ExecuteImmediate, text: str, args: Args) -> DataFrame:
    inner_text = build_immediate_text(spark, statement, text, args)
    if inner_text is None:
        return run_sql(spark, text, args)
    rows = sql(spark, inner_text)
    return rows if statement.into is None else into_variables(spark, statement.into, rows)


def explain(spark: SparkSession, query: str) -> str:
    """Return, for a person, what a query reads of each Iceberg table, and what prunes it.

    The last line tells whether Spark's optimizer prunes files as well, and if not, why.

    Args:
        spark: The session, classic or Connect.
        query: A query in SQL.

    Examples:
        >>> print(ice.explain(spark, "SELECT * FROM prod.shop.orders WHERE id < 10"))
    """
    _check(spark, query)
    parts = plan_query(spark, query).parts
    if not parts and references_iceberg(spark, query):
        return ShownText("Spark alone can parse this query: EXPLAIN shows which files it reads.")
    if not parts:
        return ShownText("The query names no Iceberg table.")
    texts = [text for part in parts for text in _parts_explained(part)]
    return ShownText(printable("\n\n".join([*texts, _pruning_in_optimizer(spark)])))


def _pruning_in_optimizer(spark: SparkSession) -> str:
    prune_in_optimizer(spark)
    failure = pruning_failure(spark)
    state = f"on, {STATUS.pruned_plans:,} plans so far" if failure is None else f"off: {failure}"
    return f"file pruning in the optimizer: {state}"


def _parts_explained(part: Part) -> Iterator[str]:
    match part:
        case QueriedTable():
            yield _explained(part)
        case QueriedView(name=name, query=query):
            yield f"{part.reference.name}:\n  a view; its text reads what follows"
            for inner_part in query.parts:
                for text in _parts_explained(inner_part):
                    yield f"in view {name}, {text}"
        case SparksTable():
            yield f"{part.reference.name}:\n  a table of Spark's"


def _check(spark: object, query: object) -> None:
    checked_session(spark)
    if not isinstance(query, str):
        raise InvalidTypeError(f"The query must be text, not {type(query).__name__}")


def _explained(table: QueriedTable) -> str:
    lines = [f"{table.reference.name}:"]
    lines += [f"  pruned by  {text}" for text in table.conditions]
    lines += [f"  not understood, prunes nothing  {text}" for text in table.left_out]
    match table.scan:
        case MetadataRows():
            lines.append("  a metadata table")
        case ChangedRows(changes):
            lines.append(f"  {changes}")
        case plan:
            lines += [f"  {line}" for line in explain_plan(plan).splitlines()]
    return "\n".join(lines)
