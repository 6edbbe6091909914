"""Changes by key with Spark: each task gets the changes and the stored rows of some keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import ceil
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import VariantType

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError, InvalidTypeError
from iceberg_spark.expr.nodes import And, Comparison, Op, Reference, Unbound
from iceberg_spark.row_level.apply_changes import CdcChange, known_columns, with_truncation
from iceberg_spark.row_level.cdc_events import (
    DELETE,
    OPERATION,
    SEQUENCE,
    TRUNCATE,
    UPSERT,
    has_left_out,
    sequences,
)
from iceberg_spark.row_level.cdc_ledger import CDC, Ledger, LedgerChange, write_notes
from iceberg_spark.row_level.cdc_notes import COLUMN, KIND, LIVE, NOTED_AT, TRUNCATED
from iceberg_spark.row_level.cdc_plan import END_AT, CdcPlan
from iceberg_spark.row_level.key_ranges import ranges_of
from iceberg_spark.row_level.position_deletes import DeletesWriter
from iceberg_spark.row_level.row_level_change import ChangedRows, PlannedChange, RowChange, RowVerb
from iceberg_spark.row_level.target_files import (
    Target,
    all_rows,
    only_files,
    target_files,
)
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.spark.adapt.many_columns import by_position, plain, select_as
from iceberg_spark.spark.adapt.map_arrow import map_plain_names
from iceberg_spark.spark.adapt.task_results import unpickle_value
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.reading.plan_frame import plan_frame
from iceberg_spark.spark.reading.planning_tasks import SparkPlanningTasks
from iceberg_spark.spark.row_level.cdc_task import (
    CHANGE,
    COUNTS,
    GONE,
    NEW,
    NOTE,
    NOTED,
    PATH,
    PICKLED,
    POSITION,
    SIDE,
    STORED,
    CdcTask,
    TaskCounts,
)
from iceberg_spark.spark.row_level.changed_rows import write_changed, write_rewritten
from iceberg_spark.spark.row_level.conditions import check_condition, spark_errors
from iceberg_spark.spark.row_level.kept_rows import kept_rows
from iceberg_spark.spark.row_level.position_deletes import write_deletes
from iceberg_spark.spark.row_level.target_rows import (
    FILE,
    POS,
    ROW_POSITION,
    column,
    rows_by_file,
    rows_frame,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spark.writing.write_files import write_frame
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.reserved import ROW_ID
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField
from iceberg_spark.write.align_columns import AlignOptions, align_batches
from iceberg_spark.write.cdc_messages import UNAVAILABLE
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.lineage import lineage_names

_LEAST, _KEY, _SIDE = "__iceberg_least", "__iceberg_key", "__iceberg_side"


def apply_on_spark(
    verb: RowVerb,
    context: WriteContext,
    plan: CdcPlan,
    rows: CdcRows,
    ledger: Ledger,
    truncated_at: Any | None,
) -> CdcChange:
    """Return the change that the rows of a DataFrame make.

    A task holds the changes of its keys and their stored rows; the driver holds a row for each
    task. Raises InvalidInputError for rows that cannot be applied.
    """
    spark = rows.frame.sparkSession
    with spark_errors("The changes"):
        changes = rows.changes()
        count, row_filter, left_out = _measured(changes, plan, rows)
        if rows.has_left_out:
            needs_values = left_out or _has_noted_columns(ledger, row_filter)
            plan = replace(plan, needs_values=needs_values)
            ledger = replace(ledger, notes=replace(ledger.notes, plan=plan))
        planning = SparkPlanningTasks(spark)
        target = target_files(
            verb.metadata, verb.io, row_filter, verb.target_options, tasks=planning
        )
        task = _task(context, plan, rows, ledger, truncated_at)
        keyed_rows = _together(changes, task, target, ledger, row_filter, rows, spark)
        tasks = max(1, ceil(count / CDC.task_rows))
        keys = [sf.col(f"{_KEY}{index}") for index in range(len(plan.keys))]
        arranged = keyed_rows.repartition(tasks, *keys).drop(
            *(f"{_KEY}{index}" for index, _ in enumerate(keys))
        )
        with kept_rows(map_plain_names(arranged, task, task.kind), apart=False) as decided:
            task_counts = _total_counts(decided)
            change = _change(verb, context, target, decided, task_counts, spark)
            notes = _notes(context, ledger, decided, task_counts, task, verb.branch)
    return CdcChange(PlannedChange(change, row_filter), notes)


def _has_noted_columns(ledger: Ledger, row_filter: Unbound | None) -> bool:
    """Return whether earlier changes of keys in a range left out values."""
    noted: Unbound = Comparison(Op.GE, Reference(KIND), COLUMN)
    if row_filter is not None:
        noted = And((row_filter, noted))
    return ledger.snapshot is not None and any(batch.num_rows for batch in ledger.batches(noted))


def _measured(changes: DataFrame, plan: CdcPlan, rows: CdcRows) -> tuple[int, Unbound | None, bool]:
    """Return the number of changes, the range of their keys, and whether values are left out.

    One pass reads them all.
    """
    keys = [column(rows.given_name(name)) for name in plan.key_names]
    ends = [
        end
        for index, key in enumerate(keys)
        for end in (sf.min(key).alias(f"low{index}"), sf.max(key).alias(f"high{index}"))
    ]
    left_out = sf.max(sf.size(UNAVAILABLE)) if rows.has_left_out else sf.lit(0)
    measured: pa.Table = changes.agg(
        sf.count(sf.lit(1)).alias("rows"), *ends, left_out.alias("left_out")
    ).toArrow()
    pairs = [
        pa.concat_arrays(
            [measured.column(f"{end}{index}").combine_chunks() for end in ("low", "high")]
        )
        for index, _ in enumerate(keys)
    ]
    both = pa.RecordBatch.from_arrays(pairs, names=list(plan.key_names))
    optional = Schema(*(NestedField(f.field_id, f.name, f.field_type) for f in plan.keys))
    (fitting,) = align_batches(optional, [both], AlignOptions())
    table = pa.Table.from_batches([fitting], to_arrow(optional))
    has_null_keys = any(key_values.null_count for key_values in table.columns)
    key_range = None if has_null_keys else ranges_of(plan.schema, table)
    longest = measured.column("left_out")[0].as_py() or 0
    return measured.column("rows")[0].as_py(), key_range, longest > 0


def _task(
    context: WriteContext, plan: CdcPlan, rows: CdcRows, ledger: Ledger, truncated_at: Any | None
) -> CdcTask:
    row_ids = lineage_names(context)[:1]
    stored_columns = [field.name for field in known_columns(plan)]
    return CdcTask(
        ledger.notes,
        tuple(rows.changes().columns),
        (*stored_columns, *ROW_POSITION, *row_ids),
        tuple(field.name for field in ledger.schema.fields),
        bool(row_ids),
        _later(truncated_at, ledger.truncated_at()),
        rows.case_sensitive,
    )


def _later(first: Any | None, second: Any | None) -> Any | None:
    if first is None or second is None:
        return second if first is None else first
    return first if first.as_py() >= second.as_py() else second


def _together(
    changes: DataFrame,
    task: CdcTask,
    target: Target,
    ledger: Ledger,
    row_filter: Unbound | None,
    rows: CdcRows,
    spark: SparkSession,
) -> DataFrame:
    """Return changes and the stored rows of their keys as rows with separate columns for each."""
    plan = ledger.notes.plan
    kinds = to_spark(Schema(*plan.keys))
    casts = [
        column(rows.given_name(field.name)).cast(kind.dataType).alias(f"{_KEY}{index}")
        for index, (field, kind) in enumerate(zip(plan.keys, kinds, strict=True))
    ]
    least = sf.min(sf.col(SEQUENCE)).alias(_LEAST)
    changed_keys = changes.groupBy(*casts).agg(least)
    metadata_columns = (*ROW_POSITION, *lineage_of(task))
    names = [field.name for field in known_columns(plan)]
    stored = rows_frame(
        target.metadata, target.plan, spark, columns=names, metadata_columns=metadata_columns
    ).select(*map(column, task.stored))
    frames = [
        _side(CHANGE, changes, casts, changes.columns),
        _side(STORED, *_of_keys(stored, plan, changed_keys, since=plan.history), task.stored),
    ]
    noted = _noted(ledger, row_filter, spark)
    frames.append(_side(NOTED, *_of_keys(noted, plan, changed_keys, since=False), task.noted))
    return _united(frames, len(plan.keys))


def _noted(ledger: Ledger, row_filter: Unbound | None, spark: SparkSession) -> DataFrame:
    """Return the rows of the ledger that are still valid."""
    if ledger.snapshot is None:
        return spark.createDataFrame([], to_spark(ledger.schema))
    rows = plan_frame(ledger.scan(row_filter), spark)
    young = sf.col(NOTED_AT) > ledger.notes.now_ms - ledger.notes.plan.retention_ms
    return rows.where((sf.col(KIND) != TRUNCATED) & (young | (sf.col(KIND) == LIVE)))


def task_columns(frame: DataFrame) -> list[str]:
    """Return the columns that a task gets: all but the keys by which rows were distributed."""
    return [name for name in frame.columns if not name.startswith(_KEY)]


def lineage_of(task: CdcTask) -> tuple[str, ...]:
    """Return the metadata columns of rows that keep their ids."""
    return (ROW_ID.name,) if task.keeps_row_ids else ()


def _of_keys(
    rows: DataFrame, plan: CdcPlan, keys_to_find: DataFrame, *, since: bool
) -> tuple[DataFrame, list[Column]]:
    """Return the rows with one of the keys; with a history, only those that may still change."""
    keys = [column(name).alias(f"{_KEY}{index}") for index, name in enumerate(plan.key_names)]
    same = [column(name) == sf.col(f"{_KEY}{index}") for index, name in enumerate(plan.key_names)]
    condition = reduce(Column.__and__, same)
    if not since:
        return rows.join(keys_to_find, condition, "left_semi"), keys
    late = column(END_AT).isNull() | (column(END_AT) >= sf.col(_LEAST))
    return rows.join(keys_to_find, condition & late, "left_semi"), keys


def _side(
    side: int, frame: DataFrame, keys: Sequence[Column], names: Sequence[str]
) -> tuple[int, DataFrame, int]:
    """Return the keys of rows and their columns, named by position."""
    return side, by_position(frame.select(*keys, *map(column, names))), len(names)


def _united(frames: Sequence[tuple[int, DataFrame, int]], keys: int) -> DataFrame:
    """Return rows of several kinds as one DataFrame, in which each kind has columns of its own."""
    selected: list[DataFrame] = []
    types = [[f.dataType for f in frame.schema.fields[keys:]] for _, frame, _ in frames]
    for side, frame, _ in frames:
        columns = [sf.lit(side).alias(_SIDE)]
        columns += [sf.col(plain(index)).alias(f"{_KEY}{index}") for index in range(keys)]
        column_number = 0
        for number, kinds in enumerate(types):
            for index, kind in enumerate(kinds):
                own = sf.col(plain(keys + index)) if frames[number][0] == side else None
                value = sf.lit(None).cast(kind) if own is None else own
                columns.append(value.alias(f"__iceberg_c{column_number}"))
                column_number += 1
        selected.append(frame.select(*columns))
    return reduce(DataFrame.union, selected)


def _total_counts(decided: DataFrame) -> TaskCounts:
    """Return the counts of all tasks. Raises the error that a task found in the rows."""
    total = TaskCounts()
    rows = decided.where(sf.col(plain(SIDE)) == COUNTS).select(plain(PICKLED)).collect()
    for row in rows:
        result = unpickle_value(bytes(row[0]))
        if isinstance(result, InvalidInputError):
            raise result
        total = TaskCounts(
            total.gone + result.gone,
            total.new + result.new,
            total.notes + result.notes,
            total.inserted + result.inserted,
            total.updated + result.updated,
            total.deleted + result.deleted,
        )
    return total


def _change(
    verb: RowVerb,
    context: WriteContext,
    target: Target,
    decided: DataFrame,
    task_counts: TaskCounts,
    spark: SparkSession,
) -> RowChange:
    counts = ChangedRows(task_counts.inserted, task_counts.updated, task_counts.deleted)
    deleted_positions = decided.where(sf.col(plain(SIDE)) == GONE).select(
        sf.col(plain(PATH)).alias(FILE), sf.col(plain(POSITION)).alias(POS)
    )
    new = [_new_rows(context, decided)] if task_counts.new else []
    if verb.mode.merge_on_read:
        return replace(
            _by_position(verb, context, target, deleted_positions, new, task_counts), counts=counts
        )
    touched = rows_by_file(deleted_positions) if task_counts.gone else {}
    plan = all_rows(only_files(target.plan, touched))
    unchanged: list[DataFrame] = []
    if len(plan):
        rows = rows_frame(
            verb.metadata, plan, spark, metadata_columns=(*ROW_POSITION, *lineage_names(context))
        )
        unchanged.append(rows.join(deleted_positions, [FILE, POS], "left_anti"))
    return RowChange(
        added_data=write_rewritten(verb, context, plan, unchanged, new) if unchanged or new else (),
        removed_data=tuple(data_file(task) for task in plan),
        counts=counts,
    )


def _by_position(
    verb: RowVerb,
    context: WriteContext,
    target: Target,
    deleted_positions: DataFrame,
    new: Sequence[DataFrame],
    task_counts: TaskCounts,
) -> RowChange:
    files = write_changed(verb, context, new)
    if not task_counts.gone:
        return RowChange(added_data=files)
    writer = DeletesWriter(context, target.metadata.partition_specs, verb.mode.granularity)
    written = write_deletes(deleted_positions, tuple(target.plan), writer)
    return RowChange(
        added_data=files,
        added_deletes=tuple(written.files),
        removed_deletes=tuple(written.replaced),
        referenced=tuple(written.referenced),
    )


def _new_rows(context: WriteContext, decided: DataFrame) -> DataFrame:
    names = [field.name for field in context.schema.fields]
    names += lineage_names(context)[:1]
    first = PICKLED + 1
    own = [plain(first + index) for index in range(len(names))]
    return select_as(decided.where(sf.col(plain(SIDE)) == NEW), own, names)


def _notes(
    context: WriteContext,
    ledger: Ledger,
    decided: DataFrame,
    task_counts: TaskCounts,
    task: CdcTask,
    branch: str | None,
) -> LedgerChange:
    """Write the changes of the ledger; tasks write their own notes."""
    before, index = ledger.truncated_at(), task.truncated_at
    own = with_truncation(to_arrow(ledger.schema).empty_table(), index, before, ledger.notes)
    files: tuple[DataFile, ...] = ()
    if task_counts.notes:
        plan = ledger.notes.plan
        indices = {field.name: index for index, field in enumerate(plan.schema.fields)}
        first = PICKLED + 1
        after = first + len(plan.schema.fields) + task.keeps_row_ids
        texts = [plain(first + indices[name]) for name in plan.key_names]
        texts += [
            plain(after + index) for index in range(len(ledger.schema.fields) - len(plan.keys))
        ]
        rows = select_as(decided.where(sf.col(plain(SIDE)) == NOTE), texts, task.noted)
        rows = rows.repartition(max(1, ceil(task_counts.notes / CDC.merged_rows)))
        rows = rows.sortWithinPartitions(*(column(name) for name in plan.key_names))
        files = write_frame(rows, ledger.write_context(context), AlignOptions())
    return write_notes(ledger, context, own, branch, files)


def cdc_rows(
    frame: DataFrame, sequence_by: Any, deletes: Any | None, truncates: Any | None
) -> pa.Table | DataFrame:
    """Return rows with `SEQUENCE` and `OPERATION`, as an Arrow table if they are few.

    Raises InvalidInputError for a stream, InvalidExpressionError for an expression that Spark
    cannot resolve.
    """
    if frame.isStreaming:
        raise InvalidInputError("The rows are a stream: apply its batches by foreachBatch")
    does = sf.lit(UPSERT)
    for what, condition, number in (
        ("apply_as_deletes", deletes, DELETE),
        ("apply_as_truncates", truncates, TRUNCATE),
    ):
        if condition is not None:
            does = sf.when(_condition(frame, condition, what), sf.lit(number)).otherwise(does)
    with spark_errors("sequence_by"):
        order = _order(frame, sequence_by).alias(SEQUENCE)
        rows = frame.select("*", order, does.cast("tinyint").alias(OPERATION))
        if any(isinstance(field.dataType, VariantType) for field in frame.schema.fields):
            return rows
        few: pa.Table = rows.limit(CDC.here_rows + 1).toArrow()
    return rows if few.num_rows > CDC.here_rows else few


def _order(frame: DataFrame, sequence: Any) -> Column:
    if isinstance(sequence, Column):
        return sequence
    if not isinstance(sequence, str):
        raise InvalidTypeError(f"sequence_by must be a column or SQL text, not {sequence!r}")
    return column(sequence) if sequence in frame.columns else expression(sequence)


def _condition(frame: DataFrame, condition: Any, what: str) -> Column:
    if isinstance(condition, Column):
        return condition
    if not isinstance(condition, str):
        raise InvalidTypeError(f"{what} must be SQL text or a column, not {condition!r}")
    check_condition(frame, condition, what)
    return expression(condition)


@dataclass(frozen=True, slots=True)
class CdcRows:
    """A DataFrame of changes with `SEQUENCE` and `OPERATION`, and the columns to write."""

    frame: DataFrame
    columns: tuple[str, ...]
    case_sensitive: bool

    def changes(self) -> DataFrame:
        """Return the rows to apply, with `SEQUENCE` and `OPERATION` but without truncations."""
        changes = self.frame.where(sf.col(OPERATION) != TRUNCATE)
        left_out = (UNAVAILABLE,) if self.has_left_out else ()
        return changes.select(*map(column, (*self.columns, *left_out, SEQUENCE, OPERATION)))

    @property
    def has_left_out(self) -> bool:
        """Whether the rows list values that the source left out."""
        return has_left_out(self.frame.columns, self.columns)

    def given_name(self, name: str) -> str:
        """Return the DataFrame's name of a column of the table."""
        if self.case_sensitive:
            return name
        return next(
            column_name for column_name in self.columns if column_name.lower() == name.lower()
        )


def truncated_at(frame: DataFrame, plan: CdcPlan) -> pa.Scalar | None:
    """Return the sequence of the latest truncation, None without one."""
    with spark_errors("The changes"):
        latest = frame.where(sf.col(OPERATION) == TRUNCATE).agg(
            sf.max(sf.col(SEQUENCE)).alias(SEQUENCE), sf.count(sf.lit(1)).alias("times")
        )
        row: pa.Table = latest.toArrow()
    if not row.column("times")[0].as_py():
        return None
    return pc.max(sequences(plan, row.select([SEQUENCE])))
