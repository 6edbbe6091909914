"""Position delete files (specification, "Position Delete Files")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.formats.metrics_modes import FULL
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent, only_path
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.properties import DELETE_TARGET_FILE_SIZE_BYTES, int_property
from iceberg_spark.spec.reserved import (
    DELETE_FILE_PATH,
    DELETE_FILE_PATH_ID,
    DELETE_FILE_POS,
    DELETE_FILE_POS_ID,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.delete_files import DELETES, check_takes_position_deletes, numbers
from iceberg_spark.write.limits import ROWS
from iceberg_spark.write.locations import file_location, file_name
from iceberg_spark.write.open_file import FileShape, OpenFile, file_shape
from iceberg_spark.write.rolling_files import RollingFiles

SCHEMA = Schema(DELETE_FILE_PATH, DELETE_FILE_POS)
GRANULARITIES = ("file", "partition")
_MODES = {DELETE_FILE_PATH_ID: FULL, DELETE_FILE_POS_ID: FULL}


def write_position_deletes(
    context: WriteContext,
    io: FileIO,
    deletes: pa.Table,
    *,
    spec: PartitionSpec,
    partition: tuple[Any, ...],
    task: TaskId,
    granularity: str = "file",
) -> tuple[DataFile, ...]:
    """Write the deletes of data files of one partition, after sorting and deduplicating rows.

    `deletes` has the columns `file_path` (locations as in the data files' entries) and `pos`.
    With granularity "file" there is one delete file for each data file, with
    `referenced_data_file` set; with "partition" one for all, rolled by
    `write.delete.target-file-size-bytes`. Raises UnsupportedError for a v1 table. On any error
    the written files are deleted.
    """
    return write_positions(
        context,
        io,
        _by_path(deletes),
        spec=spec,
        partition=partition,
        task=task,
        granularity=granularity,
    )


def write_positions(
    context: WriteContext,
    io: FileIO,
    deletes: Iterable[tuple[str, PositionSet]],
    *,
    spec: PartitionSpec,
    partition: tuple[Any, ...],
    task: TaskId,
    granularity: str = "file",
) -> tuple[DataFile, ...]:
    """Write the deletes of data files of one partition, passed as positions per path.

    Paths must be ascending. Positions of one path at a time are expanded, 8 bytes per row, in
    slices. Otherwise like `write_position_deletes`.
    """
    check_takes_position_deletes(context)
    if granularity not in GRANULARITIES:
        raise InvalidInputError(f"Delete granularity '{granularity}': use file or partition")
    shape = file_shape(
        context,
        DataFileContent.POSITION_DELETES,
        context.delete_format,
        SCHEMA,
        _MODES,
        {"delete-type": "position"},
    )
    writer = _rolling(context, io, shape, task, spec)
    try:
        for path, positions in deletes:
            key = (path,) if granularity == "file" else ()
            for rows in _slices(path, positions):
                writer.write(key, partition, rows)
            if granularity == "file" and not positions.is_empty:
                writer.finish_partition(key)
        return tuple(_as_entry(file) for file in writer.finish())
    except BaseException:
        writer.abort()
        raise


def _slices(path: str, positions: PositionSet) -> Iterator[pa.Table]:
    every = positions.positions()
    for start in range(0, len(every), ROWS.positions_at_once):
        part = every[start : start + ROWS.positions_at_once]
        paths = pa.array([path]).take(pa.array(np.zeros(len(part), np.int32)))
        yield pa.table([paths, pa.array(part, pa.int64())], schema=to_arrow(SCHEMA))


def _rolling(
    context: WriteContext, io: FileIO, shape: FileShape, task: TaskId, spec: PartitionSpec
) -> RollingFiles:
    def open_file(partition: tuple[Any, ...]) -> OpenFile:
        name = file_name(context, task, next(numbers), shape.file_format, DELETES)
        path = file_location(context, spec, context.schema, partition, name)
        return OpenFile(io, shape, path, partition=partition, partition_spec_id=spec.spec_id)

    return RollingFiles(
        open_file,
        target_bytes=int_property(context.properties, DELETE_TARGET_FILE_SIZE_BYTES),
        row_group_bytes=ROWS.position_row_group_bytes,
    )


def _by_path(deletes: pa.Table) -> Iterator[tuple[str, PositionSet]]:
    """Yield the positions of each data file; paths are sorted by bytes, as readers expect."""
    columns = deletes.select(["file_path", "pos"])
    if columns.column(0).null_count or columns.column(1).null_count:
        raise InvalidInputError("A position delete needs a file_path and a pos; one is null")
    table = columns.cast(to_arrow(SCHEMA))
    grouped = table.group_by("file_path").aggregate([("pos", "list")]).sort_by("file_path")
    lists = grouped.column("pos_list")
    for path, positions in zip(grouped.column("file_path").to_pylist(), lists, strict=True):
        yield path, PositionSet.from_positions(positions.values.to_numpy())


def _as_entry(file: DataFile) -> DataFile:
    """Keep only what a planner needs: bounds, and the single data file if there is one.

    Counts are left out like in Java's PositionDeleteWriter.
    """
    lower, upper = file.lower_bounds or {}, file.upper_bounds or {}
    return replace(
        file,
        value_counts=None,
        null_value_counts=None,
        nan_value_counts=None,
        referenced_data_file=only_path(
            lower.get(DELETE_FILE_PATH_ID), upper.get(DELETE_FILE_PATH_ID)
        ),
    )
