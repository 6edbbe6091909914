"""Changes by key applied on Spark: what is known of their keys is brought to them, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import ceil
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.nodes import And, Comparison, Op, Reference, Unbound
from iceberg_spark.row_level.apply_changes import CdcChange, known_columns, with_truncation
from iceberg_spark.row_level.cdc_events import SEQUENCE
from iceberg_spark.row_level.cdc_ledger import Ledger
from iceberg_spark.row_level.cdc_notes import COLUMN, KIND, LIVE, NOTED_AT, TRUNCATED
from iceberg_spark.row_level.cdc_plan import END_AT, CdcPlan
from iceberg_spark.row_level.key_ranges import ranges_of
from iceberg_spark.row_level.ledger_writes import LedgerChange, write_notes
from iceberg_spark.row_level.limits import CDC
from iceberg_spark.row_level.position_deletes import DeletesWriter
from iceberg_spark.row_level.row_level_change import ChangedRows, PlannedChange, RowChange, RowVerb
from iceberg_spark.row_level.target_files import (
    Target,
    all_rows,
    only_files,
    target_files,
)
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.spark.adapt.many_columns import by_position, named, plain
from iceberg_spark.spark.adapt.map_arrow import map_plain_names
from iceberg_spark.spark.adapt.parcels import unpickled
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.reading.plan_frame import plan_frame
from iceberg_spark.spark.row_level.cdc_rows import CdcRows
from iceberg_spark.spark.row_level.cdc_task import (
    CHANGE,
    GONE,
    NEW,
    NOTE,
    NOTED,
    PATH,
    PICKLED,
    POSITION,
    SIDE,
    STORED,
    TOLD,
    CdcTask,
    Told,
)
from iceberg_spark.spark.row_level.changed_rows import write_changed, write_rewritten
from iceberg_spark.spark.row_level.conditions import spark_errors
from iceberg_spark.spark.row_level.kept_rows import kept_rows
from iceberg_spark.spark.row_level.position_deletes import write_deletes
from iceberg_spark.spark.row_level.target_rows import FILE, PLACE, POS, column, rows_frame
from iceberg_spark.spark.row_level.touched_files import rows_by_file
from iceberg_spark.spark.writing.write_files import write_frame
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.reserved import ROW_ID
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField
from iceberg_spark.write.align_batches import AlignOptions, aligned
from iceberg_spark.write.cdc_placeholders import UNAVAILABLE
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
    """Return the change that the rows of a frame make.

    A task holds the changes of its keys, and what is known of these; the driver a row a task.
    Raises InvalidInputError for what is wrong with the rows.
    """
    spark = rows.frame.sparkSession
    with spark_errors("The changes"):
        changes = rows.changes()
        count, row_filter, left_out = _measured(changes, plan, rows)
        if rows.has_left_out:
            needs_values = left_out or _has_noted_columns(ledger, row_filter)
            plan = replace(plan, needs_values=needs_values)
            ledger = replace(ledger, notes=replace(ledger.notes, plan=plan))
        target = target_files(verb.metadata, verb.io, row_filter, verb.target_options)
        task = _task(context, plan, rows, ledger, truncated_at)
        given = _together(changes, task, target, ledger, row_filter, rows, spark)
        tasks = max(1, ceil(count / CDC.task_rows))
        keys = [sf.col(f"{_KEY}{at}") for at in range(len(plan.keys))]
        arranged = given.repartition(tasks, *keys).drop(
            *(f"{_KEY}{at}" for at, _ in enumerate(keys))
        )
        with kept_rows(map_plain_names(arranged, task, task.kind), apart=False) as decided:
            told = _told(decided)
            change = _change(verb, context, target, decided, told, spark)
            notes = _notes(context, ledger, decided, told, task, verb.branch)
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
        for at, key in enumerate(keys)
        for end in (sf.min(key).alias(f"low{at}"), sf.max(key).alias(f"high{at}"))
    ]
    left_out = sf.max(sf.size(UNAVAILABLE)) if rows.has_left_out else sf.lit(0)
    found: pa.Table = changes.agg(
        sf.count(sf.lit(1)).alias("rows"), *ends, left_out.alias("left_out")
    ).toArrow()
    pairs = [
        pa.concat_arrays([found.column(f"{end}{at}").combine_chunks() for end in ("low", "high")])
        for at, _ in enumerate(keys)
    ]
    both = pa.RecordBatch.from_arrays(pairs, names=list(plan.key_names))
    optional = Schema(*(NestedField(f.field_id, f.name, f.field_type) for f in plan.keys))
    (fitting,) = aligned(optional, [both], AlignOptions())
    table = pa.Table.from_batches([fitting], to_arrow(optional))
    unknown = any(each.null_count for each in table.columns)
    key_range = None if unknown else ranges_of(plan.schema, table)
    longest = found.column("left_out")[0].as_py() or 0
    return found.column("rows")[0].as_py(), key_range, longest > 0


def _task(
    context: WriteContext, plan: CdcPlan, rows: CdcRows, ledger: Ledger, truncated_at: Any | None
) -> CdcTask:
    row_ids = lineage_names(context)[:1]
    known = [field.name for field in known_columns(plan)]
    return CdcTask(
        ledger.notes,
        tuple(rows.changes().columns),
        (*known, *PLACE, *row_ids),
        tuple(field.name for field in ledger.schema.fields),
        bool(row_ids),
        _later(truncated_at, ledger.truncated_at()),
        rows.case_sensitive,
    )


def _later(one: Any | None, other: Any | None) -> Any | None:
    if one is None or other is None:
        return other if one is None else one
    return one if one.as_py() >= other.as_py() else other


def _together(
    changes: DataFrame,
    task: CdcTask,
    target: Target,
    ledger: Ledger,
    row_filter: Unbound | None,
    rows: CdcRows,
    spark: SparkSession,
) -> DataFrame:
    """Return changes and what is known of their keys, side by side in columns of their own."""
    plan = ledger.notes.plan
    kinds = to_spark(Schema(*plan.keys))
    casts = [
        column(rows.given_name(field.name)).cast(kind.dataType).alias(f"{_KEY}{at}")
        for at, (field, kind) in enumerate(zip(plan.keys, kinds, strict=True))
    ]
    least = sf.min(sf.col(SEQUENCE)).alias(_LEAST)
    wanted = changes.groupBy(*casts).agg(least)
    metadata_columns = (*PLACE, *lineage_of(task))
    names = [field.name for field in known_columns(plan)]
    stored = rows_frame(
        target.metadata, target.plan, spark, columns=names, metadata_columns=metadata_columns
    ).select(*map(column, task.stored))
    frames = [
        _side(CHANGE, changes, casts, changes.columns),
        _side(STORED, *_of_keys(stored, plan, wanted, since=plan.history), task.stored),
    ]
    noted = _noted(ledger, row_filter, spark)
    frames.append(_side(NOTED, *_of_keys(noted, plan, wanted, since=False), task.noted))
    return _united(frames, len(plan.keys))


def _noted(ledger: Ledger, row_filter: Unbound | None, spark: SparkSession) -> DataFrame:
    """Return the rows of the ledger that count still."""
    if ledger.snapshot is None:
        return spark.createDataFrame([], to_spark(ledger.schema))
    rows = plan_frame(ledger.scan(row_filter), spark)
    young = sf.col(NOTED_AT) > ledger.notes.now_ms - ledger.notes.plan.retention_ms
    return rows.where((sf.col(KIND) != TRUNCATED) & (young | (sf.col(KIND) == LIVE)))


def task_columns(given: DataFrame) -> list[str]:
    """Return the columns that a task gets: all but the keys, which brought the rows there."""
    return [name for name in given.columns if not name.startswith(_KEY)]


def lineage_of(task: CdcTask) -> tuple[str, ...]:
    """Return the metadata columns of rows that keep their ids."""
    return (ROW_ID.name,) if task.keeps_row_ids else ()


def _of_keys(
    known: DataFrame, plan: CdcPlan, wanted: DataFrame, *, since: bool
) -> tuple[DataFrame, list[Column]]:
    """Return the rows with one of the wanted keys; of a history only what may change."""
    keys = [column(name).alias(f"{_KEY}{at}") for at, name in enumerate(plan.key_names)]
    same = [column(name) == sf.col(f"{_KEY}{at}") for at, name in enumerate(plan.key_names)]
    condition = reduce(Column.__and__, same)
    if not since:
        return known.join(wanted, condition, "left_semi"), keys
    late = column(END_AT).isNull() | (column(END_AT) >= sf.col(_LEAST))
    return known.join(wanted, condition & late, "left_semi"), keys


def _side(
    side: int, frame: DataFrame, keys: Sequence[Column], names: Sequence[str]
) -> tuple[int, DataFrame, int]:
    """Return the keys of rows and their columns, named by their places."""
    return side, by_position(frame.select(*keys, *map(column, names))), len(names)


def _united(frames: Sequence[tuple[int, DataFrame, int]], keys: int) -> DataFrame:
    """Put rows of several kinds into one frame: each has its own columns, NULL in the others'."""
    made: list[DataFrame] = []
    types = [[f.dataType for f in frame.schema.fields[keys:]] for _, frame, _ in frames]
    for side, frame, _ in frames:
        columns = [sf.lit(side).alias(_SIDE)]
        columns += [sf.col(plain(at)).alias(f"{_KEY}{at}") for at in range(keys)]
        place = 0
        for number, kinds in enumerate(types):
            for at, kind in enumerate(kinds):
                own = sf.col(plain(keys + at)) if frames[number][0] == side else None
                value = sf.lit(None).cast(kind) if own is None else own
                columns.append(value.alias(f"__iceberg_c{place}"))
                place += 1
        made.append(frame.select(*columns))
    return reduce(DataFrame.union, made)


def _told(decided: DataFrame) -> Told:
    """Return what all tasks did. Raises what one of them found wrong with the rows."""
    total = Told()
    rows = decided.where(sf.col(plain(SIDE)) == TOLD).select(plain(PICKLED)).collect()
    for row in rows:
        one = unpickled(bytes(row[0]))
        if isinstance(one, InvalidInputError):
            raise one
        total = Told(
            total.gone + one.gone,
            total.new + one.new,
            total.notes + one.notes,
            total.inserted + one.inserted,
            total.updated + one.updated,
            total.deleted + one.deleted,
        )
    return total


def _change(
    verb: RowVerb,
    context: WriteContext,
    target: Target,
    decided: DataFrame,
    told: Told,
    spark: SparkSession,
) -> RowChange:
    counts = ChangedRows(told.inserted, told.updated, told.deleted)
    places = decided.where(sf.col(plain(SIDE)) == GONE).select(
        sf.col(plain(PATH)).alias(FILE), sf.col(plain(POSITION)).alias(POS)
    )
    new = [_new_rows(context, decided)] if told.new else []
    if verb.mode.merge_on_read:
        return replace(_by_position(verb, context, target, places, new, told), counts=counts)
    touched = rows_by_file(places) if told.gone else {}
    plan = all_rows(only_files(target.plan, touched))
    kept: list[DataFrame] = []
    if len(plan):
        rows = rows_frame(
            verb.metadata, plan, spark, metadata_columns=(*PLACE, *lineage_names(context))
        )
        kept.append(rows.join(places, [FILE, POS], "left_anti"))
    return RowChange(
        added_data=write_rewritten(verb, context, plan, kept, new) if kept or new else (),
        removed_data=tuple(data_file(task) for task in plan),
        counts=counts,
    )


def _by_position(
    verb: RowVerb,
    context: WriteContext,
    target: Target,
    places: DataFrame,
    new: Sequence[DataFrame],
    told: Told,
) -> RowChange:
    files = write_changed(verb, context, new)
    if not told.gone:
        return RowChange(added_data=files)
    writer = DeletesWriter(context, target.metadata.partition_specs, verb.mode.granularity)
    gone = write_deletes(places, tuple(target.plan), writer)
    return RowChange(
        added_data=files,
        added_deletes=tuple(gone.files),
        removed_deletes=tuple(gone.replaced),
        referenced=tuple(gone.referenced),
    )


def _new_rows(context: WriteContext, decided: DataFrame) -> DataFrame:
    names = [field.name for field in context.schema.fields]
    names += lineage_names(context)[:1]
    first = PICKLED + 1
    own = [plain(first + at) for at in range(len(names))]
    return named(decided.where(sf.col(plain(SIDE)) == NEW), own, names)


def _notes(
    context: WriteContext,
    ledger: Ledger,
    decided: DataFrame,
    told: Told,
    task: CdcTask,
    branch: str | None,
) -> LedgerChange:
    """Write what the ledger has to know; tasks write what they noted."""
    before, at = ledger.truncated_at(), task.truncated_at
    own = with_truncation(to_arrow(ledger.schema).empty_table(), at, before, ledger.notes)
    files: tuple[DataFile, ...] = ()
    if told.notes:
        plan = ledger.notes.plan
        places = {field.name: at for at, field in enumerate(plan.schema.fields)}
        first = PICKLED + 1
        after = first + len(plan.schema.fields) + task.keeps_row_ids
        texts = [plain(first + places[name]) for name in plan.key_names]
        texts += [plain(after + at) for at in range(len(ledger.schema.fields) - len(plan.keys))]
        rows = named(decided.where(sf.col(plain(SIDE)) == NOTE), texts, task.noted)
        rows = rows.repartition(max(1, ceil(told.notes / CDC.merged_rows)))
        rows = rows.sortWithinPartitions(*(column(name) for name in plan.key_names))
        files = write_frame(rows, ledger.write_context(context), AlignOptions())
    return write_notes(ledger, context, own, branch, files)
