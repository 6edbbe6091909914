"""Views of a catalog in a database: rows of type VIEW (Java: JdbcViewOperations)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from iceberg_spark.catalog.catalog import Name
from iceberg_spark.catalog.sql_tables import VIEW_TYPE, SqlTables, rows_of, split, table_rows
from iceberg_spark.catalog.view_file import StoredView
from iceberg_spark.errors import NoSuchViewError, ViewAlreadyExistsError
from iceberg_spark.lazy import LazyModule

sqlalchemy = LazyModule("sqlalchemy")


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
        return rows_of(self._tables, self._name, *split(identifier), VIEW_TYPE)
