"""Position deletes of files that were rewritten at the same time, carried over to the new files."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.errors import ValidationException
from iceberg_spark.maintenance.compaction import CompactionWork, WrittenGroup, WrittenPiece
from iceberg_spark.maintenance.row_runs import positions_in
from iceberg_spark.read.bounded_cache import process_cache
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.scan.planned_files import scanned
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.deletion_vector_writer import DeletedRows, write_vectors, writes_vectors
from iceberg_spark.write.position_delete_writer import write_positions
from iceberg_spark.write.uncommitted_files import remove_written


@dataclass(frozen=True, slots=True)
class DeleteCarrier:
    """Carries deletes over to the new files of some groups; holds the deleted positions."""

    work: CompactionWork
    groups: Sequence[WrittenGroup]

    def carry(self, deletes: Sequence[DataFile]) -> tuple[DataFile, ...]:
        """Write position deletes of the new files for deletes of the replaced ones.

        Leaves out positions that were deleted before the rewrite: the new files lack their rows.
        Raises ValidationException if a file's rows were sorted or moved to several partitions.
        """
        if not deletes:
            return ()
        positions_by_path: dict[str, list[PositionSet]] = defaultdict(list)
        for group in self.groups:
            deleted = self._deleted(group, deletes)
            for piece in group.pieces if deleted else ():
                for path, positions in _translated(piece, deleted):
                    positions_by_path[path].append(positions)
        return self._write(
            {path: PositionSet.union(sets) for path, sets in positions_by_path.items()}
        )

    def _deleted(self, group: WrittenGroup, deletes: Sequence[DataFile]) -> dict[str, PositionSet]:
        """Return the positions newly deleted in the files that the group replaced."""
        deleted = {}
        for task in group.planned.plan:
            files = [
                scanned(file)
                for file in deletes
                if file.referenced_data_file in (None, task.file_path)
            ]
            positions = deleted_positions(self.work.write.io, task, files, process_cache())
            if not positions.is_empty:
                deleted[task.file_path] = positions
        if deleted and any(piece.runs is None for piece in group.pieces):
            raise ValidationException(
                f"Rows of {min(deleted)} were deleted while the compaction sorted them or moved "
                "them to several partitions, so their new positions are unknown"
            )
        return deleted

    def _write(self, positions_by_path: dict[str, PositionSet]) -> tuple[DataFile, ...]:
        write = self.work.write
        context = replace(write, write_id=str(uuid.uuid4()))
        if writes_vectors(write):
            deleted = (
                DeletedRows(
                    file.file_path,
                    file.partition_spec_id,
                    file.partition,
                    positions_by_path[file.file_path],
                )
                for file in _new_files(self.groups)
                if file.file_path in positions_by_path
            )
            specs = {write.spec.spec_id: write.spec}
            return write_vectors(context, write.io, deleted, specs=specs, task=TaskId())
        by_partition: dict[object, list[DataFile]] = defaultdict(list)
        for group in self.groups:
            for file in group.files:
                if file.file_path in positions_by_path:
                    by_partition[partition_key(file.partition)].append(file)
        written: list[DataFile] = []
        try:
            for number, files in enumerate(by_partition.values()):
                deletes = sorted(
                    (file.file_path, positions_by_path[file.file_path]) for file in files
                )
                written += write_positions(
                    context,
                    write.io,
                    deletes,
                    spec=write.spec,
                    partition=files[0].partition,
                    task=TaskId(number),
                )
        except BaseException:
            remove_written(write.io, [file.file_path for file in written])
            raise
        return tuple(written)


def _translated(
    piece: WrittenPiece, deleted: dict[str, PositionSet]
) -> Iterator[tuple[str, PositionSet]]:
    files = [(file.file_path, file.record_count) for file in piece.files]
    for runs in piece.runs or ():
        if runs.file_path in deleted:
            numbers = runs.numbers_of(deleted[runs.file_path].positions())
            yield from positions_in(numbers, files).items()


def _new_files(groups: Iterable[WrittenGroup]) -> Iterator[DataFile]:
    """Yield the groups' new files."""
    return (file for group in groups for file in group.files)


def files_of(groups: Iterable[WrittenGroup]) -> list[str]:
    """Return the paths of the groups' new files."""
    return [file.file_path for file in _new_files(groups)]
