"""The row-level verbs: on Spark if a session is active, otherwise in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import active_session
from iceberg_spark.expr.build import Predicate, as_unbound
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.expr.to_text import quote_references, to_text
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.location import scheme
from iceberg_spark.row_level.conditions import text_of, usable_filter
from iceberg_spark.row_level.in_process import delete_rows
from iceberg_spark.row_level.position_deletes import deletes_context
from iceberg_spark.row_level.row_level_change import (
    REWRITE,
    PlannedChange,
    RowChange,
    RowVerb,
    drop_files,
)
from iceberg_spark.row_level.target_files import Target, TargetOptions, target_files
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.types import TimestampNanoType, TimestamptzNanoType, TimeType
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.uncommitted_files import remove_aborted

Change = TypeVar("Change")
IN_PROCESS_BYTES = 32 * 1024 * 1024
"""Bytes of data files up to which this process is used: tasks of Spark would cost more."""
IN_PROCESS_FILES = 64
_ARROW_ONLY = TimeType | TimestampNanoType | TimestamptzNanoType
"""Types without a Spark type."""


def delete_change(
    verb: RowVerb, context: WriteContext, delete_filter: str | Predicate | Unbound
) -> PlannedChange:
    """Return the change that deletes the matching rows.

    Uses Spark if a session is active. Exceptions are conditions that the core supports if there is
    little to do, and files in this process's memory.
    """
    spark = active_session()
    condition = text_of(delete_filter, "delete_filter", context.schema)
    if spark is not None and (verb.names.target or not usable_filter(verb, condition)[1]):
        return on_spark.delete_on_spark(verb, context, condition, spark)
    predicate = as_unbound(delete_filter, verb.dialect)
    target = target_files(verb.metadata, verb.io, predicate, verb.target_options, prove=True)
    if not len(target.plan):
        return PlannedChange(drop_files(target, verb.io), predicate)
    if spark is not None and not _is_little(verb, target) and _goes_by_spark(verb):
        return on_spark.delete_on_spark(verb, context, condition, spark, target=target)
    return PlannedChange(delete_rows(target, verb.io, context, verb.mode), predicate)


def overwritten(
    metadata: TableMetadata,
    io: FileIO,
    predicate: Unbound,
    options: TargetOptions,
    context: WriteContext,
    *,
    use_spark: bool,
) -> RowChange:
    """Return the change that removes matching rows for an overwrite, by rewriting files."""
    scope = options.branch, None, options.case_sensitive, options.time_zone
    verb = RowVerb(metadata, io, REWRITE, None, *scope)

    def make(context: WriteContext) -> RowChange:
        target = target_files(metadata, io, predicate, options, prove=True)
        if not len(target.plan):
            return drop_files(target, io)
        spark = active_session() if use_spark else None
        if spark is not None and not _is_little(verb, target) and _goes_by_spark(verb):
            return on_spark.rewritten_on_spark(
                verb,
                context,
                target,
                to_text(quote_references(predicate, metadata.schema), None),
                spark,
            )
        return delete_rows(target, io, context, verb.mode)

    return whole_or_nothing(make, context, io)


def whole_or_nothing(
    make: Callable[[WriteContext], Change], context: WriteContext, io: FileIO
) -> Change:
    """Return the change that `make` writes; on failure, removes its files."""
    try:
        return make(context)
    except BaseException:
        # Jobs that failed have cleared up after themselves: these are files of whole ones.
        for write in (context, deletes_context(context)):
            remove_aborted(io, write, outlive=False)
        raise


def _goes_by_spark(verb: RowVerb) -> bool:
    """Return whether Spark has types for all columns that it would write."""
    schema = verb.metadata.schema
    kinds = (schema.find_type(field_id) for field_id in schema.field_ids)
    return verb.mode.merge_on_read or not any(isinstance(kind, _ARROW_ONLY) for kind in kinds)


def _is_little(verb: RowVerb, target: Target) -> bool:
    if scheme(verb.metadata.location) == "memory":
        return True
    sizes = target.plan.files.column("file_size_in_bytes").to_pylist()
    return len(sizes) <= IN_PROCESS_FILES and sum(sizes) <= IN_PROCESS_BYTES
