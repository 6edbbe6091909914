"""The deletes by position of a data file that a new delete file of it holds as well.

Source: specification, "Position Delete Files", "Deletion Vectors"; Java: BaseDeltaWriter's
previous deletes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.location import same_file
from iceberg_spark.read.bounded_cache import process_cache
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import DataFile, DataFileContent


@dataclass(frozen=True, slots=True)
class NewDeletes:
    """Delete files that were written, and the older ones whose deletes they hold as well."""

    written: tuple[DataFile, ...] = ()
    replaced: tuple[DataFile, ...] = ()


def by_position(task: FileScanTask) -> tuple[DeleteFile, ...]:
    """Return the position deletes of a task's data file: delete files, or a vector."""
    kind = DataFileContent.POSITION_DELETES
    return tuple(file for file in task.delete_files if file.content is kind)


def of_one_file(task: FileScanTask) -> tuple[DeleteFile, ...]:
    """Return the position deletes that are about the task's data file only."""
    return tuple(
        file
        for file in by_position(task)
        if file.referenced_data_file is not None
        and same_file(file.referenced_data_file, task.file_path)
    )


def merged(
    io: FileIO, task: FileScanTask, new: PositionSet, older: Iterable[DeleteFile]
) -> PositionSet:
    """Return the positions of new and older deletes."""
    files = tuple(older)
    if not files:
        return new
    return PositionSet.union((new, deleted_positions(io, task, files, process_cache())))
