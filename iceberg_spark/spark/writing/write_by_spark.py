"""A frame written by Spark's own Parquet writer, and its files described."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from iceberg_spark.errors import IcebergError
from iceberg_spark.formats.file_writer import WriterProperties
from iceberg_spark.formats.metrics_modes import NONE
from iceberg_spark.formats.parquet_writer import ParquetFileWriter, parquet_layout, parquet_options
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileInfo, FileIO
from iceberg_spark.spark.adapt.jobs import job_results
from iceberg_spark.spark.catalyst.classic_frame import estimated_bytes, optimized_plan
from iceberg_spark.spark.writing.align_columns import table_frame
from iceberg_spark.spark.writing.distribution import (
    Placement,
    arrange,
    arrangement,
    distribute_rows,
)
from iceberg_spark.spark.writing.write_settings import SIZES, shuffle_of, write_settings
from iceberg_spark.spec import properties as names
from iceberg_spark.spec import types as t
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.properties import with_prefix
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.align_columns import AlignOptions, align_batches
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
        return distribute_rows(keyed, keys, target, placement, source_of), names
    return arrange(keyed, target.mode, keys, target.order), names


def table_column(schema: Schema, field_id: int) -> Column:
    """Return a table's column, nested or not, of a frame that has the table's columns."""
    first, *below = [schema.find_field(step).name for step in schema.path_ids(field_id)]
    column = sf.col(quote(first))
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


_CODECS = {"none": "uncompressed", "lz4": "lz4_raw"}
_PAGE_VERSIONS = {"v1": "PARQUET_1_0", "v2": "PARQUET_2_0"}
_COMMIT: Mapping[str, str] = {
    "mapreduce.fileoutputcommitter.algorithm.version": "1",  # nothing shows before all is there
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "parquet.summary.metadata.level": "NONE",
    # Hadoop's checksummed local files have checksum files that other writers do not update.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
_FILTER_SIZES = "10"
"""Sizes of a Bloom filter to choose from, each half of the one before.

Spark's writer keeps the smallest that holds the distinct values. Otherwise each filter has the
maximum size, 1 MB, however few rows its row group has.
"""


def spark_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark's Parquet writer for a table's `write.parquet.*` properties.

    Raises InvalidOptionError naming a property with a bad value.
    """
    writer_properties = WriterProperties(properties)
    encoding = parquet_options(writer_properties)
    block = writer_properties.positive_int(
        "parquet.row-group-size-bytes", int(names.DEFAULTS[names.PARQUET_ROW_GROUP_SIZE_BYTES])
    )
    rows = writer_properties.positive_int(
        "parquet.page-row-limit", int(names.DEFAULTS[names.PARQUET_PAGE_ROW_LIMIT])
    )
    version = writer_properties.text("parquet.page-version", "v1").lower()
    options = {
        **_COMMIT,
        "compression": _CODECS.get(encoding.codec, encoding.codec),
        "parquet.block.size": str(block),
        "parquet.page.size": str(encoding.page_bytes),
        "parquet.page.row.count.limit": str(rows),
        "parquet.dictionary.page.size": str(encoding.dictionary_bytes),
        "parquet.writer.version": _PAGE_VERSIONS.get(version, "PARQUET_1_0"),
    }
    if encoding.codec == "zstd" and encoding.level is not None:
        options["parquet.compression.codec.zstd.level"] = str(encoding.level)
    for column, text in with_prefix(properties, names.PARQUET_DICT_COLUMN_PREFIX).items():
        options[f"parquet.enable.dictionary#{column}"] = text.strip().lower()
    for column, text in with_prefix(properties, names.PARQUET_BLOOM_FILTER_COLUMN_PREFIX).items():
        options[f"parquet.bloom.filter.enabled#{column}"] = text.strip().lower()
        options["parquet.bloom.filter.adaptive.enabled"] = "true"
        options[f"parquet.bloom.filter.candidates.number#{column}"] = _FILTER_SIZES
    for column, text in with_prefix(properties, names.PARQUET_BLOOM_FILTER_FPP_PREFIX).items():
        options[f"parquet.bloom.filter.fpp#{column}"] = text.strip()
    if names.PARQUET_BLOOM_FILTER_MAX_BYTES in properties:
        max_bytes = names.int_property(properties, names.PARQUET_BLOOM_FILTER_MAX_BYTES)
        options["parquet.bloom.filter.max.bytes"] = str(max_bytes)
    return options


def write_parquet(
    frame: DataFrame,
    folder: str,
    properties: Mapping[str, str],
    keys: Sequence[str],
    rows_per_file: int | None,
) -> None:
    """Write a frame to a new folder, one folder below it for each combination of `keys`.

    To be called within `write_settings`. When it returns, the folder holds the files of the
    committed task attempts alone. A file is ended at `rows_per_file`, None for never.
    """
    writer = frame.write.mode("append").options(**spark_options(properties))
    # Said even when there is no limit: the session may have one.
    writer = writer.option("maxRecordsPerFile", str(rows_per_file or 0))
    if keys:
        writer = writer.partitionBy(*keys)
    path = f"file:{location.strip_scheme(folder)}" if location.is_local(folder) else folder
    writer.parquet(path)


_CHEAP = frozenset(("Project", "Relation", "LogicalRelation", "LocalRelation", "Range", "Union"))
"""Plan nodes whose first rows cost no more than reading these rows."""
_NODE = re.compile(r"^[\s:+|*()\d-]*([A-Z]\w+)", re.MULTILINE)
_USUAL_BYTES: Mapping[type, float] = {
    t.BooleanType: 0.2, t.IntegerType: 3, t.LongType: 5, t.FloatType: 3.5, t.DoubleType: 7,
    t.DateType: 2, t.TimestampType: 5, t.TimestamptzType: 5, t.DecimalType: 5, t.StringType: 10,
    t.BinaryType: 16,
}  # fmt: skip


def rows_per_file(
    frame: DataFrame, context: WriteContext, task_bytes: int | None = None
) -> int | None:
    """Return after how many rows a file of the target size is full, None for a frame below it.

    `frame` has the table's columns. A row's size is that of the table's rows, else that of the
    frame's first rows where these can be had cheaply, else a usual one for the column types. Where
    a task gets about `task_bytes` of rows, less than a file holds, no row is read for it.
    """
    target = context.target_file_size_bytes
    estimate = estimated_bytes(frame)
    if estimate is not None and estimate * SIZES.surely_less <= target:
        return None
    size = context.row_bytes
    seldom_full = task_bytes is not None and task_bytes <= target
    if size is None and not seldom_full and _first_rows_are_cheap(frame):
        rows = frame.limit(SIZES.sample_rows).toArrow()
        if rows.num_rows < SIZES.sample_rows:
            return None
        size = _encoded_bytes(rows, context) / rows.num_rows
    if size is None:
        size = sum(
            _USUAL_BYTES.get(type(context.schema.find_type(field_id)), 0)
            for field_id in context.schema.field_ids
        )
    return max(1, int(target / size))


def _encoded_bytes(rows: pa.Table, context: WriteContext) -> int:
    """Return the size of a Parquet file of the rows, without its footer's key-value pairs."""
    sink = io.BytesIO()
    modes = dict.fromkeys(context.schema.field_ids, NONE)
    layout = parquet_layout(context.schema, WriterProperties(context.properties), modes, {})
    writer = ParquetFileWriter(sink, layout)
    batches = align_batches(context.schema, rows.to_batches(), AlignOptions(case_sensitive=True))
    writer.write(pa.Table.from_batches(batches))
    return writer.bytes_written


def _first_rows_are_cheap(frame: DataFrame) -> bool:
    nodes = _NODE.findall(optimized_plan(frame))
    return bool(nodes) and _CHEAP.issuperset(nodes)


@dataclass(frozen=True, slots=True)
class DescribeLimits:
    """Who describes the files that Spark wrote, and how long a failed write is looked after."""

    files_here: int = 16
    """Files that the driver describes, at most; more are described by tasks."""
    bytes_here: int = 16 * 1024 * 1024
    """Bytes of files that the driver reads back: more are read faster by tasks, job and all."""
    readers: int = 4
    """Threads of the driver."""
    task_files: int = 64
    """Files that a task describes, ..."""
    most_tasks: int = 200
    """... if that takes no more tasks than this."""
    looks_after_failure_s: tuple[float, ...] = (0.0, 0.5, 1.0)
    """Seconds before each look at the folder of a failed write: tasks that Spark has given up may
    still be writing."""


DESCRIBE = DescribeLimits()
