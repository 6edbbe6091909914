"""New position deletes of data files, merged with older ones that can be replaced.

Source: specification, "Position Delete Files", "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.position_deletes import (
    NewDeletes,
    by_position,
    merge_positions,
    of_one_file,
)
from iceberg_spark.scan.planned_files import delete_file
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.deletion_vector_writer import DeletedRows, write_vectors, writes_vectors
from iceberg_spark.write.position_delete_writer import write_positions


def deletes_context(context: WriteContext) -> WriteContext:
    """Return the context of the delete files of a change that also writes data files.

    Each kind has its own write id, so that cleaning up one kind leaves the files of the other.
    """
    return replace(context, write_id=f"d{context.write_id}")


@dataclass(frozen=True, slots=True)
class DeletesWriter:
    """Writes the position deletes of data files; pickled into Spark's tasks."""

    context: WriteContext
    specs: Mapping[int, PartitionSpec]
    granularity: str

    @property
    def makes_vectors(self) -> bool:
        """Whether deletes are deletion vectors: then one call takes files of all partitions."""
        return writes_vectors(self.context)

    def write(
        self, io: FileIO, new_positions: Iterable[tuple[FileScanTask, PositionSet]], task: TaskId
    ) -> NewDeletes:
        """Write the new positions of data files, one after the other.

        Deletion vectors all go to one file, and memory holds the positions of one data file at a
        time. For position delete files, all data files must be in one partition of one spec, and
        memory holds all of their positions.
        """
        return (
            self._vectors(io, new_positions, task)
            if self.makes_vectors
            else self._files(io, new_positions, task)
        )

    def _vectors(
        self, io: FileIO, new_positions: Iterable[tuple[FileScanTask, PositionSet]], task: TaskId
    ) -> NewDeletes:
        """Write vectors: each includes all older deletes, and replaces those of its file alone."""
        replaced: list[DataFile] = []

        def deleted() -> Iterator[DeletedRows]:
            for target, new in new_positions:
                positions = merge_positions(io, target, new, by_position(target))
                replaced.extend(delete_file(file, target) for file in of_one_file(target))
                yield DeletedRows(target.file_path, target.spec_id, target.partition, positions)

        written = write_vectors(self.context, io, deleted(), specs=self.specs, task=task)
        return NewDeletes(written, tuple(replaced))

    def _files(
        self, io: FileIO, new_positions: Iterable[tuple[FileScanTask, PositionSet]], task: TaskId
    ) -> NewDeletes:
        """Write delete files; with granularity "file", each includes the older ones of its file."""
        replaced: list[DataFile] = []
        deletes: dict[str, PositionSet] = {}
        first: FileScanTask | None = None
        for target, new in new_positions:
            first = first or target
            older = of_one_file(target) if self.granularity == "file" else ()
            deletes[target.file_path] = merge_positions(io, target, new, older)
            replaced += [delete_file(file, target) for file in older]
        if first is None:
            return NewDeletes()
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
