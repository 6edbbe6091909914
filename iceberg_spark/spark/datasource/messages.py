"""What travels between Spark's processes: partitions to tasks, commit messages back."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition, WriterCommitMessage

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.datasource import deferred_writing as deferred
from iceberg_spark.spec.data_file import DataFile


class TaskGroup(InputPartition):
    """The file scan tasks that one Spark task reads, balanced by bytes.

    `io` opens their files if that is not the storage of the reader: a catalog's plan may have
    credentials of its own.
    """

    def __init__(self, tasks: tuple[FileScanTask, ...], io: FileIO | None = None) -> None:
        super().__init__((tasks, io))

    @property
    def tasks(self) -> tuple[FileScanTask, ...]:
        """The tasks, in reading order."""
        tasks: tuple[FileScanTask, ...] = self.value[0]
        return tasks

    @property
    def io(self) -> FileIO | None:
        """The storage of the tasks' files, None for that of the reader."""
        io: FileIO | None = self.value[1]
        return io


@dataclass(frozen=True, slots=True)
class FilesWritten(WriterCommitMessage):
    """The data files that one successful task attempt wrote and closed.

    `tried_before` says that another attempt at the same rows failed.
    """

    data_files: tuple[DataFile, ...]
    tried_before: bool = False


@dataclass(frozen=True, slots=True)
class ChangesWritten(WriterCommitMessage):
    """What one successful task attempt of an upsert wrote, and the hashes of its keys."""

    files: deferred.UpsertedFiles
    keys: deferred.TaskKeys
