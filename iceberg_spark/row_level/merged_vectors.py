"""Deletion vectors that two changes wrote for the same data files, merged."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from iceberg_spark.arrow.position_set import NO_POSITIONS, PositionSet
from iceberg_spark.commits.row_delta import Overtaken
from iceberg_spark.errors import NoSuchFileError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.deletion_vectors import read_vector
from iceberg_spark.scan.planned_files import scanned
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.deletion_vector_writer import DeletedRows, write_vectors
from iceberg_spark.write.new_write import write_context


@dataclass(frozen=True, slots=True)
class VectorMerger:
    """Merges vectors of a table; holds the positions of one data file.

    With `other_rows`, both changes must delete different rows: this change writes its rows again
    elsewhere.
    """

    metadata: TableMetadata
    io: FileIO
    other_rows: bool = False

    def merge(self, overtaken: Sequence[Overtaken]) -> tuple[DataFile, ...]:
        """Write a vector with the positions of both for each data file, all in one new file.

        Raises ValidationException if both delete a row and that is not allowed, or if that is
        unknown.
        """
        context = replace(write_context(self.metadata, io=self.io), write_id=str(uuid.uuid4()))

        def deleted() -> Iterator[DeletedRows]:
            for overtaken_vector in overtaken:
                ours, newer = self._read(overtaken_vector.ours), self._read(overtaken_vector.newer)
                if self.other_rows:
                    self._check(overtaken_vector, ours, newer)
                yield DeletedRows(
                    str(overtaken_vector.ours.referenced_data_file),
                    overtaken_vector.ours.partition_spec_id,
                    overtaken_vector.ours.partition,
                    PositionSet.union((ours, newer)),
                )

        specs = self.metadata.partition_specs
        return write_vectors(context, self.io, deleted(), specs=specs, task=TaskId())

    def _check(self, vector: Overtaken, ours: PositionSet, newer: PositionSet) -> None:
        """Refuse a row that both delete and that the earlier vector did not.

        Earlier deletes of a position delete file count as new ones, so this refuses more than
        needed.
        """
        new = ours.without(NO_POSITIONS if vector.before is None else self._read(vector.before))
        if new.without(newer).count != new.count:
            raise ValidationException(
                f"Conflict: another commit deleted a row of {vector.ours.referenced_data_file} "
                "that this change rewrites; plan the change again"
            )

    def _read(self, file: DataFile) -> PositionSet:
        try:
            return read_vector(self.io, scanned(file))
        except NoSuchFileError as error:  # the one before was replaced, and may have expired
            raise ValidationException(
                f"Can't find which rows of {file.referenced_data_file} other commits deleted: "
                f"{file.file_path} is gone; plan the change again"
            ) from error
