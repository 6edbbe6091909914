"""The two tables of a catalog in a database, as in Java's JdbcCatalog and PyIceberg."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol

from iceberg_spark.catalog.catalog import Name
from iceberg_spark.catalog.view_file import StoredView
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchViewError,
    StorageError,
    UnsupportedError,
    ViewAlreadyExistsError,
)
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


def split_name(identifier: str) -> tuple[str, str]:
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


class _Rows(Protocol):
    """The functions of namespaces that views share."""

    def check(self, connection: Any, name: str) -> None: ...

    def insert(self, identifier: str, metadata_location: str, kind: str) -> bool: ...

    def rename(self, identifier: str, new_identifier: str, kind: str) -> bool: ...


class SqlViews:
    """A row per view has the location of its newest metadata file (implements `ViewPointers`)."""

    __slots__ = ("_default_location", "_name", "_rows", "_tables")

    def __init__(
        self, name: str, tables: SqlTables, rows: _Rows, default_location: Callable[[str], str]
    ) -> None:
        """`default_location` returns the location of a new view."""
        self._name = name
        self._tables = tables
        self._rows = rows
        self._default_location = default_location

    def list_views(self, namespace: Name) -> list[Name]:
        """Return the views in a namespace. Raises NoSuchNamespaceError."""
        name = ".".join(namespace)
        with self._tables.transaction() as connection:
            self._rows.check(connection, name)
            conditions = rows_of(self._tables, self._name, name, None, VIEW_TYPE)
            names = connection.execute(
                sqlalchemy.select(table_rows().c.table_name).where(*conditions)
            ).scalars()
            return sorted((*namespace, view) for view in names)

    def find(self, identifier: str) -> str | None:
        """Return the location of a view's newest metadata file, None if there is no view."""
        with self._tables.transaction() as connection:
            query = sqlalchemy.select(table_rows().c.metadata_location)
            pointer: str | None = connection.execute(query.where(*self._of(identifier))).scalar()
            return pointer

    def insert(self, created: StoredView) -> bool:
        """Add a view; False if a view or table has its name.

        Raises NoSuchNamespaceError, UnsupportedError (a database without types of rows).
        """
        return self._rows.insert(created.identifier, created.metadata_location, VIEW_TYPE)

    def move(self, base: StoredView, created: StoredView) -> bool:
        """Move a view's pointer; False if it is not at `base`."""
        rows, before = table_rows(), base.metadata_location
        with self._tables.transaction() as connection:
            moved = connection.execute(
                sqlalchemy.update(rows)
                .where(*self._of(created.identifier), rows.c.metadata_location == before)
                .values(
                    metadata_location=created.metadata_location, previous_metadata_location=before
                )
            )
            return bool(moved.rowcount == 1)

    def remove(self, identifier: str, metadata_location: str) -> bool:
        """Remove a view; False if no view is at the metadata file `metadata_location`."""
        rows = table_rows()
        with self._tables.transaction() as connection:
            same = rows.c.metadata_location == metadata_location
            removed = sqlalchemy.delete(rows).where(*self._of(identifier), same)
            return bool(connection.execute(removed).rowcount == 1)

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a view.

        Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError.
        """
        try:
            renamed = self._rows.rename(identifier, new_identifier, VIEW_TYPE)
        except sqlalchemy.exc.IntegrityError as error:
            raise ViewAlreadyExistsError(
                f"{new_identifier} is in catalog '{self._name}' already"
            ) from error
        if not renamed:
            raise NoSuchViewError(f"No view {identifier} in catalog '{self._name}'")

    def default_location(self, identifier: str) -> str:
        """Return the location of a new view: the one of a table of this name."""
        return self._default_location(identifier)

    def _of(self, identifier: str) -> tuple[Any, ...]:
        return rows_of(self._tables, self._name, *split_name(identifier), VIEW_TYPE)
