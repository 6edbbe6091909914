"""What travels between Spark's processes: partitions to tasks, commit messages back."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition, WriterCommitMessage

from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile


class TaskGroup(InputPartition):
    """The file scan tasks that one Spark task reads, balanced by bytes."""

    def __init__(self, tasks: tuple[FileScanTask, ...]) -> None:
        super().__init__(tasks)

    @property
    def tasks(self) -> tuple[FileScanTask, ...]:
        """The tasks, in reading order."""
        found: tuple[FileScanTask, ...] = self.value
        return found


@dataclass(frozen=True, slots=True)
class FilesWritten(WriterCommitMessage):
    """The data files that one successful task attempt wrote and closed."""

    data_files: tuple[DataFile, ...]
