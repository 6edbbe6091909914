"""MERGE by position deletes and new rows (merge-on-read), or by rewriting files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from iceberg_spark.row_level.merge_clause import Does, Kind, MergeClause
from iceberg_spark.row_level.position_deletes import DeletesWriter
from iceberg_spark.row_level.row_level_change import ChangedRows, PlannedChange, RowChange, RowVerb
from iceberg_spark.row_level.target_files import all_rows, only_files, target_files
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.spark.reading.planning_tasks import SparkPlanningTasks
from iceberg_spark.spark.row_level.changed_rows import write_changed, write_rewritten
from iceberg_spark.spark.row_level.conditions import spark_errors
from iceberg_spark.spark.row_level.merge import (
    MergeExecution,
    prepare_merge,
    target_filter,
    target_variants,
)
from iceberg_spark.spark.row_level.merge_output import merge_output
from iceberg_spark.spark.row_level.merge_source import MergeSource, read_once
from iceberg_spark.spark.row_level.position_deletes import (
    DELETE,
    UPDATE,
    Written,
    twice_error,
    write_deletes,
)
from iceberg_spark.spark.row_level.target_rows import (
    ACTION,
    CLAUSE,
    FILE,
    POS,
    ROW_POSITION,
    SOURCE_ROW,
    filter_after_join,
    name_target,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.reserved import LAST_UPDATED_SEQUENCE_NUMBER
from iceberg_spark.write.context import WriteContext

_ALONE = -1
"""Stands in `CLAUSE` for a target row without a source row until by-source clauses apply."""


def merge_on_spark(
    verb: RowVerb,
    context: WriteContext,
    source: MergeSource,
    on: str,
    merge_clauses: Sequence[MergeClause],
    spark: SparkSession,
) -> PlannedChange:
    """Return the change that a MERGE makes.

    Raises InvalidInputError for a target row that matches several source rows and for a value that
    its column cannot hold, and what `prepare_merge` raises.
    """
    frame, on, clauses = prepare_merge(verb, context, source, on, merge_clauses, spark)
    given_names = clauses.names
    with (
        spark_errors("The merge"),
        read_once(
            frame, on, context.schema, verb.dialect, given_names, verb.metadata.properties
        ) as rows,
    ):
        row_filter = target_filter(verb, on, clauses, rows)
        reached = target_variants(verb, on, clauses)
        target = target_files(
            verb.metadata,
            verb.io,
            row_filter,
            verb.target_options,
            pruned_by=reached,
            tasks=SparkPlanningTasks(spark),
        )
        work = MergeExecution(verb, context, on, clauses, rows, target.plan, spark)
        with work.persisted:
            change = _by_position(work) if verb.mode.merge_on_read else _rewritten(work)
    return PlannedChange(change, row_filter, after_deletes=clauses.ignores_unmet_rows(on))


def _by_position(work: MergeExecution) -> RowChange:
    change = _upsert_by_position(work) if work.clauses.is_upsert else None
    return _any_by_position(work) if change is None else change


def _deletes(work: MergeExecution, rows: DataFrame) -> Written:
    mode = work.verb.mode
    writer = DeletesWriter(work.context, work.verb.metadata.partition_specs, mode.granularity)
    unique = work.clauses.checks_cardinality
    return write_deletes(rows, tuple(work.plan), writer, unique=unique)


def _with_deletes(gone: Written, files: tuple[DataFile, ...]) -> RowChange:
    inserted = _rows(files) - gone.updated
    return RowChange(
        added_data=files,
        added_deletes=tuple(gone.files),
        removed_deletes=tuple(gone.replaced),
        referenced=tuple(gone.referenced),
        counts=ChangedRows(inserted, gone.updated, gone.deleted),
    )


def _rows(files: Sequence[DataFile]) -> int:
    return sum(file.record_count for file in files)


def _upsert_by_position(work: MergeExecution) -> RowChange | None:
    """Apply UPDATE * and INSERT *: write each source row once and delete the rows it matches.

    It needs no wide join. Returns None if a source row matches several target rows.
    """
    met = work.met((*ROW_POSITION, *work.row_id), values=False)
    rows = work.source.rows
    if work.row_id:
        met = work.keep(met.select(*ROW_POSITION, SOURCE_ROW, *work.row_id))
        rows = work.with_row_ids(rows, met)
    gone = _deletes(work, met.select(*ROW_POSITION, SOURCE_ROW, sf.lit(UPDATE).alias(ACTION)))
    if gone.source_hits != gone.distinct_source_rows:
        return None
    new = _source_rows(work, rows)
    return _with_deletes(gone, write_changed(work.verb, work.context, [new]))


def _source_rows(work: MergeExecution, rows: DataFrame) -> DataFrame:
    """Return source rows as INSERT * writes them, with row ids of matched rows."""
    (insert,) = work.clauses.of(Kind.NOT_MATCHED)
    met = rows.withColumn(CLAUSE, sf.lit(insert.number))
    return merge_output(work.clauses, met, [Kind.NOT_MATCHED], work.row_id)


def _any_by_position(work: MergeExecution) -> RowChange:
    clauses = work.clauses
    places = (*ROW_POSITION, *work.row_id)
    met = work.met(places, values=True)
    merged = merge_output(clauses, met, [Kind.MATCHED], [*places, SOURCE_ROW])
    matched = work.keep(merged)
    changed = [matched]
    if clauses.of(Kind.BY_SOURCE):
        alone = work.unmatched_targets(places, values=True)
        changed.append(work.keep(merge_output(clauses, alone, [Kind.BY_SOURCE], places)))
    written = Written()
    if clauses.of(Kind.MATCHED, Kind.BY_SOURCE):
        rows = [frame.select(*ROW_POSITION, clauses.action()) for frame in changed]
        written = _deletes(work, rows[0] if len(rows) == 1 else rows[0].unionByName(rows[1]))
    updates = clauses.numbers(Does.UPDATE)
    new: list[DataFrame] = []
    if updates and written.updated:
        # Frames of kinds that only delete have no rows to write.
        with_rows = [f for f in changed if work.context.schema.fields[0].name in f.columns]
        new = [frame.where(sf.col(CLAUSE).isin(updates)) for frame in with_rows]
    files = write_changed(work.verb, work.context, [*new, *work.inserts(matched)])
    return _with_deletes(written, files)


def _rewritten(work: MergeExecution) -> RowChange:
    """Rewrite the files with rows that change; a first narrow pass finds them."""
    clauses = work.clauses
    places = (*ROW_POSITION, *work.row_id)
    matched = work.keep(work.met(places, values=False).select(*places, SOURCE_ROW, CLAUSE))
    changed = matched.select(*ROW_POSITION, clauses.action())
    if clauses.of(Kind.BY_SOURCE):
        alone = work.unmatched_targets(ROW_POSITION, values=False).select(
            *ROW_POSITION, clauses.action()
        )
        changed = changed.unionByName(alone)
    touched = _touched(changed, unique=clauses.checks_cardinality)
    plan = all_rows(only_files(work.plan, touched))
    updated = sum(row["updated"] for row in touched.values())
    deleted = sum(row["deleted"] for row in touched.values())
    if clauses.is_upsert:
        new, inserted = _upserted(work, matched, updated)
    else:
        new, inserted = _inserted(work, matched)
    remaining: list[DataFrame] = []
    if len(plan) and clauses.is_upsert:
        target = work.target(plan, None, work.lineage)
        remaining.append(target.join(work.keys(), expression(work.on), "left_anti"))
    elif len(plan):
        remaining.append(_changed_rows(work, work.target(plan, None, work.lineage)))
    assigned = () if clauses.is_upsert else clauses.assigned
    files = write_rewritten(work.verb, work.context, plan, remaining, new, assigned=assigned)
    return RowChange(
        added_data=files,
        removed_data=tuple(data_file(task) for task in plan),
        counts=ChangedRows(inserted, updated, deleted),
    )


def _upserted(work: MergeExecution, matched: DataFrame, hits: int) -> tuple[list[DataFrame], int]:
    """Return the rows of UPDATE * and INSERT *, and the number of inserted ones.

    A source row that matches several target rows comes once for each of them.
    """
    distinct = matched.select(SOURCE_ROW).distinct().count()
    rows = work.source.rows
    if distinct != hits or work.row_id:
        rows = work.with_row_ids(rows, matched)
    return [_source_rows(work, rows)], work.source.count - distinct


def _inserted(work: MergeExecution, matched: DataFrame) -> tuple[list[DataFrame], int]:
    """Return the rows of not-matched clauses, and their number."""
    inserts = [work.keep(frame) for frame in work.inserts(matched)]
    return inserts, sum(frame.count() for frame in inserts)


def _changed_rows(work: MergeExecution, target: DataFrame) -> DataFrame:
    """Return all rows of rewritten files after the clauses."""
    clauses, on = work.clauses, expression(work.on)
    by_source = clauses.number(Kind.BY_SOURCE)
    if not clauses.of(Kind.MATCHED):
        # Rows that match stay, once each, however many source rows they match.
        matching = target.join(work.keys(), on, "left_semi").withColumn(CLAUSE, sf.lit(0))
        alone = filter_after_join(target.join(work.keys(), on, "left_anti")).withColumn(
            CLAUSE, by_source
        )
        rows = [_applied(work, part, Kind.BY_SOURCE) for part in (matching, alone)]
        return _clear_sequence_numbers(work, rows[0].unionByName(rows[1]))
    joined = target.join(work.source.rows, on, "left")
    number = sf.when(work.source_row().isNotNull(), clauses.number(Kind.MATCHED))
    changed = _applied(work, joined.withColumn(CLAUSE, number.otherwise(_ALONE)), Kind.MATCHED)
    if clauses.of(Kind.BY_SOURCE):
        # Spark resolves these clauses against the target alone. The rows so far have only its
        # columns: a bare `v` would be ambiguous in the join if the source has a `v` too.
        changed = name_target(changed, clauses.names.target)
        number = sf.when(sf.col(CLAUSE) == _ALONE, by_source).otherwise(sf.col(CLAUSE))
        changed = _applied(work, changed.withColumn(CLAUSE, number), Kind.BY_SOURCE)
    return _clear_sequence_numbers(work, changed)


def _applied(work: MergeExecution, rows: DataFrame, kind: Kind) -> DataFrame:
    """Return target rows after the clauses of a kind; other rows are unchanged."""
    gone = sf.col(CLAUSE).isin(work.clauses.numbers(Does.DELETE))
    return merge_output(work.clauses, rows.where(~gone), [kind], work.lineage, old=True)


def _clear_sequence_numbers(work: MergeExecution, rows: DataFrame) -> DataFrame:
    """Return rows without a last updated sequence number if a clause updates them."""
    if not work.lineage:
        return rows
    name = LAST_UPDATED_SEQUENCE_NUMBER.name
    updated = sf.col(CLAUSE).isin(work.clauses.numbers(Does.UPDATE))
    return rows.withColumn(name, sf.when(~updated, sf.col(name)))


def _touched(changed: DataFrame, *, unique: bool) -> Mapping[str, Any]:  # a Spark row each
    """Return the files with rows that change, and their counts. Raises if a row matches twice."""
    action = sf.col(ACTION)
    by_row = changed.groupBy(FILE, POS).agg(
        sf.count(sf.lit(1)).alias("times"), sf.max(action).alias(ACTION)
    )
    counted = by_row.groupBy(FILE).agg(
        sf.count_if(action == UPDATE).alias("updated"),
        sf.count_if(action == DELETE).alias("deleted"),
        sf.min(sf.when(sf.col("times") > 1, sf.col(POS))).alias("twice"),
    )
    rows_by_file = {row[FILE]: row for row in counted.collect()}
    if unique:
        for path, row in rows_by_file.items():
            if row["twice"] is not None:
                raise twice_error(path, row["twice"])
    return {path: row for path, row in rows_by_file.items() if row["updated"] or row["deleted"]}
