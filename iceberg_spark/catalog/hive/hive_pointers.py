"""Pointers to tables in a Hive metastore, moved under Hive's lock (Java: HiveTableOperations)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from iceberg_spark.catalog.catalog import LoadedTable, one_table_only
from iceberg_spark.catalog.hive.hive_changes import (
    created,
    database_of,
    dropped,
    moved,
    renamed,
    split,
    table_of,
)
from iceberg_spark.catalog.hive.hive_table import describe, is_iceberg, new_table, pointer_of
from iceberg_spark.catalog.hive.lock import Locks
from iceberg_spark.catalog.hive.metastore import Metastore
from iceberg_spark.catalog.pointer_catalog import Move
from iceberg_spark.catalog.table_name import has_two_parts
from iceberg_spark.errors import InvalidInputError, NoSuchTableError, TableAlreadyExistsError
from iceberg_spark.io import location

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
            table = table_of(session, *split(identifier))
        return None if table is None else pointer_of(table)

    def insert(self, new: LoadedTable) -> bool:
        """Add a table; False if a table or view has its name.

        Raises NoSuchNamespaceError, UnsupportedError (what the metastore refused).
        """
        user = self._metastore.user
        table = new_table(*split(new.identifier), user, new, self._properties)
        with self._metastore.session() as session:
            return created(session, self._name, table)

    def move(self, base: LoadedTable, changed: LoadedTable) -> bool:
        """Move a table's pointer; False if it is not at `base`.

        Raises CommitFailedException (others hold the lock), StorageError, UnsupportedError.
        """
        name, before = split(changed.identifier), base.metadata_location
        properties = base.metadata.properties
        with self._metastore.session() as session:
            lock = self._locks.of(session, name, properties)
            tell = partial(describe, base=base, committed=changed, catalog=self._properties)
            return moved(session, lock, name, before, pointer_of, tell)

    def move_all(self, moves: Sequence[Move]) -> bool:
        """Raise UnsupportedError: a metastore changes one table at a time."""
        raise one_table_only(self._name, [move.created.identifier for move in moves])

    def remove(self, identifier: str, expected: str | None = None) -> bool:
        """Remove a table; False if there is none, or it is not at `expected` (None: any).

        Raises CommitFailedException (others hold the lock, which `expected` needs).
        """
        name = split(identifier)
        with self._metastore.session() as session:
            if expected is None:
                return dropped(session, name, is_iceberg)
            with self._locks.held(session, name):
                return dropped(session, name, lambda table: pointer_of(table) == expected)

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a table under its lock: a concurrent commit would be undone.

        Raises NoSuchTableError, NoSuchNamespaceError, TableAlreadyExistsError.
        """
        to = split(new_identifier)
        with self._metastore.session() as session:
            database_of(session, self._name, to[0])
            done = renamed(session, self._locks, split(identifier), to, pointer_of)
        if done is None:
            raise NoSuchTableError(f"No table {identifier} in catalog '{self._name}'")
        if not done:
            raise TableAlreadyExistsError(f"{new_identifier} is in catalog '{self._name}' already")

    def default_location(self, identifier: str) -> str:
        """Return the location of a new table: in its database's location or the warehouse."""
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
        """Return the location of a new database; None: the metastore decides."""
        warehouse = self._properties.get(WAREHOUSE)
        if not warehouse:
            return None
        return location.join(location.absolute(warehouse), f"{database}.db")
