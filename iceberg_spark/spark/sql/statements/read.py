"""The statement of a SQL text: a supported one, a query, or any other, which is Spark's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.spark.sql.statements.alter_table import AlterTable, read_alter_table
from iceberg_spark.spark.sql.statements.call import Call, read_call
from iceberg_spark.spark.sql.statements.create_table import (
    CreateTable,
    DropTable,
    read_create_table,
    read_drop_table,
)
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spark.sql.statements.listings import (
    CommentOn,
    Listing,
    ShowCatalogs,
    ShowFunctions,
    ShowProcedures,
    ShowTables,
    ShowTablesExtended,
    Use,
    read_comment,
    read_describe,
    read_refresh,
    read_show,
    read_show_catalogs,
    read_use,
)
from iceberg_spark.spark.sql.statements.namespaces import (
    AlterNamespace,
    CreateNamespace,
    DropNamespace,
    read_alter_namespace,
    read_create_namespace,
    read_drop_namespace,
    sees_namespace,
)
from iceberg_spark.spark.sql.statements.rows import (
    Change,
    MultiInsert,
    read_delete,
    read_insert,
    read_merge,
    read_multi_insert,
    read_truncate,
    read_update,
)
from iceberg_spark.spark.sql.statements.session_state import SessionState, read_session_state
from iceberg_spark.spark.sql.statements.views import (
    ShowViews,
    ViewChange,
    read_view_change,
    read_view_columns,
)


@dataclass(frozen=True, slots=True)
class Query:
    """A query as written, without a semicolon."""

    text: str


@dataclass(frozen=True, slots=True)
class Explain:
    """A query to explain or describe; `head` is the text before it."""

    head: str
    query: str


@dataclass(frozen=True, slots=True)
class TemporaryView:
    """A temporary view of the session, or of the application, over a query's current rows."""

    name: str
    query: str
    replaces: bool = False
    columns: tuple[str, ...] = ()
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class CachedView:
    """A temporary view that Spark caches; `head` and `options` are before and after its name."""

    head: str
    name: str
    options: str
    query: str


@dataclass(frozen=True, slots=True)
class Other:
    """A statement that is not about an Iceberg table; `words` are its first."""

    text: str
    words: str


NamespaceListing: TypeAlias = (
    ShowTables | ShowTablesExtended | ShowViews | ShowFunctions | ShowProcedures
)
"""Statements that list the contents of a namespace."""
Command: TypeAlias = (
    CreateTable
    | DropTable
    | AlterTable
    | CreateNamespace
    | DropNamespace
    | AlterNamespace
    | Listing
    | CommentOn
    | Use
    | Change
    | ViewChange
    | Call
)
Statement: TypeAlias = (
    Command
    | MultiInsert
    | Query
    | Explain
    | TemporaryView
    | CachedView
    | ShowCatalogs
    | SessionState
    | Other
)

_BEHIND_WITH: dict[str, Callable[[Cursor, str], Command]] = {
    "INSERT": read_insert,
    "MERGE": read_merge,
    "DELETE": read_delete,
    "UPDATE": read_update,
}
EXPLAIN_MODES = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")
QUERY_WORDS = ("SELECT", "VALUES", "FROM", "TABLE", "(", "MAP", "REDUCE")


def read_statement(text: str, dialect: Dialect = SPARK) -> Statement:
    """Parse a statement. Raises InvalidInputError with line and column."""
    cursor = Cursor(text, tokens_of(text, dialect), dialect)
    if cursor.at_end:
        raise cursor.error("a statement is needed")
    if any(cursor.sees(word) for word in QUERY_WORDS):
        several = read_multi_insert(cursor.fresh()) if cursor.sees("FROM") else None
        return several or Query(cursor.rest())
    if cursor.sees("WITH"):
        return _behind_with(cursor)
    about_query = (
        _explain(cursor) or _temporary_view(cursor.fresh()) or _cached_view(cursor.fresh())
    )
    if about_query is not None:
        return about_query
    command = _definition(cursor) or _row_change(cursor) or _listing(cursor)
    return command or read_show_catalogs(cursor) or read_session_state(cursor) or _other(cursor)


def read_explained(text: str, dialect: Dialect = SPARK) -> Explain:
    """Return the statement after EXPLAIN; `head` is the mode, or empty.

    Raises InvalidInputError.
    """
    cursor = Cursor(text, tokens_of(text, dialect), dialect)
    cursor.needs("EXPLAIN")
    mode = cursor.takes_one_of(*EXPLAIN_MODES)
    return Explain(mode or "", cursor.rest())


def _definition(cursor: Cursor) -> Command | None:
    for verb, read in (
        ("CREATE", read_create_namespace),
        ("DROP", read_drop_namespace),
        ("ALTER", read_alter_namespace),
    ):
        if sees_namespace(cursor, verb):
            return read(cursor)
    if (
        cursor.sees("CREATE", "TABLE")
        or cursor.sees("CREATE", "EXTERNAL", "TABLE")
        or cursor.sees("CREATE", "OR", "REPLACE", "TABLE")
        or cursor.sees("REPLACE", "TABLE")
    ):
        return read_create_table(cursor)
    if cursor.sees("DROP", "TABLE"):
        return read_drop_table(cursor)
    if cursor.sees("ALTER", "TABLE"):
        return read_alter_table(cursor)
    return read_call(cursor) if cursor.sees("CALL") else read_view_change(cursor)


def _row_change(cursor: Cursor) -> Command | None:
    if cursor.sees("INSERT"):
        return read_insert(cursor)
    if cursor.sees("DELETE", "FROM"):
        return read_delete(cursor)
    if cursor.sees("UPDATE"):
        return read_update(cursor)
    if cursor.sees("MERGE"):
        return read_merge(cursor)
    return read_truncate(cursor) if cursor.sees("TRUNCATE") else None


def _listing(cursor: Cursor) -> Command | None:
    if cursor.sees("SHOW"):
        return read_show(cursor.fresh())
    if cursor.sees("DESCRIBE") or cursor.sees("DESC"):
        return read_describe(cursor.fresh())
    if cursor.sees("COMMENT", "ON"):
        return read_comment(cursor)
    if cursor.sees("REFRESH", "TABLE"):
        return read_refresh(cursor)
    return read_use(cursor) if cursor.sees("USE") or cursor.sees("SET", "CATALOG") else None


def _behind_with(cursor: Cursor) -> Statement:
    """Read a statement with CTEs: a query, or a change of rows.

    The verb follows the CTEs directly, since a query may have a column called `delete`.
    """
    probe, start = cursor.fresh(), cursor.position
    try:
        _past_ctes(probe)
    except InvalidInputError:  # Spark raises the error
        return Query(cursor.rest())
    with_clause = cursor.text[start : probe.end]
    for verb, read in _BEHIND_WITH.items():
        if probe.sees(verb):
            return read(probe, with_clause)
    if probe.sees("FROM"):
        several = read_multi_insert(probe, with_clause)
        if several is not None:
            return several
    return Query(cursor.rest())


def _past_ctes(cursor: Cursor) -> None:
    """Read WITH and its CTEs: `name [(columns)] [MAX RECURSION LEVEL n] [AS] (query)`.

    Also reads a query in brackets after them, which no other statement has there.
    """
    cursor.needs("WITH")
    cursor.takes("RECURSIVE")
    cursor.identifier()
    while not cursor.at_end:
        if cursor.sees_open():
            cursor.brackets()
        elif cursor.takes("MAX", "RECURSION", "LEVEL"):
            cursor.integer()
        elif cursor.takes(","):
            cursor.identifier()
        elif not cursor.takes("AS"):
            return


def _explain(cursor: Cursor) -> Explain | None:
    probe = cursor.fresh()
    if probe.takes("DESCRIBE") or probe.takes("DESC"):
        is_said = probe.takes("QUERY")
        is_query = _is_query(probe) if is_said else probe.sees("SELECT") or probe.sees("WITH")
        return Explain("DESCRIBE QUERY ", probe.rest()) if is_query else None
    if not probe.takes("EXPLAIN"):
        return None
    mode = probe.takes_one_of(*EXPLAIN_MODES)
    if not _is_query(probe):
        return None
    return Explain(f"EXPLAIN {mode or ''} ", probe.rest())


def _temporary_view(cursor: Cursor) -> TemporaryView | None:
    if not cursor.takes("CREATE"):
        return None
    replaces = cursor.takes("OR", "REPLACE")
    is_global = cursor.takes("GLOBAL")
    if cursor.takes_one_of("TEMPORARY", "TEMP") is None or not cursor.takes("VIEW"):
        return None
    name = cursor.name()
    if _names_source(cursor.fresh()):
        return None
    columns = tuple(column for column, _ in read_view_columns(cursor))
    if cursor.takes("COMMENT"):
        cursor.string()
    if len(name) > 1 or not cursor.takes("AS"):
        return None
    return TemporaryView(name[0], cursor.rest(), replaces, columns, is_global)


def _names_source(cursor: Cursor) -> bool:
    """Return whether a view's columns, with or without types, and USING come next."""
    if cursor.sees_open():
        cursor.brackets()
    return cursor.sees("USING")


def _cached_view(cursor: Cursor) -> CachedView | None:
    if not cursor.takes("CACHE"):
        return None
    head = "CACHE LAZY TABLE" if cursor.takes("LAZY") else "CACHE TABLE"
    if not cursor.takes("TABLE"):
        return None
    name, start = cursor.name(), cursor.position
    if cursor.takes("OPTIONS"):
        cursor.brackets()
    options = cursor.text[start : cursor.end] if cursor.end > start else ""
    cursor.takes("AS")
    if len(name) > 1 or not _is_query(cursor):
        return None
    return CachedView(head, name[0], options, cursor.rest())


def _is_query(cursor: Cursor) -> bool:
    if not cursor.sees("WITH"):
        return any(cursor.sees(word) for word in QUERY_WORDS)
    return isinstance(_behind_with(cursor.fresh()), Query)


def _other(cursor: Cursor) -> Other:
    probe = cursor.fresh()
    words: list[str] = []
    while len(words) < 2 and not probe.at_end and not probe.sees_string():
        words.append(probe.word().upper())
    return Other(cursor.rest(), " ".join(words))
