"""Change a table's sort order (Java: BaseReplaceSortOrder)."""

from __future__ import annotations

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.sort import SortOrder
from iceberg_spark.spec.updates import AddSortOrder, SetDefaultSortOrder


class SetSortOrder:
    """Make a sort order the table's default; the last commit wins.

    Does not add an order that the table has already.
    """

    def __init__(self, order: SortOrder) -> None:
        self._order = order

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: the last commit wins."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates that set the order."""
        return ActionCommit((AddSortOrder(self._order), SetDefaultSortOrder()))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""
