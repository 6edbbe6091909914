"""Say where new files of a table go from now on (Java: SetLocation)."""

from __future__ import annotations

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.updates import SetLocation


class SetTableLocation:
    """Give a table another location; files that are there stay where they are.

    The last one to set it wins.
    """

    def __init__(self, location: str) -> None:
        self._location = location

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """The last one to set a location wins: nothing conflicts."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the update that sets the location."""
        return ActionCommit((SetLocation(self._location),))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Nothing was written."""
