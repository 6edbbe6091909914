"""Write the rows of a frame as data files, on Spark, and bring back what was written.

The tasks write and the driver commits: nothing but file descriptions travels, so several
writes and other changes can land in one commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.adapt.many_columns import by_position, rename_columns
from iceberg_spark.spark.adapt.task_results import results
from iceberg_spark.spark.adapt.types import from_spark, to_spark, write_default_text
from iceberg_spark.spark.session.engine import Engine
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spark.session.task import speculates, task_id, was_tried_before
from iceberg_spark.spark.session.worker_python import check_worker_python
from iceberg_spark.spark.writing.align_columns import source_column
from iceberg_spark.spark.writing.distribution import (
    Placement,
    arrange,
    arrangement,
    distribute_rows,
    distribution,
    is_sortable,
)
from iceberg_spark.spark.writing.write_by_spark import write_natively
from iceberg_spark.spark.writing.write_engine import write_engine
from iceberg_spark.spark.writing.write_settings import held_settings, shuffle_of
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.align_columns import AlignOptions, align_batches, check_columns
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.data_file_writer import write_data_files
from iceberg_spark.write.uncommitted_files import remove_aborted, remove_other_attempts

_INPUT_ERRORS = (InvalidInputError,)
"""Errors about the rows: another attempt meets the same rows, so Spark does not try again."""


@dataclass(frozen=True, slots=True)
class WrittenByTask:
    """The files of one task, and whether an attempt before this one failed."""

    files: tuple[DataFile, ...]
    again: bool


@dataclass(frozen=True, slots=True)
class WriteTask:
    """What every task runs; pickled with the plan."""

    context: WriteContext
    options: AlignOptions

    def written(self, batches: Iterable[pa.RecordBatch]) -> WrittenByTask:
        """Write a task's batches; returns its files, described."""
        io = self.context.io
        rows = align_batches(self.context.schema, batches, self.options)
        files = write_data_files(self.context, io, rows, task_id())
        return WrittenByTask(tuple(files), was_tried_before())


def write_frame(
    frame: DataFrame,
    context: WriteContext,
    options: AlignOptions,
    *,
    engine: Engine | None = None,
    distribution_mode: str | None = None,
    placement: Placement | None = None,
) -> tuple[DataFile, ...]:
    """Write a frame; returns the files of the tasks that succeeded, all others are removed.

    Rows are distributed by `distribution_mode`, else as the table asks, and sorted within tasks
    by its sort order, or as a `placement` says. `engine` None takes the one that
    `write_engine.write_engine` chooses. The driver holds one description a file, nothing a row.
    Classic and Connect alike. Raises InvalidSchemaError for columns that don't fit before any task
    starts, InvalidInputError for values, UnsupportedError for an engine that can't.
    """
    check_columns(context.schema, to_arrow(from_spark(frame.schema)), options)
    chosen = write_engine(context, engine)
    distribution(context, distribution_mode)
    check_worker_python(frame.sparkSession)
    if is_sortable(context):
        context = replace(context, sort_order_id=context.sort_order.order_id)
    if chosen.engine == "native":
        return write_natively(frame, context, options, distribution_mode, placement)
    return _write_by_arrow(frame, context, options, distribution_mode, placement)


def _write_by_arrow(
    frame: DataFrame,
    context: WriteContext,
    options: AlignOptions,
    requested: str | None,
    placement: Placement | None,
) -> tuple[DataFile, ...]:
    io = context.io
    shuffle = shuffle_of(context, requested, frame.sparkSession)
    try:
        with held_settings(frame.sparkSession, shuffle.settings, shuffle.defaults):
            rows = _arranged(frame, context, options, requested, placement)
            work = WriteTask(context, options).written
            task_results = results(rows, work, names=rows.schema.names, final=_INPUT_ERRORS)
        files = tuple(file for task in task_results for file in task.files)
        others = any(task.again for task in task_results) or speculates(frame.sparkSession)
        remove_other_attempts(io, context, [file.file_path for file in files], outlive=others)
    except BaseException as error:
        # After an error about the rows every task has ended: only speculative ones still write.
        ended = isinstance(error, _INPUT_ERRORS)
        remove_aborted(io, context, outlive=not ended or speculates(frame.sparkSession))
        raise
    return files


def _arranged(
    frame: DataFrame,
    context: WriteContext,
    options: AlignOptions,
    requested: str | None,
    placement: Placement | None,
) -> DataFrame:
    """Return the frame as the table asks for its rows; its columns are the same."""
    plain = distribution(context, requested) == "none" and not is_sortable(context)
    if plain and placement is None:
        return frame
    schema, struct = context.schema, frame.schema

    def source_of(field_id: int) -> Column:
        column = source_column(schema, field_id, struct, case_sensitive=options.case_sensitive)
        return _default(schema, field_id) if column is None else column

    target = arrangement(context, requested, source_of)
    names = [f"k{index}" for index in range(len(target.keys))]
    keys = [key.alias(name) for key, name in zip(target.keys, names, strict=True)]
    keyed = by_position(frame).select("*", *keys)
    columns = [sf.col(name) for name in names]
    if placement is None:
        ordered = arrange(keyed, target.mode, columns, target.order)
    else:
        ordered = distribute_rows(keyed, columns, target, placement, source_of)
    return rename_columns(ordered.drop(*names), struct.names)


def _default(schema: Schema, field_id: int) -> Column:
    field = schema.find_field(field_id)
    kind = to_spark(Schema(field)).fields[0].dataType
    return expression(write_default_text(field)).cast(kind)
