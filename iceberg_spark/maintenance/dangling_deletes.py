"""Delete files that no data file needs: found by planning, which knows which deletes apply.

Java's RemoveDanglingDeletesSparkAction compares sequence numbers within a partition. But a delete
under an unpartitioned spec is global and applies while any older file of any spec exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from iceberg_spark.commits.replace_deletes import ReplaceDeletes
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.rewritten_deletes import planned_deletes
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import ManifestEntry
from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class RemovedDeletes:
    """The delete files removed from the table; expiring snapshots deletes them."""

    removed_delete_files: tuple[str, ...] = ()

    @property
    def removed_delete_files_count(self) -> int:
        """The number of removed delete files."""
        return len(self.removed_delete_files)

    def __str__(self) -> str:
        return f"{self.removed_delete_files_count:,} delete files removed"

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"


def plan_removal(
    metadata: TableMetadata, io: FileIO, branch: str | None
) -> tuple[ReplaceDeletes, RemovedDeletes]:
    """Return the change that removes dangling deletes of a branch's head, and these deletes."""
    planned = planned_deletes(metadata, io, branch)
    gone = dangling(planned.tasks, planned.entries)
    action = ReplaceDeletes((), gone, planned_on=planned.snapshot_id, branch=branch)
    return action, RemovedDeletes(tuple(entry.data_file.file_path for entry in gone))


def dangling(
    tasks: Iterable[FileScanTask], entries: Iterable[ManifestEntry]
) -> tuple[ManifestEntry, ...]:
    """Return the entries of delete files and deletion vectors that no task has."""
    used = {file.key for task in tasks for file in task.delete_files}
    return tuple(entry for entry in entries if entry.data_file.key not in used)
