"""A catalog in a Hive metastore: its databases are namespaces of one level (Java: HiveCatalog)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from iceberg_spark.catalog.catalog import LoadedTable, Name, exists_by_properties, one_table_only
from iceberg_spark.catalog.hive.hive_changes import (
    create_hive_table,
    database_of,
    drop_hive_table,
    move_pointer,
    refusal_error,
    rename_hive_table,
    split_name,
    table_names,
    table_of,
)
from iceberg_spark.catalog.hive.hive_table import (
    describe,
    is_iceberg,
    is_view,
    new_table,
    pointer_of,
)
from iceberg_spark.catalog.hive.hive_views import HiveViews
from iceberg_spark.catalog.hive.lock import Locks
from iceberg_spark.catalog.hive.metastore import Metastore, Session, hive, thrift
from iceberg_spark.catalog.metadata_file import load_version
from iceberg_spark.catalog.pointer_catalog import Move, PointerCatalog
from iceberg_spark.catalog.table_name import has_two_parts
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
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage

_LOCATION, _COMMENT = "location", "comment"
_OWNER, _OWNER_TYPE = "hive.metastore.database.owner", "hive.metastore.database.owner-type"


def hive_catalog(name: str, properties: Mapping[str, str]) -> PointerCatalog:
    """Return a catalog in the metastore at the property `uri`; does not connect yet.

    Raises InvalidInputError, UnsupportedError (Thrift is not installed; Kerberos, TLS).
    """
    try:
        _ = hive.Table, thrift.TException
    except ImportError as error:
        raise UnsupportedError(
            "Catalogs in a Hive metastore need Thrift: pip install 'iceberg-spark[hive]'"
        ) from error
    settings = {**_of_hadoop(properties), **properties}
    metastore = Metastore(settings)
    locks = Locks.by(metastore, settings)
    pointers = HiveCatalog(name, settings, metastore, locks)
    namespaces = HiveNamespaces(name, metastore, pointers, open_storage(properties))
    views = HiveViews(name, settings, metastore, locks, pointers.default_location)
    return PointerCatalog(name, properties, pointers, namespaces, hive_catalog, views)


def _of_hadoop(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that Java's catalog passes to Hive (`hadoop.iceberg.hive.*`)."""
    begins = "hadoop."
    return {
        key.removeprefix(begins): text
        for key, text in properties.items()
        if key.startswith((f"{begins}iceberg.", f"{begins}hive."))
    }


class HiveNamespaces:
    """Namespaces are Hive's databases."""

    __slots__ = ("_io", "_metastore", "_name", "_pointers")

    def __init__(self, name: str, metastore: Metastore, pointers: HiveCatalog, io: FileIO) -> None:
        self._name = name
        self._metastore = metastore
        self._pointers = pointers
        self._io = io

    def list_namespaces(self, parent: Name) -> list[Name]:
        """Return the databases, which have no children. Raises NoSuchNamespaceError."""
        with self._session() as session:
            if parent:
                self._database(session, parent)
                return []
            return sorted((name,) for name in session.read("get_all_databases"))

    def exists(self, namespace: Name) -> bool:
        """Return whether the namespace exists."""
        return exists_by_properties(self, namespace)

    def create(self, namespace: Name, properties: Mapping[str, str]) -> None:
        """Create a namespace. Raises NamespaceAlreadyExistsError."""
        if len(namespace) != 1:
            raise InvalidInputError(f"{'.'.join(namespace)}: Hive has databases of one level")
        home = self._pointers.default_home(namespace[0].lower())
        owner = {_OWNER: self._metastore.user, _OWNER_TYPE: "USER"}
        if _OWNER in properties:
            owner = {}
        database = hive.Database(name=namespace[0].lower(), locationUri=home)
        _describe(database, {**owner, **properties})
        with self._session() as session:
            try:
                session.once("create_database", database)
            except hive.AlreadyExistsException as error:
                raise NamespaceAlreadyExistsError(
                    f"Namespace {namespace[0]} is in catalog '{self._name}' already"
                ) from error

    def drop(self, namespace: Name) -> None:
        """Remove an empty namespace. Raises NoSuchNamespaceError, NamespaceNotEmptyError."""
        with self._session() as session:
            database = self._database(session, namespace)
            try:
                session.once("drop_database", database.name, False, False)
            except hive.NoSuchObjectException as error:
                raise self._missing(namespace) from error
            except hive.InvalidOperationException as error:
                raise NamespaceNotEmptyError(
                    f"Namespace {namespace[0]} is not empty: it has tables or functions"
                ) from error

    def what_stays(self, namespace: Name) -> str | None:
        """Return Hive's own tables and functions. Raises NoSuchNamespaceError."""
        with self._session() as session:
            database = self._database(session, namespace).name
            tables = table_names(
                session, database, lambda table: not (is_iceberg(table) or is_view(table))
            )
            functions = session.read("get_functions", database, "*")
        others = (
            *(f"table {name}" for name in tables),
            *(f"function {name}" for name in functions),
        )
        return f"{others[0]} in it is Hive's, and no table of Iceberg" if others else None

    def properties(self, namespace: Name) -> dict[str, str]:
        """Return a namespace's properties. Raises NoSuchNamespaceError."""
        with self._session() as session:
            return _properties(self._database(session, namespace))

    def update_properties(
        self, namespace: Name, removals: Collection[str], updates: Mapping[str, str]
    ) -> None:
        """Remove and set properties in one step. Raises NoSuchNamespaceError."""
        with self._session() as session:
            database = self._database(session, namespace)
            remaining = {
                key: value for key, value in _properties(database).items() if key not in removals
            }
            database.description = None
            _describe(database, {**remaining, **updates})
            session.once("alter_database", database.name, database)

    def list_tables(self, namespace: Name) -> list[Name]:
        """Return the Iceberg tables in a namespace. Raises NoSuchNamespaceError."""
        with self._session() as session:
            database = self._database(session, namespace).name
            return [(*namespace, name) for name in table_names(session, database, is_iceberg)]

    def rename_table(self, identifier: str, new_identifier: str) -> None:
        """Rename a table; its files stay.

        Raises NoSuchTableError, NoSuchNamespaceError, TableAlreadyExistsError.
        """
        self._pointers.rename(identifier, new_identifier)

    def register_table(self, identifier: str, metadata_location: str) -> bool:
        """Register a table by a metadata file; False if the name is taken.

        Raises NoSuchNamespaceError.
        """
        database, _ = split_name(identifier)
        with self._session() as session:
            self._database(session, (database,))
        registered: LoadedTable = load_version(self._io, identifier, metadata_location)
        return self._pointers.insert(registered)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        with self._metastore.session() as session:
            try:
                yield session
            except thrift.TException as error:
                raise refusal_error(error) from error

    def _database(self, session: Session, namespace: Name) -> Any:
        if len(namespace) != 1:
            raise self._missing(namespace)
        return database_of(session, self._name, namespace[0].lower())

    def _missing(self, namespace: Name) -> NoSuchNamespaceError:
        return NoSuchNamespaceError(
            f"No namespace {'.'.join(namespace)} in catalog '{self._name}', and Hive has "
            "databases of one level"
        )


def _properties(database: Any) -> dict[str, str]:
    properties = dict(database.parameters or {})
    if database.locationUri:
        properties[_LOCATION] = database.locationUri
    if database.description:
        properties[_COMMENT] = database.description
    if database.ownerName:
        properties[_OWNER] = database.ownerName
        if database.ownerType:
            properties[_OWNER_TYPE] = hive.PrincipalType._VALUES_TO_NAMES[database.ownerType]
    return properties


def _describe(database: Any, properties: Mapping[str, str]) -> None:
    parameters = dict(properties)
    database.locationUri = parameters.pop(_LOCATION, database.locationUri)
    database.description = parameters.pop(_COMMENT, database.description)
    database.ownerName = parameters.pop(_OWNER, database.ownerName)
    kind = parameters.pop(_OWNER_TYPE, None)
    if kind is not None:
        owner_types = hive.PrincipalType._NAMES_TO_VALUES
        if kind not in owner_types:
            raise InvalidInputError(
                f"{_OWNER_TYPE} is '{kind}', not one of {', '.join(owner_types)}"
            )
        database.ownerType = owner_types[kind]
    database.parameters = parameters


WAREHOUSE = "warehouse"


class HiveCatalog:
    """Hive's table has the location of an Iceberg table's newest metadata file."""

    __slots__ = ("_locks", "_metastore", "_name", "_properties")

    def __init__(
        self, name: str, properties: Mapping[str, str], metastore: Metastore, locks: Locks
    ) -> None:
        self._name = name
        self._properties = properties
        self._metastore = metastore
        self._locks = locks

    def find(self, identifier: str) -> str | None:
        """Return the location of a table's newest metadata file, None if there is no table."""
        if not has_two_parts(identifier):
            return None
        with self._metastore.session() as session:
            table = table_of(session, *split_name(identifier))
        return None if table is None else pointer_of(table)

    def insert(self, new: LoadedTable) -> bool:
        """Add a table; False if a table or view has its name.

        Raises NoSuchNamespaceError, UnsupportedError (what the metastore refused).
        """
        user = self._metastore.user
        table = new_table(*split_name(new.identifier), user, new, self._properties)
        with self._metastore.session() as session:
            return create_hive_table(session, self._name, table)

    def move(self, base: LoadedTable, changed: LoadedTable) -> bool:
        """Move a table's pointer; False if it is not at `base`.

        Raises CommitFailedException (others hold the lock), StorageError, UnsupportedError.
        """
        name, before = split_name(changed.identifier), base.metadata_location
        properties = base.metadata.properties
        with self._metastore.session() as session:
            lock = self._locks.of(session, name, properties)
            tell = partial(describe, base=base, committed=changed, catalog=self._properties)
            return move_pointer(session, lock, name, before, pointer_of, tell)

    def move_all(self, moves: Sequence[Move]) -> bool:
        """Raise UnsupportedError: a metastore changes one table at a time."""
        raise one_table_only(self._name, [move.created.identifier for move in moves])

    def remove(self, identifier: str, expected: str | None = None) -> bool:
        """Remove a table; False if there is none, or it is not at `expected` (None: any).

        Raises CommitFailedException (others hold the lock, which `expected` needs).
        """
        name = split_name(identifier)
        with self._metastore.session() as session:
            if expected is None:
                return drop_hive_table(session, name, is_iceberg)
            with self._locks.held(session, name):
                return drop_hive_table(session, name, lambda table: pointer_of(table) == expected)

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a table under its lock: a concurrent commit would be undone.

        Raises NoSuchTableError, NoSuchNamespaceError, TableAlreadyExistsError.
        """
        to = split_name(new_identifier)
        with self._metastore.session() as session:
            database_of(session, self._name, to[0])
            done = rename_hive_table(session, self._locks, split_name(identifier), to, pointer_of)
        if done is None:
            raise NoSuchTableError(f"No table {identifier} in catalog '{self._name}'")
        if not done:
            raise TableAlreadyExistsError(f"{new_identifier} is in catalog '{self._name}' already")

    def default_location(self, identifier: str) -> str:
        """Return the location of a new table: in its database's location or the warehouse."""
        database, name = split_name(identifier)
        with self._metastore.session() as session:
            home = database_of(session, self._name, database).locationUri
        home = home or self.default_home(database)
        if not home:
            raise InvalidInputError(
                f"Catalog '{self._name}' has no property {WAREHOUSE}, nor has database {database} "
                "a location: one of them says where new tables go"
            )
        return location.join(home.rstrip("/"), name)

    def default_home(self, database: str) -> str | None:
        """Return the location of a new database; None: the metastore decides."""
        warehouse = self._properties.get(WAREHOUSE)
        if not warehouse:
            return None
        return location.join(location.absolute(warehouse), f"{database}.db")
