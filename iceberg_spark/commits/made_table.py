"""An empty table that a server created before its first change; dropped if that fails."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

from iceberg_spark.catalog.catalog import Catalog, MadeTable
from iceberg_spark.commits.commit import CommitState
from iceberg_spark.errors import CommitStateUnknownException, IcebergError


def drop_unchanged(catalog: Catalog, identifier: str, created: MadeTable) -> None:
    """Drop a table that nobody has changed since it was created; its files stay.

    Servers cannot drop under a condition. A change between the check and the drop would lose its
    name, but none of its files. If the check or the drop fails, the empty table stays.
    """
    with suppress(IcebergError):
        table = catalog.load(identifier)
        if MadeTable(table.metadata.table_uuid, table.metadata_location) == created:
            catalog.drop_table(identifier)


class DropOnFailure:
    """Drop the table created for the `with` block if that fails, unless it may have committed.

    Around a commit it belongs inside `CleanupOnFailure`, whose `handover` it takes: it reports an
    interrupt after the commit in the same way.
    """

    __slots__ = ("_catalog", "_created", "_handover", "_identifier")

    def __init__(
        self,
        catalog: Catalog,
        identifier: str,
        created: MadeTable | None,
        handover: CommitState | None = None,
    ) -> None:
        """`created` is None if the table is not created yet, or by others."""
        self._catalog = catalog
        self._identifier = identifier
        self._created = created
        self._handover = CommitState() if handover is None else handover

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._created is None or error is None or self._handover.may_have_landed:
            return
        if not isinstance(error, CommitStateUnknownException):
            drop_unchanged(self._catalog, self._identifier, self._created)
