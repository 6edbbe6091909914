"""Changes of several tables of a catalog in one commit: all of them land, or none."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from iceberg_spark.api.staged_changes import StagedPart
from iceberg_spark.api.transaction import TableTransaction
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.table_name import TableName, table_name
from iceberg_spark.commits.commit import CleanupOnFailure, CommitState, commit_tables
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.printable import printable
from iceberg_spark.write.uncommitted_files import remove_written


class TablePartTransaction(TableTransaction):
    """One table's changes as part of a transaction of its catalog, which lands them."""

    __slots__ = ()

    def __init__(self, catalog: Catalog, base: LoadedTable) -> None:
        super().__init__(catalog, base, lambda _: None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the changes to the catalog's transaction."""

    def commit_transaction(self) -> None:
        """Refuse: changes of several tables land together. Raises InvalidInputError."""
        raise InvalidInputError(
            "This table is part of a transaction of its catalog: the end of that one's with-block, "
            "or its commit_transaction(), lands the changes of all tables"
        )

    def staged_part(self) -> StagedPart:
        """Return the changes, for the commit of all."""
        return self._staged.part()

    def discard(self) -> None:
        """Remove what was written; changes can't be added any more."""
        self._staged.discard()
        self._staged.end()

    @property
    def loaded(self) -> LoadedTable:
        """The version that the changes are planned on."""
        return self._staged.base


class CatalogTransaction:
    """Collects changes of tables; the end of its with-block lands them at once.

    Each table stays at the version that it was loaded at first, and sees its own changes. Data
    files are written when a change is added and are removed again when nothing lands.
    """

    __slots__ = ("_catalog", "_tables")

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._tables: dict[str, TablePartTransaction] = {}

    def __repr__(self) -> str:
        names = ", ".join(self._tables) or "no table yet"
        return printable(f"Transaction of catalog {self._catalog.name}: {names}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.commit_transaction()
        else:
            self._discard()

    def load_table(self, identifier: TableName) -> TablePartTransaction:
        """Return a table to change. The same name returns the same object.

        Args:
            identifier: The name: "namespace.table", or a tuple.

        Raises:
            NoSuchTableError: There is no such table.
            InvalidInputError: The transaction has the table by another spelling of its name.

        Examples:
            >>> with catalog.transaction() as tx:
            ...     tx.load_table("shop.orders").append(rows)
        """
        name = table_name(identifier)
        if name not in self._tables:
            loaded = self._catalog.load(name)
            self._check_is_another(name, loaded)
            self._tables[name] = TablePartTransaction(self._catalog, loaded)
        return self._tables[name]

    def _check_is_another(self, name: str, loaded: LoadedTable) -> None:
        """Refuse a table that is part of this under another spelling: it would be changed twice."""
        uuid = loaded.metadata.table_uuid
        for other, part in self._tables.items():
            if other.casefold() == name.casefold() and part.loaded.metadata.table_uuid == uuid:
                raise InvalidInputError(
                    f"{name} is {other}, which is part of this transaction: load it by one name"
                )

    def commit_transaction(self) -> None:
        """Commit the changes of all tables; without any, nothing happens.

        A table whose batch another writer committed meanwhile is left out.

        Raises:
            UnsupportedError: The catalog cannot commit several tables.
            CommitFailedException: Other commits came first, too often. New files are removed.
            ValidationException: Another commit conflicts. New files are removed.
            CommitStateUnknownException: The catalog did not answer. No file is removed.

        Examples:
            >>> with catalog.transaction() as tx:
            ...     tx.load_table("shop.orders").append(rows)
            ...     tx.commit_transaction()
        """
        staged = [table.staged_part() for table in self._tables.values()]
        self._tables.clear()
        commit_state = CommitState()
        with ExitStack() as files:
            for staged_part in staged:
                files.enter_context(
                    CleanupOnFailure(staged_part.part.io, staged_part.files, commit_state)
                )
            changed = [staged_part.part for staged_part in staged if staged_part.part.actions]
            if changed:
                commit_tables(self._catalog, changed, commit_state=commit_state)
            for staged_part in staged:
                if staged_part.part.was_skipped:  # what was written for nothing
                    remove_written(staged_part.part.io, staged_part.files)

    def _discard(self) -> None:
        for table in self._tables.values():
            table.discard()
        self._tables.clear()
