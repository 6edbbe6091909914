"""Change the location of a table's new files (Java: SetLocation)."""

from __future__ import annotations

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.updates import SetLocation


class SetTableLocation:
    """Change a table's location; existing files stay where they are.

    The last commit wins.
    """

    def __init__(self, location: str) -> None:
        self._location = location

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: the last commit wins."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the update that sets the location."""
        return ActionCommit((SetLocation(self._location),))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""
