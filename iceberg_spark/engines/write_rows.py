"""Write rows and changes of the caller as files: Arrow in this process, DataFrames on Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import pyarrow as pa

from iceberg_spark.arrow.input_rows import input_batches
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import is_frame
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spark.session.engine import DISTRIBUTIONS, ENGINES, Engine
from iceberg_spark.spark.writing.write_engine import write_engine
from iceberg_spark.spec.arguments import one_of
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.write.align_columns import AlignOptions, align_batches, check_columns
from iceberg_spark.write.cdc_rows import CdcReader
from iceberg_spark.write.cdc_writer import UpsertedFiles, write_upserts
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.sorted_files import write_sorted_files
from iceberg_spark.write.uncommitted_files import remove_aborted, remove_other_attempts
from iceberg_spark.write.upsert_context import UpsertContext

RowSource: TypeAlias = "pa.Table | pa.RecordBatch | pa.RecordBatchReader | on_spark.DataFrame"
"""Rows of the caller, also a pandas DataFrame or anything with an Arrow stream (`given_rows`)."""


def has_several_passes(rows: RowSource) -> bool:
    """Return whether rows can be read several times: a stream yields its batches once."""
    return is_frame(rows) or isinstance(rows, pa.Table | pa.RecordBatch)


def for_several_passes(rows: RowSource, what: str) -> RowSource:
    """Return rows that can be read several times.

    Rows of a stream are loaded into memory. Raises what `given_rows` raises.
    """
    if has_several_passes(rows):
        return rows
    schema, batches = input_batches(rows, what)
    return pa.Table.from_batches(batches, schema)


def write_rows(
    rows: RowSource,
    context: WriteContext,
    io: FileIO,
    options: AlignOptions,
    *,
    engine: Engine | None = None,
    distribution_mode: str | None = None,
) -> tuple[DataFile, ...]:
    """Write rows as new data files that no table refers to yet.

    This process writes Arrow data; Spark's tasks write a DataFrame, with an engine and a
    distribution as in `write_frame`.

    Raises:
        InvalidSchemaError: the rows do not fit the table.
        InvalidInputError: a value is not valid.
        InvalidTypeError: the rows have an unsupported type.
        UnsupportedError: the engine cannot write the rows.
    """
    one_of(engine, "engine", ENGINES)
    if is_frame(rows):
        return on_spark.write_frame(
            rows, context, options, engine=engine, distribution_mode=distribution_mode
        )
    one_of(distribution_mode, "distribution_mode", DISTRIBUTIONS)
    schema, batches = input_batches(rows)
    return _write_batches(schema, batches, context, io, options)


def write_plan(metadata: TableMetadata, engine: Engine | None, mode: str | None) -> str:
    """Describe how a DataFrame would be written to a table's newest version."""
    context = write_context(metadata)
    chosen = write_engine(context, engine)
    ordered = "sorted by the table's order" if on_spark.is_sortable(context) else "unsorted"
    return (
        f"engine: {chosen.engine}, because {chosen.reason}\n"
        f"distribution-mode: {on_spark.distribution(context, mode)}, rows of a task {ordered}"
    )


def _write_batches(
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    context: WriteContext,
    io: FileIO,
    options: AlignOptions,
) -> tuple[DataFile, ...]:
    check_columns(context.schema, schema, options)
    return write_sorted_files(context, io, align_batches(context.schema, batches, options))


def write_changes(rows: RowSource, context: UpsertContext, io: FileIO) -> UpsertedFiles:
    """Write an upsert's files, which no table refers to yet.

    Raises:
        InvalidSchemaError: the rows do not fit the table.
        InvalidInputError: a value, a key or the order is not valid.
        InvalidTypeError: the rows have an unsupported type.
    """
    if is_frame(rows):
        return _write_frame(rows, context, io)
    schema, batches = input_batches(rows)
    CdcReader(context, schema)
    return write_upserts(context, io, batches, TaskId())


def _write_frame(frame: on_spark.DataFrame, context: UpsertContext, io: FileIO) -> UpsertedFiles:
    """Write on Spark; removes files of failed, retried and speculative tasks."""
    planned = on_spark.plan_upsert(frame, context)
    try:
        files = on_spark.run_upsert(planned)
        if not isinstance(files, InvalidInputError):
            remove_other_attempts(io, context.write, files.paths, outlive=False)
            return files
    except BaseException:
        remove_aborted(io, context.write)
        raise
    remove_aborted(io, context.write, outlive=False)
    raise files
