"""New position deletes of data files, with their older ones where those can be replaced.

Source: specification, "Position Delete Files"; Java: BaseDeltaWriter's previous deletes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.location import same_file
from iceberg_spark.read.delete_cache import process_cache
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.transaction.target_files import delete_file
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.position_delete_writer import write_position_deletes

Positions = npt.NDArray[np.int64]


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
        found: Iterable[tuple[FileScanTask, Positions]],
        task: TaskId,
    ) -> NewDeletes:
        """Write the new positions of data files, which all lie in one partition of one spec.

        With granularity "file" the older deletes of each file are merged into its new delete
        file. Memory holds the positions given.
        """
        tables, replaced = [], []
        first: FileScanTask | None = None
        for target, new in found:
            first = first or target
            older = older_deletes(target) if self.granularity == "file" else ()
            positions = _merged(io, target, new, older)
            replaced += [delete_file(file, target) for file in older]
            tables.append(_table(target.file_path, positions))
        if first is None:
            return NewDeletes(())
        written = write_position_deletes(
            self.context,
            io,
            pa.concat_tables(tables),
            spec=self.specs[first.spec_id],
            partition=first.partition,
            task=task,
            granularity=self.granularity,
        )
        return NewDeletes(written, tuple(replaced))


def _merged(
    io: FileIO, target: FileScanTask, new: Positions, older: tuple[DeleteFile, ...]
) -> Positions:
    if not older:
        return new
    known = deleted_positions(io, target.file_path, older, process_cache())
    return new if known is None else np.union1d(new, known)


def _table(path: str, positions: Positions) -> pa.Table:
    paths: Any = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(len(positions), np.int32)), pa.array([path])
    )
    return pa.table({"file_path": paths.cast(pa.string()), "pos": pa.array(positions, pa.int64())})
