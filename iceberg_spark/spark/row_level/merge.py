"""MERGE with Spark's joins.

The full target is joined only if necessary: a first pass over the columns of ON and of the
conditions finds the rows that change, and only those are read in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from iceberg_spark.expr.nodes import Or, Unbound
from iceberg_spark.expr.parse_condition import conjuncts
from iceberg_spark.expr.variant_filter import VariantFilter
from iceberg_spark.row_level.conditions import (
    all_of,
    binds,
    columns_in,
    names_in,
    text_of,
    usable_filter,
    variants_in,
)
from iceberg_spark.row_level.merge_clause import Kind, MergeClause
from iceberg_spark.row_level.row_level_change import MERGE_NAMES, RowVerb
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.row_level.conditions import (
    OF_MERGE,
    OF_MERGED_VALUES,
    analyze,
    check_condition,
    reporting,
    spark_errors,
)
from iceberg_spark.spark.row_level.fixed_clock import clock
from iceberg_spark.spark.row_level.kept_rows import kept_rows
from iceberg_spark.spark.row_level.merge_clauses import Clauses, matched_clauses
from iceberg_spark.spark.row_level.merge_output import merge_output
from iceberg_spark.spark.row_level.merge_source import MergeSource, Source, as_frame
from iceberg_spark.spark.row_level.target_rows import (
    CLAUSE,
    MATCHED_ROW,
    ROW_POSITION,
    SOURCE_ROW,
    check_names,
    column,
    empty_frame,
    filter_after_join,
    name_target,
    require_types,
    rows_frame,
)
from iceberg_spark.spark.session.error_conditions import JOIN_NOT_BOOLEAN
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.lineage import lineage_names

_BROADCAST_BYTES = 48 * 1024 * 1024
"""Estimated bytes of the keys of a merge up to which they are sent to every executor."""
_KEY_BYTES = 24
"""Bytes that a key of one column takes in Spark's hash table, about."""


@dataclass(frozen=True, slots=True)
class MergeExecution:
    """One run of a merge. The DataFrames that it persists are released with it."""

    verb: RowVerb
    context: WriteContext
    on: str
    clauses: Clauses
    source: Source
    plan: ScanPlan
    spark: SparkSession
    persisted: ExitStack = field(default_factory=ExitStack)

    @property
    def lineage(self) -> tuple[str, ...]:
        """The metadata columns that rewritten rows keep."""
        return lineage_names(self.context)

    @property
    def row_id(self) -> tuple[str, ...]:
        """Those of them that rows with new values keep."""
        return self.lineage[:1]

    def source_row(self) -> Column:
        """Return the number of the source row."""
        return column(SOURCE_ROW, self.clauses.names.source)

    def target(
        self, plan: ScanPlan, columns: Sequence[str] | None, places: Sequence[str]
    ) -> DataFrame:
        """Return rows of the target under its name."""
        rows = rows_frame(
            self.verb.metadata, plan, self.spark, columns=columns, metadata_columns=places
        )
        return name_target(rows, self.clauses.names.target)

    def keys(self) -> DataFrame:
        """Return the columns of the source that ON uses, and the row numbers, under its name."""
        names = names_in(self.source.rows.columns, [self.on])
        key_columns = [column(name, self.clauses.names.source) for name in names]
        keys = self.source.rows.select(*key_columns, self.source_row())
        if self.source.count * _KEY_BYTES * (1 + len(names)) // 2 <= _BROADCAST_BYTES:
            keys = sf.broadcast(keys)
        return name_target(keys, self.clauses.names.source)

    def met(self, places: Sequence[str], *, values: bool) -> DataFrame:
        """Return the target rows that match a source row, with the clause that they meet.

        With `values` they also have the columns that the values of the clauses use.
        """
        clauses = self.clauses.of(Kind.MATCHED)
        decided = any(clause.condition is not None for clause in clauses)
        source = self.source.rows if values or decided else self.keys()
        target = self.target(self.plan, self._used(Kind.MATCHED, values=values), places)
        joined = target.join(source, expression(self.on), "inner")
        return joined.withColumn(CLAUSE, self.clauses.number(Kind.MATCHED))

    def unmatched_targets(self, places: Sequence[str], *, values: bool) -> DataFrame:
        """Return the target rows without a source row that meet a by-source clause."""
        rows = self.target(self.plan, self._used(Kind.BY_SOURCE, values=values), places)
        alone = filter_after_join(rows.join(self.keys(), expression(self.on), "left_anti"))
        met = alone.withColumn(CLAUSE, self.clauses.number(Kind.BY_SOURCE))
        return met.where(sf.col(CLAUSE) > 0)

    def _used(self, kind: Kind, *, values: bool) -> Sequence[str] | None:
        """Return the target columns that the clauses of a kind use, None for all."""
        clauses = self.clauses.of(kind)
        if values and any(clause.keeps_columns for clause in clauses):
            return None
        texts = [self.on, *(c.condition for c in clauses if c.condition is not None)]
        return columns_in(self.context.schema, texts)

    def inserts(self, matched: DataFrame) -> list[DataFrame]:
        """Return the rows of not-matched clauses; `matched` has the other source row numbers."""
        if not self.clauses.of(Kind.NOT_MATCHED):
            return []
        numbers = matched.select(sf.col(SOURCE_ROW).alias(MATCHED_ROW))
        same = self.source_row() == sf.col(MATCHED_ROW)
        alone = filter_after_join(self.source.rows.join(numbers, same, "left_anti"))
        met = alone.withColumn(CLAUSE, self.clauses.number(Kind.NOT_MATCHED))
        return [merge_output(self.clauses, met.where(sf.col(CLAUSE) > 0), [Kind.NOT_MATCHED])]

    def with_row_ids(self, rows: DataFrame, matched: DataFrame) -> DataFrame:
        """Return source rows with the row ids of the target rows that they match.

        A source row comes once for each target row that it matches, or once.
        """
        met = matched.select(sf.col(SOURCE_ROW).alias(MATCHED_ROW), *self.row_id)
        return rows.join(met, self.source_row() == sf.col(MATCHED_ROW), "left")

    def keep(self, frame: DataFrame) -> DataFrame:
        """Persist a DataFrame for several passes."""
        return self.persisted.enter_context(kept_rows(frame, apart=False))


def prepare_merge(
    verb: RowVerb,
    context: WriteContext,
    source: MergeSource,
    on: str,
    merge_clauses: Sequence[MergeClause],
    spark: SparkSession,
) -> tuple[DataFrame, str, Clauses]:
    """Check a merge before anything is read.

    Returns the source, ON and the clauses, with one moment for all clocks in them. Raises
    InvalidExpressionError, InvalidSchemaError, InvalidInputError naming the clause.
    """
    require_types(context.schema, "a merge")
    frame = as_frame(source, spark)
    check_names("The table", context.schema.column_names)
    check_names("The source", frame.columns, (*ROW_POSITION, *lineage_names(context)))
    names = verb.names if verb.names.target is not None else MERGE_NAMES
    stamped = clock((*context.schema.column_names, *frame.columns))
    condition = stamped(text_of(on, "on"))
    clauses = matched_clauses(
        context.schema,
        merge_clauses,
        frame.columns,
        case_sensitive=verb.case_sensitive,
        rewrite=stamped,
        names=names,
    )
    target = name_target(empty_frame(context.schema, spark), names.target)
    alone = name_target(frame, names.source)
    pairs = target.crossJoin(alone)
    sides = {Kind.MATCHED: pairs, Kind.NOT_MATCHED: alone, Kind.BY_SOURCE: target}
    with reporting(OF_MERGE):
        check_condition(pairs, condition, "on", JOIN_NOT_BOOLEAN)
        for clause in clauses.every:
            if clause.condition is not None:
                what = f"The condition of '{clause.kind} {clause.does}'"
                check_condition(sides[clause.kind], clause.condition, what)
    _check_values(clauses, sides)
    return frame, condition, clauses


def _check_values(clauses: Clauses, sides: Mapping[Kind, DataFrame]) -> None:
    """Refuse values that Spark cannot resolve, and windows unless the merge is one INSERT.

    A window over pairs of rows depends on how rows match, and Spark refuses it, too. Raises
    InvalidExpressionError.
    """
    is_insert = len(clauses.every) == len(clauses.of(Kind.NOT_MATCHED)) == 1
    with reporting({} if is_insert else OF_MERGED_VALUES):
        for kind, side in sides.items():
            with spark_errors(f"'{kind}'"):
                met = side.withColumn(CLAUSE, clauses.number(kind))
                analyze(merge_output(clauses, met, [kind]))
                values = [clause.values for clause in clauses.of(kind) if clause.values is not None]
                texts = [] if is_insert else [text for value in values for text in value.texts]
                for text in texts:
                    if names_in(["over"], [text]):
                        analyze(side.where(expression(f"({text}) IS NULL")))


def target_filter(verb: RowVerb, on: str, clauses: Clauses, source: Source) -> Unbound | None:
    """Return the predicate of all target rows that the merge can change, None for any.

    It has the conditions of ON on the target and the ranges of the source's keys; by-source clauses
    add their own conditions.
    """
    name = clauses.names.target
    conditions, _ = conjuncts(on, name, verb.dialect)
    parts = [part for part in conditions if binds(verb, part)]
    if source.ranges is not None and binds(verb, source.ranges):
        parts.append(source.ranges)
    matched = all_of(parts)
    reached = [matched]
    for clause in clauses.of(Kind.BY_SOURCE):
        condition = clause.condition
        reached.append(None if condition is None else usable_filter(verb, condition, name)[0])
    if any(part is None for part in reached):
        return None
    filters = [part for part in reached if part is not None]
    return filters[0] if len(filters) == 1 else Or(tuple(filters))


def target_variants(verb: RowVerb, on: str, clauses: Clauses) -> VariantFilter | None:
    """Return what ON requires of the target's variants, None if other rows can change too."""
    if clauses.of(Kind.BY_SOURCE):
        return None
    return variants_in(verb, on, clauses.names.target)
