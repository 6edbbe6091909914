"""Frames whose relations are read without rows that joins drop: by the keys of other relations.

Spark reads all lines to join them with the orders of a day, and shuffles them. Here the keys of
those orders are read when the frame is made, as all of its tables are pinned then, and lines of
other orders are left out where they are read. So it goes on: a nation's customers tell their
orders, and these their lines. Spark's optimizer says which columns have to be equal.

Keys of more rows than are read here Spark collects itself, where it knows other keys for them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from iceberg_spark.errors import IcebergError
from iceberg_spark.read.limits import KEYS
from iceberg_spark.read.row_keys import RowKeys, whole_numbers
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.reading.chosen_keys import Choice, ChosenKeys, chosen_keys, share_of
from iceberg_spark.spark.reading.joined_tables import Join, JoinedTable, joined_tables
from iceberg_spark.spark.reading.kept_narrowing import kept_relations
from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.reading.marked_files import marked_files, most_marked_rows
from iceberg_spark.spark.reading.parquet_files import MARK
from iceberg_spark.spark.reading.relation_size import row_bytes
from iceberg_spark.spark.session.classic_plans import PLAN_ERRORS, asked_apart
from iceberg_spark.spark.session.key_filters import (
    BloomSize,
    KeyFilter,
    OptimizedPlan,
    PlanRelation,
    bloom_filter,
    bloom_filter_of,
    java_values,
    optimized_plan,
    plan_relations,
    with_key_filters,
)
from iceberg_spark.spark.session.planned_relations import NeededSize, with_sizes
from iceberg_spark.spec.schema import Schema

_log = logging.getLogger(__name__)


def keyed_frame(frame: DataFrame) -> DataFrame:
    """Return the frame, without rows of its relations that its joins are sure to drop.

    Its columns stay the same. Where something is not understood, and over Connect, the frame
    itself.
    """
    if most_marked_rows() < KEYS.least_rows:
        return frame  # nothing is asked of Java
    try:
        relations = plan_relations(frame, MARK)
        if not _is_worth_it(relations):
            return frame
        marks = tuple(one.mark for one in relations)
        found = kept_relations(frame, marks, "keys", lambda: _found(asked_apart(frame), relations))
        return _with_found(frame, relations, found)
    except (*PLAN_ERRORS, IcebergError, OSError, RecursionError, pa.ArrowException):
        _log.debug("A frame's joins leave out no rows", exc_info=True)
        return frame  # what is wrong, an action says


def _is_worth_it(relations: Sequence[PlanRelation]) -> bool:
    if len(relations) > NARROWING.leaves:
        return False
    known = [one for each in relations if (one := marked_files(each.mark)) is not None]
    return len(known) > 1 and max(one.rows for one in known) >= KEYS.least_rows


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Filters by keys that pay, and what needed columns of relations take.

    `sizes` have the place of a relation, the places of its columns, and their bytes.
    """

    filters: Sequence[KeyFilter] = ()
    sizes: Sequence[tuple[int, Sequence[int], int]] = ()


def _found(frame: DataFrame, relations: Sequence[PlanRelation]) -> _Found:
    plan = optimized_plan(frame, MARK)
    if plan is None:
        return _Found()
    tables = joined_tables(relations, plan)
    sizes = [_size(table) for table in tables if table.needed_columns]
    if sizes:
        plan = plan.with_sizes(_needed_sizes(relations, sizes))
        tables = joined_tables(relations, plan)
    if max((table.rows for table in tables), default=0) < KEYS.least_rows:
        return _Found(sizes=sizes)  # conditions leave so few rows of files that were marked
    made = _Filters(frame, plan, chosen_keys(tables, plan))
    filters = [one for table in tables for one in made.of(table)]
    return _Found(filters, sizes)


def _size(table: JoinedTable) -> tuple[int, Sequence[int], int]:
    """Return what the needed columns of a relation take, as one of these columns alone would say.

    A frame's relation has all columns of its table; texts that nobody asks for would count.
    """
    places = [table.ids.index(number) for number in table.needed_columns]
    kind, marked = table.marked.kind, table.marked
    names = {kind[place].name for place in places if place < len(kind)}
    read = tuple(
        one for one in marked.columns.read if one.asked is not None and one.asked.name in names
    )
    width = row_bytes(replace(marked.columns, read=read), marked.plan, marked.plan.files)
    return table.place, places, int(table.rows * width)


def _with_found(frame: DataFrame, relations: Sequence[PlanRelation], found: _Found) -> DataFrame:
    if found.sizes:
        frame = with_sizes(frame, _needed_sizes(relations, found.sizes))
    return with_key_filters(frame, found.filters) if found.filters else frame


def _needed_sizes(
    relations: Sequence[PlanRelation], sizes: Sequence[tuple[int, Sequence[int], int]]
) -> list[NeededSize]:
    found = []
    for place, columns, taken in sizes:
        ids = relations[place].ids
        found.append(NeededSize(ids[0], tuple(ids[column] for column in columns), taken))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Filters:
    """Makes filters of keys that are chosen."""

    frame: DataFrame
    plan: OptimizedPlan
    chosen: ChosenKeys

    def of(self, table: JoinedTable) -> list[KeyFilter]:
        """Return the filters of a relation."""
        return self._made(table, self.chosen.filters[table.place])

    def _made(self, table: JoinedTable, choices: Sequence[Choice]) -> list[KeyFilter]:
        found = []
        for one in choices:
            values = self._by_spark(one) if one.keys is None else self._values(one.join, one.keys)
            if values is not None:
                found.append(KeyFilter(table.place, one.join.place, values))
        return found

    def _values(self, join: Join, keys: RowKeys) -> Any:
        """Return what a filter compares with: a list of few keys, of more a Bloom filter."""
        session, numbers = self.frame.sparkSession, whole_numbers(keys)
        given = keys.values.to_pylist() if numbers is None else numbers
        kind = to_spark(Schema(keys.field)).fields[0].dataType
        values = java_values(session, kind, given)
        if values is None or len(keys) <= KEYS.listed:
            return values
        size = _bloom_size(len(keys), f"{len(keys):,} values", join)
        return bloom_filter(session, kind, values, size)

    def _by_spark(self, one: Choice) -> Any:
        """Return a Bloom filter of keys that Spark reads."""
        of, known = one.join.of, self.chosen.known[one.join.of.place]
        items = max(int(of.rows * share_of(known)), KEYS.listed)
        return bloom_filter_of(
            self.frame,
            (of.place, one.join.key_place),
            self.plan.filters(of.leaf),
            self._made(of, known),
            _bloom_size(items, "values", one.join),
        )


def _bloom_size(items: int, what: str, join: Join) -> BloomSize:
    return BloomSize(items, items * KEYS.bits, f"{what} of {join.of.name}.{join.key.name}")
