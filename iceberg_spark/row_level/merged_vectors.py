"""Deletion vectors of the same data files, of two changes that each only deleted rows, as one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.deletion_vectors import read_vector
from iceberg_spark.read.older_deletes import scanned
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.deletion_vector_writer import DeletedRows, write_vectors
from iceberg_spark.write.new_write import write_context


@dataclass(frozen=True, slots=True)
class VectorMerger:
    """Merges vectors of a table; holds the positions of one data file."""

    metadata: TableMetadata
    io: FileIO

    def merge(self, pairs: Sequence[tuple[DataFile, DataFile]]) -> tuple[DataFile, ...]:
        """Write a vector with the positions of both for each pair, all in one new file."""
        context = replace(write_context(self.metadata, io=self.io), write_id=str(uuid.uuid4()))

        def deleted() -> Iterator[DeletedRows]:
            for ours, theirs in pairs:
                both = (read_vector(self.io, scanned(file)) for file in (ours, theirs))
                yield DeletedRows(
                    str(ours.referenced_data_file),
                    ours.partition_spec_id,
                    ours.partition,
                    PositionSet.union(both),
                )

        specs = self.metadata.partition_specs
        return write_vectors(context, self.io, deleted(), specs=specs, task=TaskId())
