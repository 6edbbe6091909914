"""DELETE with Spark: any deterministic condition, copy-on-write and merge-on-read."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.row_level.conditions import columns_in, text_of, usable_filter, variants_in
from iceberg_spark.row_level.position_deletes import DeletesWriter
from iceberg_spark.row_level.row_level_change import (
    ChangedRows,
    PlannedChange,
    RowChange,
    RowVerb,
    drop_files,
)
from iceberg_spark.row_level.target_files import Target, all_rows, only_files, target_files
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.spark.reading.planning_tasks import SparkPlanningTasks
from iceberg_spark.spark.row_level.changed_rows import write_rewritten
from iceberg_spark.spark.row_level.conditions import check_condition, spark_errors
from iceberg_spark.spark.row_level.fixed_clock import clock
from iceberg_spark.spark.row_level.position_deletes import write_deletes
from iceberg_spark.spark.row_level.target_rows import (
    ROW_POSITION,
    empty_frame,
    name_target,
    require_types,
    rows_by_file,
    rows_frame,
    typed_columns,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.lineage import lineage_names


def delete_on_spark(
    verb: RowVerb,
    context: WriteContext,
    delete_filter: str | Predicate | Unbound,
    spark: SparkSession,
    *,
    target: Target | None = None,
) -> PlannedChange:
    """Return the change that deletes the rows for which the condition is true.

    Files of which metadata proves that all rows match are not opened. `target` is the plan of a
    condition that was proved completely. Raises InvalidExpressionError.
    """
    condition = clock(context.schema.column_names)(
        text_of(delete_filter, "delete_filter", context.schema)
    )
    shown = typed_columns(context.schema, [condition])
    if not verb.mode.merge_on_read and len(shown.fields) < len(context.schema.fields):
        require_types(context.schema, "a copy-on-write delete")
    empty = name_target(empty_frame(shown, spark), verb.names.target)
    check_condition(empty, condition, "delete_filter")
    row_filter, exact = usable_filter(verb, condition, verb.names.target)
    if target is None:
        target = target_files(
            verb.metadata,
            verb.io,
            row_filter,
            verb.target_options,
            prove=exact,
            pruned_by=variants_in(verb, condition, verb.names.target),
            tasks=SparkPlanningTasks(spark),
        )
    whole_files = drop_files(target, verb.io)
    if not len(target.plan):
        return PlannedChange(whole_files, row_filter)
    with spark_errors(f"delete_filter '{condition}'"):
        change = _changed(verb, context, target, condition, spark)
    return PlannedChange(_both(whole_files, change), row_filter)


def _both(whole_files: RowChange, rest: RowChange) -> RowChange:
    deleted = whole_files.counts.deleted + rest.counts.deleted
    return replace(
        rest,
        removed_data=(*whole_files.removed_data, *rest.removed_data),
        counts=ChangedRows(deleted=deleted),
    )


def _changed(
    verb: RowVerb, context: WriteContext, target: Target, condition: str, spark: SparkSession
) -> RowChange:
    if verb.mode.merge_on_read:
        rows = matching(verb, target, condition, spark, ROW_POSITION)
        writer = DeletesWriter(context, verb.metadata.partition_specs, verb.mode.granularity)
        new = write_deletes(rows, tuple(target.plan), writer)
        return RowChange(
            added_deletes=tuple(new.files),
            removed_deletes=tuple(new.replaced),
            referenced=tuple(new.referenced),
            counts=ChangedRows(deleted=new.deleted),
        )
    return _rewritten(verb, context, target, condition, spark)


def rewritten_on_spark(
    verb: RowVerb, context: WriteContext, target: Target, condition: str, spark: SparkSession
) -> RowChange:
    """Return the change that removes matching rows by rewriting files, in both modes."""
    change = _rewritten(verb, context, target, condition, spark)
    return _both(drop_files(target, verb.io), change)


def _rewritten(
    verb: RowVerb, context: WriteContext, target: Target, condition: str, spark: SparkSession
) -> RowChange:
    counts = rows_by_file(matching(verb, target, condition, spark, ("_file",)))
    touched = tuple(task for task in only_files(target.plan, counts))
    partly = [task.file_path for task in touched if counts[task.file_path] < task.record_count]
    return RowChange(
        added_data=_write_remaining(verb, context, target, partly, condition, spark),
        removed_data=tuple(data_file(task) for task in touched),
        counts=ChangedRows(deleted=sum(counts.values())),
    )


def _write_remaining(
    verb: RowVerb,
    context: WriteContext,
    target: Target,
    paths: list[str],
    condition: str,
    spark: SparkSession,
) -> tuple[DataFile, ...]:
    if not paths:
        return ()
    plan = all_rows(only_files(target.plan, paths))
    carried = lineage_names(context)
    all_rows_of_files = rows_frame(verb.metadata, plan, spark, metadata_columns=carried)
    rows = name_target(all_rows_of_files, verb.names.target)
    stays = rows.where(~sf.coalesce(expression(condition), sf.lit(False)))
    return write_rewritten(verb, context, plan, [stays])


def matching(
    verb: RowVerb,
    target: Target,
    condition: str,
    spark: SparkSession,
    metadata_columns: tuple[str, ...],
) -> DataFrame:
    """Return the positions of matching rows; only the columns of the condition are read."""
    columns = columns_in(target.context.table_schema, [condition])
    rows = rows_frame(
        verb.metadata, target.plan, spark, columns=columns, metadata_columns=metadata_columns
    )
    return (
        name_target(rows, verb.names.target).where(expression(condition)).select(*metadata_columns)
    )
