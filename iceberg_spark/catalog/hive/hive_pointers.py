"""Pointers to tables in a Hive metastore, moved under Hive's lock (Java: HiveTableOperations)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tenacity import Retrying, retry_if_result, stop_after_attempt, wait_random_exponential

from iceberg_spark.catalog.catalog import LoadedTable, one_table_only
from iceberg_spark.catalog.hive.hive_table import (
    METADATA_LOCATION,
    describe,
    new_table,
    pointer_of,
)
from iceberg_spark.catalog.hive.lock import HeldLock, LockTimes, locked
from iceberg_spark.catalog.hive.metastore import Metastore, Session, hive, said, thrift
from iceberg_spark.catalog.pointer_catalog import Move
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
    StorageError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.io import location

WAREHOUSE = "warehouse"
_LOCKED = "engine.hive.lock-enabled"
_LOCKED_BY_DEFAULT = "iceberg.engine.hive.lock-enabled"
_LOOKS = 5
"""How often the table is looked at before the lock is given back, after a lost answer."""


def split(identifier: str) -> tuple[str, str]:
    """Return a table's database and name, as Hive keeps them. Raises InvalidInputError."""
    database, _, name = identifier.rpartition(".")
    if not database or not name or "." in database:
        raise InvalidInputError(
            f"'{identifier}' is not database.table: Hive has databases of one level"
        )
    return database.lower(), name.lower()


class HiveCatalog:
    """Hive's table says where the newest metadata file of an Iceberg table is."""

    __slots__ = ("_metastore", "_name", "_properties", "_times")

    def __init__(self, name: str, properties: Mapping[str, str], metastore: Metastore) -> None:
        """Raises InvalidInputError for a time that is no number."""
        self._name = name
        self._properties = properties
        self._metastore = metastore
        try:
            self._times = LockTimes.of(properties)
        except ValueError as error:
            raise InvalidInputError(f"A property iceberg.hive.lock-* is {error}") from error

    def find(self, identifier: str) -> str | None:
        """Return where a table's newest metadata file is; None: there is no such table."""
        with self._metastore.session() as session:
            table = table_of(session, *split(identifier))
        return None if table is None else pointer_of(table)

    def insert(self, made: LoadedTable) -> bool:
        """Add a table; False where a table or view has its name.

        Raises NoSuchNamespaceError, UnsupportedError (what the metastore refused).
        """
        database, name = split(made.identifier)
        table = new_table(database, name, self._metastore.user, made, self._properties)
        with self._metastore.session() as session:
            try:
                session.once("create_table", table)
            except hive.AlreadyExistsException:
                return False
            except thrift.TException as error:
                found = table_of(session, database, name)
                if found is not None:
                    return pointer_of(found) == made.metadata_location
                database_of(session, self._name, database)
                raise refused(error) from error
        return True

    def move(self, base: LoadedTable, made: LoadedTable) -> bool:
        """Move a table's pointer; False where it isn't at `base`.

        Raises CommitFailedException (others hold the lock), StorageError, UnsupportedError.
        """
        database, name = split(made.identifier)
        with self._metastore.session() as session, self._lock(session, base) as held:
            table = table_of(session, database, name)
            if table is None or pointer_of(table) != base.metadata_location:
                return False
            describe(table, base, made, self._properties)
            if held is not None:
                held.check()
            moved = self._alter(session, (database, name), table, base.metadata_location)
            if held is not None:
                held.check()
            return moved

    def move_all(self, moves: Sequence[Move]) -> bool:
        """Refuse: a metastore changes one table at a time. Raises UnsupportedError."""
        raise one_table_only(self._name, [move.made.identifier for move in moves])

    def _alter(self, session: Session, at: tuple[str, str], table: Any, before: str) -> bool:
        """Replace Hive's table; metastores that can (2.3.10, 4.0) see that it is at `before`.

        While the metastore may be at work on it nobody else gets the lock.
        """
        after = pointer_of(table)
        try:
            session.once("alter_table_with_environment_context", *at, table, _expecting(before))
        except StorageError:
            if self._awaited(session, at, before) == after:
                return True
            raise
        except thrift.TException as error:
            found = table_of(session, *at)
            now = None if found is None else pointer_of(found)
            if now == before:
                raise refused(error) from error
            return now == after
        return True

    def _awaited(self, session: Session, at: tuple[str, str], before: str) -> str | None:
        """Look until the table has left `before`, for a few seconds."""

        def look() -> str | None:
            found = table_of(session, *at)
            return None if found is None else pointer_of(found)

        looking = Retrying(
            retry=retry_if_result(lambda now: now == before),
            stop=stop_after_attempt(_LOOKS),
            wait=wait_random_exponential(multiplier=0.2, max=2),
            retry_error_callback=lambda last: last.outcome and last.outcome.result(),
        )
        return looking(look)

    @contextmanager
    def _lock(self, session: Session, base: LoadedTable) -> Iterator[HeldLock | None]:
        default = self._properties.get(_LOCKED_BY_DEFAULT, "true")
        if base.metadata.properties.get(_LOCKED, default).lower() == "false":
            yield None
            return
        with self.locked(session, base.identifier) as held:
            yield held

    @contextmanager
    def locked(self, session: Session, identifier: str) -> Iterator[HeldLock]:
        """Hold Hive's lock of a table."""
        with locked(self._metastore, session, split(identifier), self._times) as held:
            yield held

    def remove(self, identifier: str) -> bool:
        """Forget a table; False where there is none."""
        database, name = split(identifier)
        with self._metastore.session() as session:
            if pointer_of(table_of(session, database, name) or hive.Table()) is None:
                return False
            try:
                session.once("drop_table", database, name, False)
            except hive.NoSuchObjectException:
                return False
            except StorageError:
                if table_of(session, database, name) is not None:
                    raise
            except thrift.TException as error:
                raise refused(error) from error
        return True

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Give a table another name, under its lock: a commit meanwhile would be undone.

        Raises NoSuchTableError, NoSuchNamespaceError, TableAlreadyExistsError.
        """
        to = split(new_identifier)
        with self._metastore.session() as session:
            database_of(session, self._name, to[0])
            with self.locked(session, identifier) as held:
                table = table_of(session, *split(identifier))
                place = None if table is None else pointer_of(table)
                if table is None or place is None:
                    raise NoSuchTableError(f"No table {identifier} in catalog '{self._name}'")
                if table_of(session, *to) is not None:
                    raise TableAlreadyExistsError(
                        f"{new_identifier} is in catalog '{self._name}' already"
                    )
                table.dbName, table.tableName = to
                held.check()
                self._renamed(session, split(identifier), table, place)

    def _renamed(self, session: Session, at: tuple[str, str], table: Any, place: str) -> None:
        try:
            session.once("alter_table_with_environment_context", *at, table, _expecting(None))
        except StorageError:
            found = table_of(session, table.dbName, table.tableName)
            if found is None or pointer_of(found) != place:
                raise
        except thrift.TException as error:
            raise refused(error) from error

    def default_location(self, identifier: str) -> str:
        """Return where a new table goes: below its database's location, or the warehouse."""
        database, name = split(identifier)
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
        """Return where a new database goes; None: the metastore decides."""
        warehouse = self._properties.get(WAREHOUSE)
        if not warehouse:
            return None
        return location.join(location.absolute(warehouse), f"{database}.db")


def table_of(session: Session, database: str, name: str) -> Any | None:
    """Return Hive's table, whatever it is; None: there is none."""
    try:
        return session.read("get_table", database, name)
    except hive.NoSuchObjectException:
        return None
    except thrift.TException as error:
        raise StorageError(f"The Hive metastore did not give the table: {said(error)}") from error


def database_of(session: Session, catalog: str, name: str) -> Any:
    """Return Hive's database. Raises NoSuchNamespaceError."""
    try:
        return session.read("get_database", name)
    except hive.NoSuchObjectException as error:
        raise NoSuchNamespaceError(
            f"No namespace {name} in catalog '{catalog}': "
            f"load_catalog('{catalog}').create_namespace('{name}') makes it"
        ) from error
    except thrift.TException as error:
        raise StorageError(f"The Hive metastore failed: {said(error)}") from error


def refused(error: BaseException) -> UnsupportedError:
    """Return the error for what the metastore did not do, and says so."""
    return UnsupportedError(f"The Hive metastore refused: {said(error)}")


def _expecting(before: str | None) -> Any:
    expected = {"DO_NOT_UPDATE_STATS": "true"}
    if before is not None:
        expected["expected_parameter_key"] = METADATA_LOCATION
        expected["expected_parameter_value"] = before
    return hive.EnvironmentContext(properties=expected)
