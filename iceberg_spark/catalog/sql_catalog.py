"""A catalog in a database, in the tables of Java's JdbcCatalog and PyIceberg's SqlCatalog."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from iceberg_spark.catalog.catalog import LoadedTable, Name
from iceberg_spark.catalog.pointer_catalog import Move, PointerCatalog
from iceberg_spark.catalog.sql_tables import (
    TABLE_TYPE,
    SqlTables,
    SqlViews,
    is_table,
    property_rows,
    rows_of,
    split_name,
    table_rows,
)
from iceberg_spark.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.io import location
from iceberg_spark.lazy import LazyModule

sqlalchemy = LazyModule("sqlalchemy")
WAREHOUSE = "warehouse"
_LOCATION = "location"
_EXISTS = "exists"
"""The property that each namespace has, because a namespace exists by its property rows."""
_NO_TYPES = (
    "Views need the column iceberg_type, which the catalog's database does not have: "
    "Java's catalog adds it with its property jdbc.schema-version = V1"
)


def sql_catalog(name: str, properties: Mapping[str, str]) -> PointerCatalog:
    """Return a catalog in the database at the property `uri`; does not connect yet.

    Raises InvalidInputError, UnsupportedError (a package for the database is not installed).
    """
    makes = properties.get("init_catalog_tables", "true").lower() != "false"
    tables = SqlTables(engine_of(database_url(properties)), makes_tables=makes)
    namespaces = SqlNamespaces(name, tables)
    pointers = SqlCatalog(name, properties.get(WAREHOUSE), tables, namespaces)
    views = SqlViews(name, tables, namespaces, pointers.default_location)
    return PointerCatalog(name, properties, pointers, namespaces, sql_catalog, views)


class _NotMoved(Exception):
    """A pointer is not where a commit expects it, so none is moved."""


class SqlCatalog:
    """A row per table has the location of its newest metadata file."""

    __slots__ = ("_name", "_namespaces", "_tables", "_warehouse")

    def __init__(
        self, name: str, warehouse: str | None, tables: SqlTables, namespaces: SqlNamespaces
    ) -> None:
        self._name = name
        self._warehouse = warehouse
        self._tables = tables
        self._namespaces = namespaces

    def find(self, identifier: str) -> str | None:
        """Return the location of a table's newest metadata file, None if there is no table."""
        with self._tables.transaction() as connection:
            namespace, name = split_name(identifier)
            parameters = {"catalog": self._name, "namespace": namespace, "name": name}
            pointer: str | None = connection.execute(_find(self._tables.typed), parameters).scalar()
            return pointer

    def insert(self, created: LoadedTable) -> bool:
        """Add a table; False if a table or view has its name. Raises NoSuchNamespaceError."""
        return self._namespaces.register_table(created.identifier, created.metadata_location)

    def move(self, base: LoadedTable, created: LoadedTable) -> bool:
        """Move a table's pointer; False if it is not at `base`."""
        return self.move_all((Move(base, created),))

    def move_all(self, moves: Sequence[Move]) -> bool:
        """Move several pointers in one step; False, without any move, if one is not at its base.

        In the order of names, so that two commits of the same tables never wait for each other.
        """
        with suppress(_NotMoved), self._tables.transaction() as connection:
            for pointer_move in sorted(moves, key=lambda move: move.created.identifier):
                if not self._moved(connection, pointer_move):
                    raise _NotMoved  # rolls the transaction back
            return True
        return False

    def _moved(self, connection: Any, move: Move) -> bool:
        rows, before = table_rows(), move.base.metadata_location
        moved = connection.execute(
            sqlalchemy.update(rows)
            .where(*self._of(move.created.identifier), rows.c.metadata_location == before)
            .values(
                metadata_location=move.created.metadata_location, previous_metadata_location=before
            )
        )
        return bool(moved.rowcount == 1)

    def remove(self, identifier: str, expected: str | None = None) -> bool:
        """Remove a table's row; False if there is none, or it is not at `expected`."""
        rows = table_rows()
        with self._tables.transaction() as connection:
            removed = sqlalchemy.delete(rows).where(*self._of(identifier))
            if expected is not None:
                removed = removed.where(rows.c.metadata_location == expected)
            return bool(connection.execute(removed).rowcount == 1)

    def default_location(self, identifier: str) -> str:
        """Return the location of a new table: in its namespace's `location` or the warehouse."""
        namespace, name = split_name(identifier)
        with self._tables.transaction() as connection:
            self._namespaces.check(connection, namespace)
            home = self._namespaces.read(connection, namespace).get(_LOCATION)
        if home:
            return location.join(home.rstrip("/"), name)
        if not self._warehouse:
            raise InvalidInputError(
                f"Catalog '{self._name}' has no property {WAREHOUSE}, nor has namespace "
                f"{namespace} a location: one of them says where new tables go"
            )
        return location.join(location.absolute(self._warehouse), *identifier.split("."))

    def _of(self, identifier: str) -> tuple[Any, ...]:
        return rows_of(self._tables, self._name, *split_name(identifier))


@cache
def _find(typed: bool) -> Any:
    """Return the query of every load, prepared once: building it takes longer than its result."""
    rows, value = table_rows(), sqlalchemy.bindparam
    query = sqlalchemy.select(rows.c.metadata_location).where(
        rows.c.catalog_name == value("catalog"),
        rows.c.table_namespace == value("namespace"),
        rows.c.table_name == value("name"),
    )
    return query.where(is_table(rows)) if typed else query


class SqlNamespaces:
    """Namespaces are those that have properties, those that tables are in, and the root."""

    __slots__ = ("_name", "_tables")

    def __init__(self, name: str, tables: SqlTables) -> None:
        self._name = name
        self._tables = tables

    def list_namespaces(self, parent: Name) -> list[Name]:
        """Return the child namespaces of a namespace. Raises NoSuchNamespaceError."""
        with self._tables.transaction() as connection:
            if parent:
                self.check(connection, ".".join(parent))
            names = filter(None, self._names(connection))
        depth = len(parent)
        below = {
            tuple(parts[: depth + 1])
            for parts in (name.split(".") for name in names)
            if tuple(parts[:depth]) == parent and len(parts) > depth
        }
        return sorted(below)

    def exists(self, namespace: Name) -> bool:
        """Return whether the namespace exists, or one below it."""
        with self._tables.transaction() as connection:
            return self._is_there(connection, ".".join(namespace))

    def create(self, namespace: Name, properties: Mapping[str, str]) -> None:
        """Create a namespace. Raises NamespaceAlreadyExistsError."""
        name = ".".join(namespace)
        try:
            with self._tables.transaction() as connection:
                if self._is_there(connection, name):
                    raise self._taken(name)
                self._write(connection, name, {_EXISTS: "true", **properties})
        except sqlalchemy.exc.IntegrityError as error:
            raise self._taken(name) from error

    def _taken(self, name: str) -> NamespaceAlreadyExistsError:
        return NamespaceAlreadyExistsError(f"Namespace {name} is in catalog '{self._name}' already")

    def drop(self, namespace: Name) -> None:
        """Remove an empty namespace. Raises NoSuchNamespaceError, NamespaceNotEmptyError."""
        name = ".".join(namespace)
        with self._tables.transaction() as connection:
            self.check(connection, name)
            rows = table_rows()
            inside = connection.execute(
                sqlalchemy.select(rows.c.table_name).where(
                    rows.c.catalog_name == self._name, rows.c.table_namespace == name
                )
            ).scalar()
            below = next((n for n in self._names(connection) if n.startswith(f"{name}.")), None)
            if inside is not None or below is not None:
                what = f"table or view {inside}" if inside is not None else f"namespace {below}"
                raise NamespaceNotEmptyError(f"Namespace {name} is not empty: it has {what}")
            connection.execute(sqlalchemy.delete(property_rows()).where(*self._of(name)))

    def what_stays(self, namespace: Name) -> str | None:  # noqa: ARG002 (of all the same)
        """Return nothing: a namespace holds only tables and views."""
        return None

    def properties(self, namespace: Name) -> dict[str, str]:
        """Return a namespace's properties. Raises NoSuchNamespaceError."""
        name = ".".join(namespace)
        with self._tables.transaction() as connection:
            self.check(connection, name)
            properties = self.read(connection, name)
        properties.pop(_EXISTS, None)
        return properties

    def update_properties(
        self, namespace: Name, removals: Collection[str], updates: Mapping[str, str]
    ) -> None:
        """Remove and set properties in one step. Raises NoSuchNamespaceError."""
        name = ".".join(namespace)
        with self._tables.transaction() as connection:
            self.check(connection, name)
            rows = property_rows()
            gone = {*removals, *updates} - {_EXISTS}
            connection.execute(
                sqlalchemy.delete(rows).where(*self._of(name), rows.c.property_key.in_(gone))
            )
            marker = {} if _EXISTS in self.read(connection, name) else {_EXISTS: "true"}
            self._write(connection, name, {**marker, **updates})

    def list_tables(self, namespace: Name) -> list[Name]:
        """Return the tables in a namespace. Raises NoSuchNamespaceError."""
        name = ".".join(namespace)
        with self._tables.transaction() as connection:
            self.check(connection, name)
            query = rows_of(self._tables, self._name, name, None)
            names = connection.execute(
                sqlalchemy.select(table_rows().c.table_name).where(*query)
            ).scalars()
            return sorted((*namespace, table) for table in names)

    def rename_table(self, identifier: str, new_identifier: str) -> None:
        """Rename a table; its files stay.

        Raises NoSuchTableError, NoSuchNamespaceError, TableAlreadyExistsError.
        """
        try:
            renamed = self.rename(identifier, new_identifier, TABLE_TYPE)
        except sqlalchemy.exc.IntegrityError as error:
            raise TableAlreadyExistsError(
                f"{new_identifier} is in catalog '{self._name}' already"
            ) from error
        if not renamed:
            raise NoSuchTableError(f"No table {identifier} in catalog '{self._name}'")

    def rename(self, identifier: str, new_identifier: str, kind: str) -> bool:
        """Rename a row; False if there is none.

        Raises NoSuchNamespaceError, IntegrityError (the name is taken).
        """
        namespace, name = split_name(new_identifier)
        with self._tables.transaction() as connection:
            self.check(connection, namespace)
            renamed = connection.execute(
                sqlalchemy.update(table_rows())
                .where(*rows_of(self._tables, self._name, *split_name(identifier), kind))
                .values(table_namespace=namespace, table_name=name)
            )
            return bool(renamed.rowcount == 1)

    def register_table(self, identifier: str, metadata_location: str) -> bool:
        """Add a table's row; False if a table or view has its name.

        Raises NoSuchNamespaceError.
        """
        return self.insert(identifier, metadata_location, TABLE_TYPE)

    def insert(self, identifier: str, metadata_location: str, kind: str) -> bool:
        """Add a row; False if a table or view has its name. Raises NoSuchNamespaceError.

        Raises UnsupportedError for a view if rows have no types.
        """
        namespace, name = split_name(identifier)
        row = {
            "catalog_name": self._name,
            "table_namespace": namespace,
            "table_name": name,
            "metadata_location": metadata_location,
        }
        try:
            with self._tables.transaction() as connection:
                self.check(connection, namespace)
                if self._tables.typed:
                    row["iceberg_type"] = kind
                elif kind != TABLE_TYPE:
                    raise UnsupportedError(_NO_TYPES)
                connection.execute(sqlalchemy.insert(table_rows()).values(row))
        except sqlalchemy.exc.IntegrityError:
            return False
        return True

    def check(self, connection: Any, name: str) -> None:
        """Raise NoSuchNamespaceError unless the namespace exists."""
        if not self._is_there(connection, name):
            raise NoSuchNamespaceError(
                f"No namespace {name} in catalog '{self._name}': "
                f"load_catalog('{self._name}').create_namespace('{name}') makes it"
            )

    def read(self, connection: Any, name: str) -> dict[str, str]:
        """Return all properties of a namespace in the database."""
        rows = property_rows()
        query = sqlalchemy.select(rows.c.property_key, rows.c.property_value)
        return dict(iter(connection.execute(query.where(*self._of(name)))))

    def _write(self, connection: Any, name: str, properties: Mapping[str, str]) -> None:
        rows = [
            {
                "catalog_name": self._name,
                "namespace": name,
                "property_key": key,
                "property_value": value,
            }
            for key, value in properties.items()
        ]
        if rows:
            connection.execute(sqlalchemy.insert(property_rows()), rows)

    def _of(self, name: str) -> tuple[Any, ...]:
        rows = property_rows()
        return rows.c.catalog_name == self._name, rows.c.namespace == name

    def _is_there(self, connection: Any, name: str) -> bool:
        below = f"{name}."
        names = self._names(connection, below) if name else ()
        return not name or any(existing == name or existing.startswith(below) for existing in names)

    def _names(self, connection: Any, below: str | None = None) -> Iterable[str]:
        """Return the namespaces that have a property or a table.

        Only `below` and those that begin with it, ignoring case (SQLite's LIKE); all for None.
        """
        query = [_names_in(column, self._name, below) for column in _namespace_columns()]
        return list(connection.execute(sqlalchemy.union(*query)).scalars())


def _namespace_columns() -> tuple[Any, Any]:
    return table_rows().c.table_namespace, property_rows().c.namespace


def _names_in(column: Any, catalog: str, below: str | None) -> Any:
    query = sqlalchemy.select(column).where(column.table.c.catalog_name == catalog)
    if below is None:
        return query
    inside = column.startswith(below, autoescape=True)
    return query.where(sqlalchemy.or_(column == below[:-1], inside))


pool = LazyModule("sqlalchemy.pool")
URI = "uri"
_JDBC = "jdbc:"
_JDBC_USER, _JDBC_PASSWORD = "jdbc.user", "jdbc.password"
_WAIT_FOR_LOCK = 60  # seconds that SQLite waits while another process commits


def database_url(properties: Mapping[str, str]) -> Any:
    """Return SQLAlchemy's URL of a catalog's database.

    Takes `sqlite:////folder/c.db`, `postgresql://user:password@host/db` and Java's
    `jdbc:sqlite:/folder/c.db`, `jdbc:postgresql://host/db` with `jdbc.user` and `jdbc.password`.

    Raises:
        InvalidInputError: the URL is not valid.
        UnsupportedError: SQLAlchemy is not installed, or SQLite is in memory, which Spark's
            processes cannot reach.
    """
    uri = properties.get(URI, "")
    if not uri:
        raise InvalidInputError("A catalog of type sql needs the property uri of its database")
    try:
        parsed = sqlalchemy.make_url(_without_jdbc(uri))
    except ImportError as error:
        raise UnsupportedError(
            "Catalogs in a database need SQLAlchemy: pip install 'iceberg-spark[sql]'"
        ) from error
    except (sqlalchemy.exc.ArgumentError, ValueError):  # the cause would show parts of the URL
        raise InvalidInputError(_LIKE) from None
    if "@" in (parsed.host or "") or "@" in (parsed.username or ""):
        raise InvalidInputError(_LIKE)  # the host would be shown, with the password's end
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise UnsupportedError(
            "A catalog in SQLite's memory is not seen by Spark's other processes: give a file, "
            "like sqlite:////folder/catalog.db"
        )
    query = dict(parsed.query)
    in_query = query.pop("user", None), query.pop("password", None)
    user = properties.get(_JDBC_USER) or in_query[0]
    password = properties.get(_JDBC_PASSWORD) or in_query[1]
    url = parsed.set(query=query)
    if parsed.get_backend_name() == "sqlite":  # a file needs no user; Java ignores it
        return url
    if user:
        url = url.set(username=user)
    return url.set(password=password) if password else url


def _without_jdbc(uri: str) -> str:
    if not uri.startswith(_JDBC):
        return uri
    text = uri[len(_JDBC) :]
    if text.startswith("sqlite:"):
        return f"sqlite:///{text[len('sqlite:') :]}"
    return text


_LIKE = (
    "The uri of a catalog in a database is like sqlite:////folder/catalog.db or "
    "postgresql://user:secret@host:5432/database; in a name or a secret @ is written %40, : %3A "
    "and / %2F"
)
_MOST_DATABASES = 8
_engines: OrderedDict[tuple[str, int], Any] = OrderedDict()
_lock = threading.Lock()


def engine_of(url: Any) -> Any:
    """Return this process's SQLAlchemy engine for a database; connects at first use.

    Keeps at most eight databases; closes the connections of the least recently used one.
    """
    key = url.render_as_string(hide_password=False), os.getpid()  # none survives a fork
    with _lock:
        if key not in _engines:
            _engines[key] = _engine(key[0])
        _engines.move_to_end(key)
        while len(_engines) > _MOST_DATABASES:
            (_, process), unused = _engines.popitem(last=False)
            unused.dispose(close=process == os.getpid())
        return _engines[key]


def _engine(url: str) -> Any:
    # Errors show no parameters. A connection may have died since its last use: check it first.
    settings: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True}
    if url.startswith("sqlite"):
        settings = {
            "hide_parameters": True,
            "poolclass": pool.NullPool,
            "connect_args": {"timeout": _WAIT_FOR_LOCK},
        }
    try:
        return sqlalchemy.create_engine(url, **settings)
    except sqlalchemy.exc.NoSuchModuleError:
        kind = url.partition(":")[0]
        raise UnsupportedError(
            f"SQLAlchemy knows no database '{kind}': a uri begins with sqlite:// or postgresql://"
        ) from None
    except ImportError as error:
        raise UnsupportedError(
            f"The driver of this database is not installed ({error}); for Postgres: "
            "pip install 'iceberg-spark[postgres]' and postgresql:// as the uri's beginning"
        ) from error
