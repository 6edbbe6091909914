"""New position deletes of data files, with their older ones where those can be replaced.

Source: specification, "Position Delete Files"; Java: BaseDeltaWriter's previous deletes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.location import same_file
from iceberg_spark.read.delete_cache import process_cache
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.row_level.target_files import delete_file
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.position_delete_writer import write_positions


@dataclass(frozen=True, slots=True)
class NewDeletes:
    """Delete files that were written, and the older ones whose deletes they hold as well."""

    written: tuple[DataFile, ...]
    replaced: tuple[DataFile, ...] = ()


def deletes_context(context: WriteContext) -> WriteContext:
    """Return the context of the delete files of a change that writes data files as well.

    Each kind has a write id of its own, so that clearing up after one leaves the other's files.
    """
    return replace(context, write_id=f"d{context.write_id}")


def older_deletes(task: FileScanTask) -> tuple[DeleteFile, ...]:
    """Return the position delete files that are about this data file only."""
    return tuple(
        file
        for file in task.delete_files
        if file.content is DataFileContent.POSITION_DELETES
        and file.file_format is not FileFormat.PUFFIN
        and file.referenced_data_file is not None
        and same_file(file.referenced_data_file, task.file_path)
    )


@dataclass(frozen=True, slots=True)
class DeletesWriter:
    """Writes the deletes of data files of one partition at a time; pickled with Spark's tasks."""

    context: WriteContext
    specs: Mapping[int, PartitionSpec]
    granularity: str

    def write(
        self,
        io: FileIO,
        found: Iterable[tuple[FileScanTask, PositionSet]],
        task: TaskId,
    ) -> NewDeletes:
        """Write the new positions of data files, which all lie in one partition of one spec.

        With granularity "file" the older deletes of each file are merged into its new delete
        file. Memory holds the positions given.
        """
        replaced: list[DataFile] = []
        deletes: dict[str, PositionSet] = {}
        first: FileScanTask | None = None
        for target, new in found:
            first = first or target
            older = older_deletes(target) if self.granularity == "file" else ()
            deletes[target.file_path] = _merged(io, target, new, older)
            replaced += [delete_file(file, target) for file in older]
        if first is None:
            return NewDeletes(())
        written = write_positions(
            self.context,
            io,
            sorted(deletes.items(), key=lambda item: item[0].encode()),
            spec=self.specs[first.spec_id],
            partition=first.partition,
            task=task,
            granularity=self.granularity,
        )
        return NewDeletes(written, tuple(replaced))


def _merged(
    io: FileIO, target: FileScanTask, new: PositionSet, older: tuple[DeleteFile, ...]
) -> PositionSet:
    """Return the positions of new and older deletes."""
    if not older:
        return new
    known = deleted_positions(io, target.file_path, older, process_cache())
    return PositionSet.union((new, known))
