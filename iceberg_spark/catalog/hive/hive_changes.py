"""Read and change Hive's tables; after a lost response, read whether the change was made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tenacity import Retrying, retry_if_result, stop_after_attempt, wait_random_exponential

from iceberg_spark.catalog.hive.hive_table import METADATA_LOCATION, place_of
from iceberg_spark.catalog.hive.lock import HeldLock, Locks
from iceberg_spark.catalog.hive.metastore import Session, error_text, hive, thrift
from iceberg_spark.catalog.table_name import has_two_parts
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchNamespaceError,
    StorageError,
    UnsupportedError,
)

_BATCH = 100
"""Tables in one request (Java: HiveCatalog)."""
_LOOKS = 5
"""How often to read the table before releasing the lock, after a lost response."""


def split_name(identifier: str) -> tuple[str, str]:
    """Return a table's database and name, as Hive stores them. Raises InvalidInputError."""
    database, _, name = identifier.rpartition(".")
    if not has_two_parts(identifier):
        raise InvalidInputError(
            f"'{identifier}' is not database.table: Hive has databases of one level"
        )
    return database.lower(), name.lower()


def table_of(session: Session, database: str, name: str) -> Any | None:
    """Return Hive's table of any kind, None if there is none."""
    try:
        return session.read("get_table", database, name)
    except hive.NoSuchObjectException:
        return None
    except thrift.TException as error:
        raise StorageError(
            f"The Hive metastore did not give the table: {error_text(error)}"
        ) from error


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
        raise StorageError(f"The Hive metastore failed: {error_text(error)}") from error


def table_names(session: Session, database: str, is_wanted: Callable[[Any], bool]) -> list[str]:
    """Return the names of a database's tables that satisfy a condition, in order.

    Raises StorageError, UnsupportedError (the metastore refused).
    """
    matching = []
    try:
        names = session.read("get_all_tables", database)
        for first in range(0, len(names), _BATCH):
            batch = names[first : first + _BATCH]
            tables = session.read("get_table_objects_by_name", database, batch)
            matching += [table.tableName for table in tables if is_wanted(table)]
    except thrift.TException as error:
        raise refusal_error(error) from error
    return sorted(matching)


def refusal_error(error: BaseException) -> UnsupportedError:
    """Return the error for a request that the metastore refused."""
    return UnsupportedError(f"The Hive metastore refused: {error_text(error)}")


def create_hive_table(session: Session, catalog: str, table: Any) -> bool:
    """Add a table; False if the name is taken.

    Raises NoSuchNamespaceError, StorageError, UnsupportedError (the metastore refused).
    """
    try:
        session.once("create_table", table)
    except hive.AlreadyExistsException:
        return False
    except thrift.TException as error:
        existing = table_of(session, table.dbName, table.tableName)
        if existing is not None:
            return place_of(existing) == place_of(table)
        database_of(session, catalog, table.dbName)
        raise refusal_error(error) from error
    return True


def _altered(
    session: Session, name: tuple[str, str], table: Any, before: str, *, is_locked: bool
) -> bool:
    """Replace Hive's table. Without a lock, the metastore checks that it is still at `before`.

    Metastores 2.3.10 and 4.0 can check that with direct SQL only; without it they refuse. Under the
    lock the metastore checks nothing (Java: HiveTableOperations.persistTable), and nobody else gets
    the lock while the metastore may be changing the table.
    """
    expected = None if is_locked else before
    after = place_of(table)
    try:
        session.once("alter_table_with_environment_context", *name, table, _expecting(expected))
    except StorageError:
        if _awaited(session, name, before) == after:
            return True
        raise
    except thrift.TException as error:
        now = _pointer(session, name)
        if now == before:
            raise refusal_error(error) from error
        return now == after
    return True


def move_pointer(
    session: Session,
    lock: AbstractContextManager[HeldLock | None],
    name: tuple[str, str],
    before: str,
    pointer: Callable[[Any], str | None],
    describe: Callable[[Any], None],
) -> bool:
    """Apply `describe` to Hive's table; False if it is not at `before`.

    `pointer` identifies an Iceberg table, or view, among Hive's other tables. Raises
    CommitFailedException (others hold the lock), StorageError, UnsupportedError.
    """
    with lock as held:
        table = table_of(session, *name)
        if table is None or pointer(table) != before:
            return False
        describe(table)
        if held is not None:
            held.check()
        done = _altered(session, name, table, before, is_locked=held is not None)
        if held is not None:
            held.check()
        return done


def rename_hive_table(
    session: Session,
    locks: Locks,
    name: tuple[str, str],
    to: tuple[str, str],
    pointer: Callable[[Any], str | None],
) -> bool | None:
    """Rename Hive's table under its lock: a concurrent commit would be undone.

    `pointer` identifies an Iceberg table, or view, among Hive's other tables. None: there is no
    such table; False: the new name is taken. Raises StorageError, UnsupportedError.
    """
    with locks.held(session, name) as held:
        table = table_of(session, *name)
        metadata_file = None if table is None else pointer(table)
        if table is None or metadata_file is None:
            return None
        if table_of(session, *to) is not None:
            return False
        table.dbName, table.tableName = to
        held.check()
        try:
            session.once("alter_table_with_environment_context", *name, table, _expecting(None))
        except StorageError:
            if _pointer(session, to) != metadata_file:
                raise
        except thrift.TException as error:
            if table_of(session, *to) is not None:  # created since
                return False
            raise refusal_error(error) from error
        return True


def drop_hive_table(
    session: Session, name: tuple[str, str], is_wanted: Callable[[Any], bool]
) -> bool:
    """Remove Hive's table, whose files stay; False if there is none that is wanted."""
    table = table_of(session, *name)
    if table is None or not is_wanted(table):
        return False
    try:
        session.once("drop_table", *name, False)
    except hive.NoSuchObjectException:
        return False
    except StorageError:
        if table_of(session, *name) is not None:
            raise
    except thrift.TException as error:
        raise refusal_error(error) from error
    return True


def _pointer(session: Session, name: tuple[str, str]) -> str | None:
    table = table_of(session, *name)
    return None if table is None else place_of(table)


def _awaited(session: Session, name: tuple[str, str], before: str) -> str | None:
    """Read the table until it is no longer at `before`, for a few seconds."""
    looking = Retrying(
        retry=retry_if_result(lambda now: now == before),
        stop=stop_after_attempt(_LOOKS),
        wait=wait_random_exponential(multiplier=0.2, max=2),
        retry_error_callback=lambda last: last.outcome and last.outcome.result(),
    )
    return looking(_pointer, session, name)


def _expecting(before: str | None) -> Any:
    expected = {"DO_NOT_UPDATE_STATS": "true"}
    if before is not None:
        expected["expected_parameter_key"] = METADATA_LOCATION
        expected["expected_parameter_value"] = before
    return hive.EnvironmentContext(properties=expected)
