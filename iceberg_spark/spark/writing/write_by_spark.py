"""A frame written by Spark's own Parquet writer, and its files described."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from iceberg_spark.errors import IcebergError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileInfo, FileIO
from iceberg_spark.spark.adapt.jobs import job_results
from iceberg_spark.spark.writing.align_columns import table_frame
from iceberg_spark.spark.writing.distribution import arrange, arrangement
from iceberg_spark.spark.writing.limits import DESCRIBE
from iceberg_spark.spark.writing.placement import Placement, placed
from iceberg_spark.spark.writing.rows_per_file import rows_per_file
from iceberg_spark.spark.writing.shuffle import shuffle_of
from iceberg_spark.spark.writing.spark_parquet import write_parquet
from iceberg_spark.spark.writing.write_settings import write_settings
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.quoted_name import quoted
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.align_columns import AlignOptions
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.describe_written import NotInFooterError, describer
from iceberg_spark.write.locations import data_folder
from iceberg_spark.write.uncommitted_files import remove_written

_SUFFIX = ".parquet"


@dataclass(frozen=True, slots=True)
class DescribeTask:
    """What every describing task runs; pickled with the plan."""

    context: WriteContext

    def entries(self, files: Sequence[FileInfo]) -> list[DataFile]:
        """Return the entries of those files that have rows."""
        describe = describer(self.context, self.context.io)
        entries = [describe(info.path, info.size) for info in files]
        return [entry for entry in entries if entry is not None]


def write_natively(
    frame: DataFrame,
    context: WriteContext,
    options: AlignOptions,
    requested: str | None,
    placement: Placement | None = None,
) -> tuple[DataFile, ...]:
    """Write a frame whose columns were checked; returns the files, which no table refers to yet.

    Everything lies in a folder of the write's own below the data folder; on any error that folder
    is emptied.
    """
    io = context.io
    folder = _new_folder(io, context)
    try:
        table = table_frame(frame, context.schema, case_sensitive=options.case_sensitive)
        shuffle = shuffle_of(context, requested, frame.sparkSession)
        limit = rows_per_file(table, context, shuffle.task_bytes)
        # Around both: a frame's shuffle may be sized when it is made.
        with write_settings(frame.sparkSession, shuffle=shuffle):
            rows, keys = _arranged(table, context, requested, placement)
            write_parquet(rows, folder, context.properties, keys, limit)
        files = list(io.list(folder))
        written = _described(frame.sparkSession, context, io, files)
        paths = {file.file_path for file in written}
        remove_written(io, [info.path for info in files if info.path not in paths])
    except BaseException:
        _empty(io, folder)
        raise
    return written


def _arranged(
    table: DataFrame, context: WriteContext, requested: str | None, placement: Placement | None
) -> tuple[DataFrame, list[str]]:
    """Return the table's columns and the folder columns, distributed and sorted."""
    schema = context.schema

    def source_of(field_id: int) -> Column:
        return table_column(schema, field_id)

    target = arrangement(context, requested, source_of)
    names = _free_names(schema, len(target.keys))
    named = [key.alias(name) for key, name in zip(target.keys, names, strict=True)]
    keyed = table.select("*", *named)
    keys = [sf.col(name) for name in names]
    if placement is not None:
        return placed(keyed, keys, target, placement, source_of), names
    return arrange(keyed, target.mode, keys, target.order), names


def table_column(schema: Schema, field_id: int) -> Column:
    """Return a table's column, nested or not, of a frame that has the table's columns."""
    first, *below = [schema.find_field(step).name for step in schema.path_ids(field_id)]
    column = sf.col(quoted(first))
    for name in below:
        column = column.getField(name)
    return column


def _free_names(schema: Schema, count: int) -> list[str]:
    """Return names of folder columns that no column of the table has."""
    stem = "k"
    taken = {name.lower() for name in schema.column_names}
    while any(f"{stem}{index}" in taken for index in range(count)):
        stem += "k"
    return [f"{stem}{index}" for index in range(count)]


def _new_folder(io: FileIO, context: WriteContext) -> str:
    """Return a folder that has no files yet: one write may write several frames."""
    root = data_folder(context.table_location, context.properties)
    number, name = 1, context.write_id
    while next(iter(io.list(location.join(root, name))), None) is not None:
        number += 1
        name = f"{context.write_id}-{number}"
    return location.join(root, name)


def _described(
    session: SparkSession, context: WriteContext, io: FileIO, files: Sequence[FileInfo]
) -> tuple[DataFile, ...]:
    """Describe files with rows: a few small ones here, more by Spark's tasks.

    Raises the first of our errors that a file gave.
    """
    data_files = [info for info in files if info.path.endswith(_SUFFIX)]
    if len(data_files) <= DESCRIBE.files_here:
        small = sum(info.size for info in data_files) <= DESCRIBE.bytes_here
        describe = describer(context, io, reads_columns=small)
        with (
            suppress(NotInFooterError),
            ThreadPoolExecutor(DESCRIBE.readers, "iceberg-describe") as pool,
        ):
            entries = list(pool.map(lambda info: describe(info.path, info.size), data_files))
            return tuple(entry for entry in entries if entry is not None)
    files_per_task = max(DESCRIBE.task_files, -(-len(data_files) // DESCRIBE.most_tasks))
    groups = [
        data_files[start : start + files_per_task]
        for start in range(0, len(data_files), files_per_task)
    ]
    entry_lists = job_results(session, groups, DescribeTask(context).entries, final=(IcebergError,))
    return tuple(entry for entries in entry_lists for entry in entries)


def _empty(io: FileIO, folder: str) -> None:
    """Delete every file of a failed write; what the store keeps is left to orphan removal."""
    for pause in DESCRIBE.looks_after_failure_s:
        time.sleep(pause)
        with suppress(IcebergError):
            io.delete_many([info.path for info in io.list(folder)])
