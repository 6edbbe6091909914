"""The deletes of one task, decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from iceberg_spark.arrow.file_fields import Path
from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.bounded_cache import BoundedCache
from iceberg_spark.read.equality_deletes import (
    EqualityDeletes,
    groups_by_keys,
    load_equality_deletes,
)
from iceberg_spark.read.leaf_columns import leaf_columns
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import DataFileContent


@dataclass(frozen=True, slots=True)
class TaskDeletes:
    """Deleted positions of the data file and sets of deleted keys."""

    positions: PositionSet
    equality: tuple[EqualityDeletes, ...]

    @property
    def is_empty(self) -> bool:
        """Whether no row can be deleted."""
        return self.positions.is_empty and not self.equality


def load_deletes(
    context: ScanContext,
    io: FileIO,
    task: FileScanTask,
    names: Mapping[Path, int],
    cache: BoundedCache,
) -> TaskDeletes:
    """Decode the delete files of a task; which of them apply is the planner's matter.

    `names` gives ids to columns of delete files that have none. Raises CorruptFileError,
    NoSuchFileError or StorageError naming a delete file.
    """
    by_position: list[DeleteFile] = []
    by_key: list[DeleteFile] = []
    for file in task.delete_files:
        match file.content:
            case DataFileContent.POSITION_DELETES:
                by_position.append(file)
            case DataFileContent.EQUALITY_DELETES:
                by_key.append(file)
            case DataFileContent.DATA:
                raise CorruptFileError(f"{file.file_path} is listed as a delete file but has data")
            case _:
                assert_never(file.content)
    positions = deleted_positions(io, task, by_position, cache)
    equality = tuple(
        load_equality_deletes(
            io,
            files,
            leaf_columns(ids, context.table_schema, context.dropped_fields),
            names,
            cache,
        )
        for ids, files in groups_by_keys(by_key).items()
    )
    return TaskDeletes(positions, equality)
