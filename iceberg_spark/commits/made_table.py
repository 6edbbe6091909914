"""An empty table that a server made before what was to fill it: dropped again where that fails."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType

from iceberg_spark.catalog.catalog import Catalog, MadeTable
from iceberg_spark.commits.commit import CommitState
from iceberg_spark.errors import CommitStateUnknownException, IcebergError


def drop_unchanged(catalog: Catalog, identifier: str, created: MadeTable) -> None:
    """Drop a table that nobody has changed since it was made; what it is made of stays.

    A server has no drop with a condition: a change between the look and the drop would lose its
    name, and none of its files. Where the look or the drop fails the empty table stays.
    """
    with suppress(IcebergError):
        table = catalog.load(identifier)
        if MadeTable(table.metadata.table_uuid, table.metadata_location) == created:
            catalog.drop_table(identifier)


class DropOnFailure:
    """Drop a table that was made for the `with` block if that fails, unless it may have landed.

    Around a commit it stands inside `CleanupOnFailure`, whose `handover` it takes: an
    interrupt that comes here after the commit is told as one there.
    """

    __slots__ = ("_catalog", "_created", "_handover", "_identifier")

    def __init__(
        self,
        catalog: Catalog,
        identifier: str,
        created: MadeTable | None,
        handover: CommitState | None = None,
    ) -> None:
        """`created` is None where the table was not made yet, or by others."""
        self._catalog = catalog
        self._identifier = identifier
        self._created = created
        self._handover = CommitState() if handover is None else handover

    def __enter__(self) -> None:
        """Nothing is to be done before."""

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
