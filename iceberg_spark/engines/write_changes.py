"""Write changes in the form of the caller as rows and deletes: Arrow here, DataFrames on Spark."""

from __future__ import annotations

from iceberg_spark.arrow.input_rows import input_batches
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import is_frame
from iceberg_spark.engines.write_rows import RowSource
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.write.cdc_rows import CdcReader
from iceberg_spark.write.cdc_writer import UpsertedFiles, write_upserts
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.uncommitted_files import remove_aborted, remove_other_attempts
from iceberg_spark.write.upsert_context import UpsertContext


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
