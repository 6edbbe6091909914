"""Set the statistics file of a snapshot (Java: SetStatistics, SetPartitionStatistics)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.updates import SetPartitionStatistics, SetStatistics


class SetSnapshotStatistics:
    """Set or replace a snapshot's statistics file (a JSON object of the metadata).

    With `by_partition`, the file has partition statistics. The last commit wins.
    """

    def __init__(self, file: Mapping[str, Any], *, by_partition: bool = False) -> None:
        self._file = dict(file)
        self._by_partition = by_partition

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (needs none)
        """Raise ValidationException if the snapshot has expired."""
        if self._file["snapshot-id"] not in base.snapshots:
            raise ValidationException(
                f"Snapshot {self._file['snapshot-id']} has expired while its statistics were made"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the update that sets the file."""
        kind = SetPartitionStatistics if self._by_partition else SetStatistics
        return ActionCommit((kind(self._file),))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action itself writes no files."""
