"""MERGE on Spark: its joins find what changes, our writers and commits do it.

The target is never joined whole where less will do: a narrow pass over the columns that ON and
the conditions use finds the rows that change, and only those are read in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from iceberg_spark.expr.condition import conjuncts
from iceberg_spark.expr.nodes import Or, Unbound
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
from iceberg_spark.spark.row_level.conditions import check_condition, spark_errors
from iceberg_spark.spark.row_level.fixed_clock import clock
from iceberg_spark.spark.row_level.kept_rows import kept_rows
from iceberg_spark.spark.row_level.limits import ROW_LEVEL
from iceberg_spark.spark.row_level.made_rows import made_rows
from iceberg_spark.spark.row_level.merge_clauses import Clauses, matched_clauses
from iceberg_spark.spark.row_level.merge_source import MergeSource, Source, as_frame
from iceberg_spark.spark.row_level.own_names import (
    CLAUSE,
    MATCHED_ROW,
    SOURCE_ROW,
    check_names,
)
from iceberg_spark.spark.row_level.target_rows import (
    PLACE,
    column,
    empty_frame,
    named,
    require_types,
    rows_frame,
    settled,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.lineage import lineage_names


@dataclass(frozen=True, slots=True)
class Merging:
    """One run of a merge: target, source and clauses; frames that it keeps go with it."""

    verb: RowVerb
    context: WriteContext
    on: str
    clauses: Clauses
    source: Source
    plan: ScanPlan
    spark: SparkSession
    kept: ExitStack = field(default_factory=ExitStack)

    @property
    def lineage(self) -> tuple[str, ...]:
        """The metadata columns that rows which are written anew bring along."""
        return lineage_names(self.context)

    @property
    def row_id(self) -> tuple[str, ...]:
        """Of these the one that rows with new values keep."""
        return self.lineage[:1]

    def source_row(self) -> Column:
        """Return the number of the source's row."""
        return column(SOURCE_ROW, self.clauses.names.source)

    def target(
        self, plan: ScanPlan, columns: Sequence[str] | None, places: Sequence[str]
    ) -> DataFrame:
        """Return rows of the target by its name."""
        made = rows_frame(
            self.verb.metadata, plan, self.spark, columns=columns, metadata_columns=places
        )
        return named(made, self.clauses.names.target)

    def keys(self) -> DataFrame:
        """Return the columns of the source that ON may use, and the rows' numbers, by its name."""
        names = names_in(self.source.rows.columns, [self.on])
        wanted = [column(name, self.clauses.names.source) for name in names]
        keys = self.source.rows.select(*wanted, self.source_row())
        if (
            self.source.count * ROW_LEVEL.key_bytes * (1 + len(names)) // 2
            <= ROW_LEVEL.broadcast_bytes
        ):
            keys = sf.broadcast(keys)
        return named(keys, self.clauses.names.source)

    def met(self, places: Sequence[str], *, values: bool) -> DataFrame:
        """Return the target rows that a source row matches, with the clause they met.

        With `values` the columns that the clauses' values use are there as well.
        """
        clauses = self.clauses.of(Kind.MATCHED)
        decided = any(clause.condition is not None for clause in clauses)
        source = self.source.rows if values or decided else self.keys()
        target = self.target(self.plan, self._used(Kind.MATCHED, values=values), places)
        joined = target.join(source, expression(self.on), "inner")
        return joined.withColumn(CLAUSE, self.clauses.number(Kind.MATCHED))

    def unmatched_targets(self, places: Sequence[str], *, values: bool) -> DataFrame:
        """Return the target rows without a source row that a by-source clause is about."""
        rows = self.target(self.plan, self._used(Kind.BY_SOURCE, values=values), places)
        alone = settled(rows.join(self.keys(), expression(self.on), "left_anti"))
        met = alone.withColumn(CLAUSE, self.clauses.number(Kind.BY_SOURCE))
        return met.where(sf.col(CLAUSE) > 0)

    def _used(self, kind: Kind, *, values: bool) -> Sequence[str] | None:
        """Return the target's columns that the clauses of a kind use, None for all."""
        clauses = self.clauses.of(kind)
        if values and any(clause.keeps_columns for clause in clauses):
            return None
        texts = [self.on, *(c.condition for c in clauses if c.condition is not None)]
        return columns_in(self.context.schema, texts)

    def inserts(self, matched: DataFrame) -> list[DataFrame]:
        """Return the rows that not-matched clauses make; `matched` has the numbers that are not."""
        if not self.clauses.of(Kind.NOT_MATCHED):
            return []
        numbers = matched.select(sf.col(SOURCE_ROW).alias(MATCHED_ROW))
        same = self.source_row() == sf.col(MATCHED_ROW)
        alone = settled(self.source.rows.join(numbers, same, "left_anti"))
        met = alone.withColumn(CLAUSE, self.clauses.number(Kind.NOT_MATCHED))
        return [made_rows(self.clauses, met.where(sf.col(CLAUSE) > 0), [Kind.NOT_MATCHED])]

    def with_row_ids(self, rows: DataFrame, matched: DataFrame) -> DataFrame:
        """Return rows of the source, with the row ids of the target rows that they match.

        `matched` has both; a source row comes once for each target row, or once.
        """
        met = matched.select(sf.col(SOURCE_ROW).alias(MATCHED_ROW), *self.row_id)
        return rows.join(met, self.source_row() == sf.col(MATCHED_ROW), "left")

    def keep(self, frame: DataFrame) -> DataFrame:
        """Keep what a frame gives for several passes, in Spark's storage memory and on disk."""
        return self.kept.enter_context(kept_rows(frame, apart=False))


def prepared(
    verb: RowVerb,
    context: WriteContext,
    source: MergeSource,
    on: str,
    given: Sequence[MergeClause],
    spark: SparkSession,
) -> tuple[DataFrame, str, Clauses]:
    """Check all that Spark and the table can tell before anything is read.

    Returns the source, ON and the clauses, with one time for all clocks in them. Raises
    InvalidExpressionError, InvalidSchemaError, InvalidInputError naming the clause.
    """
    require_types(context.schema, "a merge")
    frame = as_frame(source, spark)
    check_names("The table", context.schema.column_names)
    check_names("The source", frame.columns, (*PLACE, *lineage_names(context)))
    names = verb.names if verb.names.target is not None else MERGE_NAMES
    stamped = clock((*context.schema.column_names, *frame.columns))
    condition = stamped(text_of(on, "on"))
    clauses = matched_clauses(
        context.schema,
        given,
        frame.columns,
        case_sensitive=verb.case_sensitive,
        rewrite=stamped,
        names=names,
    )
    target = named(empty_frame(context.schema, spark), names.target)
    alone = named(frame, names.source)
    pairs = target.crossJoin(alone)
    check_condition(pairs, condition, "on")
    sides = {Kind.MATCHED: pairs, Kind.NOT_MATCHED: alone, Kind.BY_SOURCE: target}
    for clause in clauses.every:
        what = f"{clause.kind} {clause.does}"
        if clause.condition is not None:
            check_condition(sides[clause.kind], clause.condition, f"The condition of '{what}'")
    for kind, side in sides.items():
        with spark_errors(f"'{kind}'"):
            met = side.withColumn(CLAUSE, clauses.number(kind))
            made_rows(clauses, met, [kind]).schema  # noqa: B018 (Spark looks the values up)
    return frame, condition, clauses


def target_filter(verb: RowVerb, on: str, clauses: Clauses, source: Source) -> Unbound | None:
    """Return the predicate of all target rows that the merge can reach, None for any.

    The conjuncts of ON about the target only and the ranges of the source's keys; by-source
    clauses reach what their own conditions say.
    """
    name = clauses.names.target
    found, _ = conjuncts(on, name, verb.dialect)
    parts = [part for part in found if binds(verb, part)]
    if source.ranges is not None and binds(verb, source.ranges):
        parts.append(source.ranges)
    matched = all_of(parts)
    reached = [matched]
    for clause in clauses.of(Kind.BY_SOURCE):
        condition = clause.condition
        reached.append(None if condition is None else usable_filter(verb, condition, name)[0])
    if any(part is None for part in reached):
        return None
    known = [part for part in reached if part is not None]
    return known[0] if len(known) == 1 else Or(tuple(known))


def target_variants(verb: RowVerb, on: str, clauses: Clauses) -> VariantFilter | None:
    """Return what ON says of fields of the target's variants, None where others are reached too."""
    if clauses.of(Kind.BY_SOURCE):
        return None
    return variants_in(verb, on, clauses.names.target)
