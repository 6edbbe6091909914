"""SHOW, DESCRIBE, COMMENT ON and USE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.session.error_conditions import UNSUPPORTED_COMMAND, with_condition
from iceberg_spark.spark.sql.statements.cursor import Cursor
from iceberg_spark.spark.sql.statements.namespaces import KINDS
from iceberg_spark.spark.sql.statements.rows import partition_values
from iceberg_spark.spark.sql.statements.views import ShowViews

Scope: TypeAlias = Literal["user", "system", "all"]


@dataclass(frozen=True, slots=True)
class ShowProcedures:
    """The procedures of a namespace."""

    namespace: Name


@dataclass(frozen=True, slots=True)
class ShowFunctions:
    """The functions of a namespace; Spark's own (`system`) too unless `scope` is user."""

    namespace: Name
    scope: Scope = "all"
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeRoutine:
    """A procedure, or with `is_function` a function, to describe."""

    name: Name
    is_function: bool = False


def read_describe_routine(cursor: Cursor) -> DescribeRoutine | None:
    """Read the rest of a statement after DESCRIBE; None for a function without a namespace.

    Raises InvalidInputError.
    """
    if cursor.takes("PROCEDURE"):
        name = cursor.name()
        cursor.done()
        return DescribeRoutine(name)
    cursor.needs("FUNCTION")
    cursor.takes("EXTENDED")
    if cursor.sees_string() or len(name := cursor.name()) == 1:
        return None
    cursor.done()
    return DescribeRoutine(name, is_function=True)


def read_show_procedures(cursor: Cursor) -> ShowProcedures:
    """Read the rest of a statement after SHOW PROCEDURES. Raises InvalidInputError."""
    is_given = cursor.takes_one_of("IN", "FROM") is not None
    namespace = cursor.name() if is_given else ()
    cursor.done()
    return ShowProcedures(namespace)


def read_show_functions(cursor: Cursor) -> ShowFunctions | None:
    """Read the rest of a statement after SHOW; None if it names no namespace.

    The namespace follows IN, or is the qualifier of the name of one function. Raises
    InvalidInputError.
    """
    scopes: dict[str, Scope] = {"USER": "user", "SYSTEM": "system", "ALL": "all"}
    word = cursor.takes_one_of(*scopes)
    scope = scopes[word or "ALL"]
    if not cursor.takes("FUNCTIONS"):
        return None
    if cursor.takes_one_of("IN", "FROM") is not None:
        namespace = cursor.name()
        cursor.takes("LIKE")
        return ShowFunctions(namespace, scope, _routine_pattern(cursor))
    if cursor.at_end or cursor.sees("LIKE") or cursor.sees_string():
        return None
    *above, name = cursor.name()
    cursor.done()
    return ShowFunctions(tuple(above), scope, name) if above else None


def _routine_pattern(cursor: Cursor) -> str | None:
    if cursor.at_end:
        return None
    pattern = cursor.string() if cursor.sees_string() else cursor.identifier()
    cursor.done()
    return pattern


Name: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowTables:
    """The tables of a namespace; `pattern` is Spark's (`*`, `|`)."""

    namespace: Name
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowTablesExtended:
    """The tables of a namespace that match a pattern, each with a description."""

    namespace: Name
    pattern: str


@dataclass(frozen=True, slots=True)
class ShowNamespaces:
    """The namespaces of a catalog, or below a namespace."""

    parent: Name
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCatalogs:
    """The catalogs of Spark and Iceberg."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    """The statement that creates a table."""

    table: Name


@dataclass(frozen=True, slots=True)
class ShowProperties:
    """A table's properties, or one of them."""

    table: Name
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """The names of a table's columns; `namespace` is the one of IN or FROM after the table."""

    table: Name
    namespace: Name = ()


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """A table's partitions; `partition` are the values of PARTITION, as written."""

    table: Name
    partition: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """A table's columns and partitioning; `extended` adds details, `column` is a single column."""

    table: Name
    extended: bool = False
    column: Name | None = None


@dataclass(frozen=True, slots=True)
class DescribeNamespace:
    """A namespace's properties."""

    name: Name
    extended: bool = False


@dataclass(frozen=True, slots=True)
class CommentOn:
    """A comment on a table or namespace; None removes it."""

    kind: str
    name: Name
    comment: str | None


@dataclass(frozen=True, slots=True)
class Use:
    """The catalog and namespace of unqualified names."""

    name: Name


@dataclass(frozen=True, slots=True)
class ShowCurrentNamespace:
    """The catalog and namespace that USE chose."""


@dataclass(frozen=True, slots=True)
class RefreshTable:
    """Has no effect: each query loads the newest version."""

    table: Name


Listing: TypeAlias = (
    ShowTables
    | ShowTablesExtended
    | ShowFunctions
    | ShowProcedures
    | DescribeRoutine
    | ShowViews
    | ShowNamespaces
    | ShowCreateTable
    | ShowProperties
    | ShowColumns
    | ShowPartitions
    | ShowCurrentNamespace
    | DescribeTable
    | DescribeNamespace
    | RefreshTable
)


def read_show(cursor: Cursor) -> Listing | None:
    """Read a statement that begins with SHOW; None if it is for Spark.

    Raises InvalidInputError.
    """
    cursor.needs("SHOW")
    if cursor.takes("CURRENT"):
        return _ended(cursor, ShowCurrentNamespace()) if cursor.takes_one_of(*KINDS) else None
    if cursor.takes("TABLES"):
        return ShowTables(_within(cursor), _pattern(cursor))
    if cursor.takes("VIEWS"):
        return ShowViews(_within(cursor), _pattern(cursor))
    if cursor.takes_one_of("NAMESPACES", "DATABASES", "SCHEMAS") is not None:
        return ShowNamespaces(_within(cursor), _pattern(cursor))
    if cursor.takes("TABLE", "EXTENDED"):
        return _tables_extended(cursor)
    if cursor.takes("PROCEDURES"):
        return read_show_procedures(cursor)
    return _read_show_of_table(cursor) or read_show_functions(cursor)


def _read_show_of_table(cursor: Cursor) -> Listing | None:
    if cursor.takes("CREATE", "TABLE"):
        table = cursor.name()
        if cursor.takes("AS", "SERDE"):
            raise with_condition(
                UnsupportedError("SHOW CREATE TABLE ... AS SERDE: leave AS SERDE out"),
                UNSUPPORTED_COMMAND,
            )
        return _ended(cursor, ShowCreateTable(table))
    if cursor.takes("TBLPROPERTIES"):
        return _ended(cursor, ShowProperties(cursor.name(), _key(cursor)))
    if cursor.takes("PARTITIONS"):
        table = cursor.name()
        values = partition_values(cursor) if cursor.takes("PARTITION") else ()
        return _ended(cursor, ShowPartitions(table, values))
    if cursor.takes("COLUMNS"):
        return _ended(cursor, _columns(cursor))
    return None


def read_show_catalogs(cursor: Cursor) -> ShowCatalogs | None:
    """Read SHOW CATALOGS, which names no Iceberg catalog; None for another statement."""
    probe = cursor.fresh()
    return ShowCatalogs(_pattern(probe)) if probe.takes("SHOW", "CATALOGS") else None


def read_describe(cursor: Cursor) -> Listing | None:
    """Read a statement that begins with DESCRIBE or DESC; None for queries and functions."""
    cursor.takes_one_of("DESCRIBE", "DESC")
    if cursor.takes_one_of(*KINDS) is not None:
        extended = cursor.takes("EXTENDED")
        return _ended(cursor, DescribeNamespace(cursor.name(), extended))
    if cursor.sees("FUNCTION") or _sees_procedure(cursor):
        return read_describe_routine(cursor)
    words = ("QUERY", "SELECT", "WITH", "VALUES", "FROM")
    if any(cursor.sees(word) for word in words) or cursor.sees_open():
        return None
    cursor.takes("TABLE")
    extended = cursor.takes_one_of("EXTENDED", "FORMATTED") is not None
    table = cursor.name()
    if cursor.takes("AS", "JSON"):
        error = UnsupportedError("DESCRIBE TABLE ... AS JSON: leave AS JSON out for Iceberg tables")
        raise with_condition(error, UNSUPPORTED_COMMAND)
    if cursor.sees("PARTITION", "("):
        error = UnsupportedError(
            "DESCRIBE TABLE ... PARTITION: use SHOW PARTITIONS, or SELECT from the table's "
            "'partitions' for an Iceberg table"
        )
        raise with_condition(error, UNSUPPORTED_COMMAND)
    column = None if cursor.at_end else cursor.name()
    return _ended(cursor, DescribeTable(table, extended, column))


def _sees_procedure(cursor: Cursor) -> bool:
    """Return whether a name follows PROCEDURE, which is itself the name of a table otherwise."""
    probe = cursor.fresh()
    return probe.takes("PROCEDURE") and not probe.at_end


def read_refresh(cursor: Cursor) -> RefreshTable:
    """Read a statement that begins with REFRESH. Raises InvalidInputError."""
    cursor.needs("REFRESH", "TABLE")
    name = cursor.name()
    cursor.done()
    return RefreshTable(name)


def read_comment(cursor: Cursor) -> CommentOn:
    """Read a statement that begins with COMMENT. Raises InvalidInputError."""
    cursor.needs("COMMENT", "ON")
    kind = cursor.takes_one_of("TABLE", *KINDS)
    if kind is None:
        raise cursor.error("TABLE or NAMESPACE is needed")
    name = cursor.name()
    cursor.needs("IS")
    comment = None if cursor.takes("NULL") else cursor.string()
    cursor.done()
    return CommentOn("table" if kind == "TABLE" else "namespace", name, comment)


def read_use(cursor: Cursor) -> Use:
    """Read a statement that begins with USE, or SET CATALOG. Raises InvalidInputError."""
    if cursor.takes("SET", "CATALOG"):
        catalog = cursor.string() if cursor.sees_string() else cursor.identifier()
        cursor.done()
        return Use((catalog,))
    cursor.needs("USE")
    cursor.takes_one_of(*KINDS)
    name = cursor.name()
    cursor.done()
    return Use(name)


def _tables_extended(cursor: Cursor) -> ShowTablesExtended:
    namespace = _within(cursor)
    cursor.needs("LIKE")
    pattern = cursor.string()
    if cursor.sees("PARTITION"):
        raise cursor.fault(
            "SHOW TABLE EXTENDED ... PARTITION is not supported for Iceberg tables; use SHOW "
            "PARTITIONS, or query the metadata table .partitions"
        )
    cursor.done()
    return ShowTablesExtended(namespace, pattern)


def _columns(cursor: Cursor) -> ShowColumns:
    """Read a table and its namespace, which qualifies a name of one part.

    For longer names it is returned separately, as in Spark (AstBuilder.visitShowColumns).
    """
    _in(cursor)
    table = cursor.name()
    namespace = _within(cursor)
    if len(table) == 1:
        return ShowColumns((*namespace, *table))
    return ShowColumns(table, namespace)


def _in(cursor: Cursor) -> bool:
    return cursor.takes_one_of("IN", "FROM") is not None


def _within(cursor: Cursor) -> Name:
    return cursor.name() if _in(cursor) else ()


def _pattern(cursor: Cursor) -> str | None:
    cursor.takes("LIKE")
    pattern = cursor.string() if cursor.sees_string() else None
    cursor.done()
    return pattern


def _key(cursor: Cursor) -> str | None:
    if not cursor.sees_open():
        return None
    inner = cursor.brackets()
    return inner.string() if inner.sees_string() else inner.rest()


def _ended(cursor: Cursor, listing: Listing) -> Listing:
    cursor.done()
    return listing
