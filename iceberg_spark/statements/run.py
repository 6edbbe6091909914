"""Run a statement: this package runs those on Iceberg tables, Spark runs all others."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TypeAlias, cast, get_args

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.session.error_conditions import UNSUPPORTED_COMMAND, with_condition
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_cache import bypass_cache
from iceberg_spark.spark.session.session_catalogs import is_ours
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.arguments import with_arguments, with_versions
from iceberg_spark.spark.sql.current_namespace import current_namespace, use_namespace
from iceberg_spark.spark.sql.enabled_sessions import is_enabled
from iceberg_spark.spark.sql.frames import Frames, frames_as_views
from iceberg_spark.spark.sql.query import Args, plan_query
from iceberg_spark.spark.sql.references_iceberg import references_iceberg
from iceberg_spark.spark.sql.statements.call import Call
from iceberg_spark.spark.sql.statements.create_table import CreateTable
from iceberg_spark.spark.sql.statements.listings import (
    CommentOn,
    DescribeNamespace,
    DescribeRoutine,
    ShowCatalogs,
    ShowCurrentNamespace,
    ShowNamespaces,
    Use,
)
from iceberg_spark.spark.sql.statements.namespaces import (
    AlterNamespace,
    CreateNamespace,
    DropNamespace,
)
from iceberg_spark.spark.sql.statements.read import (
    CachedView,
    Command,
    Explain,
    NamespaceListing,
    Other,
    Query,
    TemporaryView,
    read_explained,
    read_statement,
)
from iceberg_spark.spark.sql.statements.rows import (
    Insert,
    MultiInsert,
)
from iceberg_spark.spark.sql.statements.session_state import SetVariable
from iceberg_spark.spark.sql.statements.views import CreateView
from iceberg_spark.spark.sql.subquery_views import with_query_views
from iceberg_spark.spark.sql.unreadable_text import UnreadableTextError
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.statements import (
    in_catalogs,
    row_changes,
)
from iceberg_spark.statements.answers import nothing
from iceberg_spark.statements.commands import run_command
from iceberg_spark.statements.current import (
    chooses_ours,
    show_current,
    use,
    with_whole_names,
)
from iceberg_spark.statements.explained import explain_command
from iceberg_spark.statements.session_state import set_variables
from iceberg_spark.statements.target import names_namespace, names_table

_OF_SESSION = re.compile(r"\s*(CREATE(\s+OR\s+REPLACE)?|DROP)\s+TEMP(ORARY)?\b", re.IGNORECASE)
"""Heads of statements on objects of the session; after USE, names there are not Iceberg's."""
_SPARKS_CATALOG = "REQUIRES_SINGLE_PART_NAMESPACE"
_COMMANDS = get_args(Command)
OfQuery: TypeAlias = Explain | TemporaryView | CachedView
Carried: TypeAlias = Command | MultiInsert | Query | OfQuery | ShowCatalogs | SetVariable | Other
"""What this module runs: all statements but those that contain another one as a text."""


def run_statement(
    spark: SparkSession, statement: Carried, text: str, args: Args, frames: Frames
) -> DataFrame:
    """Run a statement and return its rows; those of a query are lazy.

    Spark runs its source `text` if it names no Iceberg table. `frames` are the DataFrames that the
    statement names like tables.
    """
    if isinstance(statement, Query):
        query, left = with_versions(spark, statement.text, args)
        return plan_query(spark, query).frame(spark, left, named_frames=frames)
    with bypass_cache(), frames_as_views(spark, frames):
        return _at_once(spark, statement, text, args)


def _at_once(
    spark: SparkSession,
    statement: Command | MultiInsert | OfQuery | ShowCatalogs | SetVariable | Other,
    text: str,
    args: Args,
) -> DataFrame:
    match statement:
        case Explain() | TemporaryView() | CachedView():
            is_iceberg = references_iceberg(spark, statement.query)
            return _of_query(spark, statement, args) if is_iceberg else _by_spark(spark, text, args)
        case SetVariable():
            is_iceberg = references_iceberg(spark, text)
            return (
                set_variables(spark, statement, args)
                if is_iceberg
                else _by_spark(spark, text, args)
            )
        case Other(_, words):
            return _other(spark, words, text, args)
        case ShowCatalogs():
            return in_catalogs.show_catalogs(spark, statement, _by_spark(spark, text, args))
        case MultiInsert():
            return _several_inserts(spark, statement, text, args)
        case Use() | ShowCurrentNamespace():
            return _current(spark, statement, text, args)
        case command:
            return _command(spark, with_whole_names(spark, command), text, args)


def _of_query(spark: SparkSession, statement: OfQuery, args: Args) -> DataFrame:
    versioned, args = with_versions(spark, statement.query, args)
    query = plan_query(spark, versioned)
    match statement:
        case Explain(head):
            return query.frame(spark, args, head)
        case TemporaryView():
            return _temporary_view(statement, query.frame(spark, args))
        case CachedView(head, name, options):
            query.frame(spark, args).createTempView(quote(name))
            try:
                return run_sql(spark, f"{head} {quote(name)} {options}")
            except BaseException:  # CACHE TABLE failed, so its view must go
                spark.catalog.dropTempView(name)
                raise


def _temporary_view(statement: TemporaryView, rows: DataFrame) -> DataFrame:
    if statement.columns:
        rows = rows.toDF(*statement.columns)
    if statement.is_global:
        creates, replaces = rows.createGlobalTempView, rows.createOrReplaceGlobalTempView
    else:
        creates, replaces = rows.createTempView, rows.createOrReplaceTempView
    (replaces if statement.replaces else creates)(quote(statement.name))
    return nothing(rows.sparkSession)


def _command(spark: SparkSession, command: Command, text: str, args: Args) -> DataFrame:
    if not _is_about_ours(spark, command):
        return _into_sparks(spark, command, text, args)
    if args:
        bound = read_statement(with_arguments(spark, text, args), session_dialect(spark))
        return run_command(spark, with_whole_names(spark, cast(Command, bound)))
    return run_command(spark, command)


def _several_inserts(
    spark: SparkSession, statement: MultiInsert, text: str, args: Args
) -> DataFrame:
    if not references_iceberg(spark, text):
        return _by_spark(spark, text, args)
    if args:
        bound = read_statement(with_arguments(spark, text, args), session_dialect(spark))
        statement = cast(MultiInsert, bound)
    inserts = [cast(Insert, with_whole_names(spark, insert)) for insert in statement.inserts]
    with ExitStack() as views:
        writes = [_prepared_insert(spark, views, insert) for insert in inserts]
        for write in writes:
            write()
    return nothing(spark)


def _prepared_insert(spark: SparkSession, views: ExitStack, insert: Insert) -> Callable[[], object]:
    """Return a function that writes an insert; into another table than Iceberg's, Spark does.

    Iceberg tables in Spark's query are temporary views, pinned to their versions, until `views`
    ends.
    """
    if names_table(spark, insert.table):
        return row_changes.prepare_insert(spark, insert)
    query = views.enter_context(with_query_views(spark, insert.query))
    return partial(run_sql, spark, f"{insert.head}{query}")


def _is_about_ours(spark: SparkSession, command: Command) -> bool:
    name = name_in(command)
    match command:
        case ShowNamespaces():
            return bool(name) and is_ours(spark, name[0])
        case CreateNamespace() | DropNamespace() | AlterNamespace() | CommentOn(kind="namespace"):
            _refuse_catalog(spark, name)
            return len(name) > 1 and names_namespace(spark, name)
        case DescribeNamespace():
            return names_namespace(spark, name)
        case _ if isinstance(command, NamespaceListing):
            return names_namespace(spark, name)
        case _:
            return names_table(spark, name)


def _refuse_catalog(spark: SparkSession, name: tuple[str, ...]) -> None:
    """Refuse to change an Iceberg catalog's root as a namespace, which it is for reads only.

    Spark would mistake the name for a namespace of its own catalog. Sessions that are not enabled
    may have a database of that name.
    """
    if len(name) == 1 and is_enabled(spark) and is_ours(spark, name[0]):
        raise UnsupportedError(
            f"{name[0]} is a catalog and cannot be created, changed or dropped by a statement: "
            f"name a namespace in it, like {name[0]}.db"
        )


def _current(
    spark: SparkSession, statement: Use | ShowCurrentNamespace, text: str, args: Args
) -> DataFrame:
    """Choose or show the current catalog and namespace; Spark's own choice is separate from it."""
    if isinstance(statement, ShowCurrentNamespace):
        chosen = current_namespace(spark)
        return _by_spark(spark, text, args) if chosen is None else show_current(spark, chosen)
    choice = cast(Use, with_whole_names(spark, statement))
    if chooses_ours(spark, choice):
        return use(spark, choice)
    done = _by_spark(spark, text, args)
    use_namespace(spark, None)
    return done


def name_in(command: Command) -> tuple[str, ...]:
    """Return the table, namespace or catalog that a command is about."""
    if isinstance(command, NamespaceListing):
        return command.namespace
    match command:
        case CreateNamespace() | DropNamespace() | AlterNamespace() | DescribeNamespace():
            return command.name
        case CommentOn():
            return command.name
        case ShowNamespaces(parent):
            return parent
        case Call(name) | DescribeRoutine(name):
            return name
        case Use() | ShowCurrentNamespace():
            return ()
        case _:
            return command.table


def _into_sparks(spark: SparkSession, command: Command, text: str, args: Args) -> DataFrame:
    """Let Spark run a command, with temporary views in place of the Iceberg tables in its query."""
    if isinstance(command, CreateView):
        return _other(spark, "CREATE VIEW", text, args)
    query = command.query if isinstance(command, CreateTable | Insert) else None
    ctes = command.ctes if isinstance(command, Insert) else ""
    own = "" if query is None else query.removeprefix(f"{ctes} ")
    if query is None or own not in text or not references_iceberg(spark, query):
        return _by_spark(spark, text, args)
    head = text[: text.rindex(own)].replace(ctes, "", 1)  # Spark takes them behind INSERT as well
    with with_query_views(spark, query) as replaced:
        return _by_spark(spark, f"{head}{replaced}", args)


def _other(spark: SparkSession, words: str, text: str, args: Args) -> DataFrame:
    """Let Spark run an unknown statement; raise an error if Iceberg tables prevent that."""
    # Spark returns the error of the explained statement as rows.
    if words.startswith("EXPLAIN") and references_iceberg(spark, text):
        explained = _explained(spark, text, args)
        if explained is not None:
            return explained
    try:
        return _by_spark(spark, text, args)
    except AnalysisException as error:
        if _OF_SESSION.match(text) or not references_iceberg(spark, text):
            raise
        if isinstance(error, ParseException):
            raise UnreadableTextError(f"{text.strip()}: {error}") from error
        hint = "; use CACHE TABLE name AS SELECT * FROM it" if words.startswith("CACHE") else ""
        unsupported = UnsupportedError(
            f"{text.strip()}: this statement is not supported for Iceberg tables{hint}"
        )
        if error.getCondition() == _SPARKS_CATALOG:  # over Connect Spark knows no other catalog
            with_condition(unsupported, UNSUPPORTED_COMMAND)
        raise unsupported from error


def _explained(spark: SparkSession, text: str, args: Args) -> DataFrame | None:
    """Return the plan of a command on Iceberg tables; None for another statement."""
    dialect = session_dialect(spark)
    inner = read_explained(with_arguments(spark, text, args), dialect)
    statement = read_statement(inner.query, dialect)
    if not isinstance(statement, _COMMANDS):
        return None
    command = with_whole_names(spark, cast(Command, statement))
    if not _is_about_ours(spark, command):
        return None
    return explain_command(spark, command, name_in(command), inner.head)


def _by_spark(spark: SparkSession, text: str, args: Args) -> DataFrame:
    return run_sql(spark, text, args)
