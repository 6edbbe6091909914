"""The two tables of a catalog in a database, as in Java's JdbcCatalog and PyIceberg."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from iceberg_spark.errors import InvalidInputError, StorageError, UnsupportedError
from iceberg_spark.io.secrets import cause_without_secrets
from iceberg_spark.lazy import LazyModule

sqlalchemy = LazyModule("sqlalchemy")

TABLES, NAMESPACES = "iceberg_tables", "iceberg_namespace_properties"
TABLE_TYPE, VIEW_TYPE = "TABLE", "VIEW"
_NAME, _LOCATION = 255, 1000  # characters (Java: JdbcUtil)


class SqlTables:
    """A database with a catalog's tables, which are created if they are missing.

    A schema without the column `iceberg_type` (Java: V0) stays unchanged; new ones have it (V1).
    """

    __slots__ = ("_engine", "_makes_tables", "_typed")

    def __init__(self, engine: Any, *, makes_tables: bool) -> None:
        self._engine = engine
        self._makes_tables = makes_tables
        self._typed: bool | None = None

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Open a connection in a transaction that is committed at the end.

        Raises:
            StorageError: it is unknown whether the statement was executed.
            UnsupportedError: the database refused the statement.
        """
        try:
            if self._typed is None:
                self._typed = self._prepared()
            with self._engine.begin() as connection:
                yield connection
        except sqlalchemy.exc.IntegrityError:
            raise
        except (
            sqlalchemy.exc.DBAPIError,
            sqlalchemy.exc.TimeoutError,
            sqlalchemy.exc.PendingRollbackError,
        ) as error:
            if _is_refusal(error):
                message = f"The catalog's database refused: {_error_text(error)}"
                raise UnsupportedError(message) from cause_without_secrets(error)
            failed = f"The catalog's database failed: {_error_text(error)}"
            raise StorageError(failed) from cause_without_secrets(error)

    def _prepared(self) -> bool:
        """Create missing tables; return whether rows have types."""
        if self._lacks_tables():
            if not self._makes_tables:
                raise UnsupportedError(
                    f"The database has no tables {TABLES} and {NAMESPACES}, and "
                    "init_catalog_tables is false"
                )
            try:
                schema().create_all(self._engine)
            except sqlalchemy.exc.DBAPIError:
                if self._lacks_tables():  # otherwise another process has created them since
                    raise
        columns = sqlalchemy.inspect(self._engine).get_columns(TABLES)
        return "iceberg_type" in {column["name"] for column in columns}

    def _lacks_tables(self) -> bool:
        inspected = sqlalchemy.inspect(self._engine)
        return not all(inspected.has_table(name) for name in (TABLES, NAMESPACES))

    @property
    def typed(self) -> bool:
        """Whether rows have types (table or view); valid within a transaction."""
        return bool(self._typed)


def _is_refusal(error: Any) -> bool:
    """Return whether a database refused a statement, so that nothing was or will be executed.

    Errors without a class of their own are plain DatabaseErrors, which prove nothing.
    """
    kinds = sqlalchemy.exc
    refusals = (kinds.ProgrammingError, kinds.DataError, kinds.NotSupportedError)
    return isinstance(error, refusals) and not error.connection_invalidated


def _error_text(error: Any) -> str:
    original = getattr(error, "orig", None) or error
    return " ".join(str(original).split())


def split(identifier: str) -> tuple[str, str]:
    """Return a table's namespace and name as stored in the database.

    The namespace of a table in the catalog's root namespace is "", as in Java's JdbcCatalog.
    """
    namespace, _, name = identifier.rpartition(".")
    if not name:
        raise InvalidInputError(f"'{identifier}' is not a table's name: its last part is empty")
    return namespace, name


@cache
def schema() -> Any:
    """Return SQLAlchemy's description of both tables (Java: JdbcUtil, V1)."""
    text, column = sqlalchemy.String, sqlalchemy.Column
    described = sqlalchemy.MetaData()
    sqlalchemy.Table(
        TABLES,
        described,
        column("catalog_name", text(_NAME), primary_key=True),
        column("table_namespace", text(_NAME), primary_key=True),
        column("table_name", text(_NAME), primary_key=True),
        column("metadata_location", text(_LOCATION)),
        column("previous_metadata_location", text(_LOCATION)),
        column("iceberg_type", text(5)),
    )
    sqlalchemy.Table(
        NAMESPACES,
        described,
        column("catalog_name", text(_NAME), primary_key=True),
        column("namespace", text(_NAME), primary_key=True),
        column("property_key", text(_NAME), primary_key=True),
        column("property_value", text(_LOCATION)),
    )
    return described


def table_rows() -> Any:
    """Return the database table with a row for each table and view."""
    return schema().tables[TABLES]


def rows_of(
    tables: SqlTables, catalog: str, namespace: str, name: str | None, kind: str = TABLE_TYPE
) -> tuple[Any, ...]:
    """Return the conditions that select the row of a table or view, or all in a namespace.

    Call it within a transaction. A row without a type is a table: older writers set no type.
    """
    rows = table_rows()
    conditions = [rows.c.catalog_name == catalog, rows.c.table_namespace == namespace]
    if name is not None:
        conditions.append(rows.c.table_name == name)
    if kind == VIEW_TYPE:
        conditions.append(rows.c.iceberg_type == VIEW_TYPE if tables.typed else sqlalchemy.false())
    elif tables.typed:
        conditions.append(is_table(rows))
    return tuple(conditions)


def is_table(rows: Any) -> Any:
    """Return the condition that a row is a table's, if rows have types."""
    kind = rows.c.iceberg_type
    return sqlalchemy.or_(kind == TABLE_TYPE, kind.is_(None))


def property_rows() -> Any:
    """Return the database table with a row for each property of a namespace."""
    return schema().tables[NAMESPACES]
