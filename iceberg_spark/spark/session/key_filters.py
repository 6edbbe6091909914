"""Filters by keys above the relations of a classic frame, and what Spark says of its joins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from iceberg_spark.spark.session.classic_plans import Expression, expression_of
from iceberg_spark.spark.session.classic_session import (
    frame_of_plan,
    java_list,
    java_static,
    java_texts,
)
from iceberg_spark.spark.session.compiled_java import compiled_object
from iceberg_spark.spark.session.long_texts import java_json, java_text
from iceberg_spark.spark.session.plan_joins import JoinedColumns, joined_columns
from iceberg_spark.spark.session.plan_tree import Node, tree_of
from iceberg_spark.spark.session.planned_relations import NeededSize, resized

_CLASS = "KeyFilters"
_PATTERNS = "org.apache.spark.sql.catalyst.trees.TreePattern"


@dataclass(frozen=True, slots=True)
class PlanRelation:
    """A relation of files in a plan or its subqueries: the ids of its columns, and its mark."""

    ids: tuple[int, ...]
    mark: str


@dataclass(frozen=True, slots=True, eq=False)
class OptimizedPlan:
    """What Spark's optimizer made of a frame.

    `relations` are all of its relations of files, those of subqueries too. `sizes` are the bytes
    that its nodes are taken for, `joined_sizes` those by which its sides are joined; `changing`
    are the nodes whose values are others each time. `broadcast_bytes` are those of a side that
    Spark broadcasts.
    """

    session: SparkSession
    java: Any
    root: Node
    relations: tuple[PlanRelation, ...]
    sizes: tuple[int, ...]
    joined_sizes: tuple[int, ...]
    changing: frozenset[int]
    conditions: Any
    broadcast_bytes: int

    def filters(self, leaf: Node) -> list[Expression]:
        """Return the conditions right above a leaf that are about its columns alone."""
        found = [expression_of(self.session, self.conditions.get(at)) for at in leaf.filters]
        own = leaf.ids
        return [one for one in found if own.issuperset(one.attributes)]

    @property
    def joins(self) -> list[JoinedColumns]:
        """Columns of its relations, each with the keys that it has to be equal to."""
        return joined_columns(self.root, self.is_broadcast, self.changing)

    def mark(self, leaf: Node) -> str:
        """Return the mark of the relation that a leaf is; nothing of another leaf."""
        return next((one.mark for one in self.relations if leaf.ids == {*one.ids}), "")

    def is_broadcast(self, node: Node) -> bool:
        """Return whether Spark takes what comes of a node for small enough to broadcast it."""
        return self.joined_sizes[node.number] <= self.broadcast_bytes

    def with_sizes(self, sizes: Sequence[NeededSize]) -> OptimizedPlan:
        """Return the plan as its sides are joined where relations say these sizes."""
        said, _ = _sizes(self.session, resized(self.session, self.java, sizes))
        return replace(self, joined_sizes=said)


@dataclass(frozen=True, slots=True, eq=False)
class KeyFilter:
    """What a column of a relation has to be one of; both by their places. `values` are Java's."""

    relation: int
    column: int
    values: Any


@dataclass(frozen=True, slots=True)
class BloomSize:
    """How many values a Bloom filter is made for, its bits, and what people see of it."""

    items: int
    bits: int
    name: str


def plan_relations(frame: DataFrame, option: str) -> tuple[PlanRelation, ...]:
    """Return the relations of files in the analysed plan of a frame; `option` marks them.

    Nothing over Connect, and where a Spark has other classes. Raises one of PLAN_ERRORS.
    """
    if compiled_object(frame.sparkSession, _CLASS) is None:
        return ()
    inside: Any = frame
    return _relations(frame.sparkSession, inside._jdf.logicalPlan(), option)


def optimized_plan(frame: DataFrame, option: str) -> OptimizedPlan | None:
    """Return what Spark's optimizer made of a classic frame.

    None over Connect, of what has another value at another time (`current_date`), of streams, and
    where Spark keeps rows of it. Raises one of PLAN_ERRORS.
    """
    session = frame.sparkSession
    java = compiled_object(session, _CLASS)
    if java is None:
        return None
    inside: Any = frame
    asked = inside._jdf.queryExecution()
    analyzed = asked.analyzed()
    changes = analyzed.containsPattern(java_static(session, _PATTERNS, "CURRENT_LIKE")())
    if changes or analyzed.isStreaming():
        return None
    plan = asked.optimizedPlan()
    if java.isCached(plan):
        return None
    said = json.loads(java_json(session, plan))
    sizes, changing = _sizes(session, plan)
    if len(said) != len(sizes):
        return None
    settings: Any = session
    conf = settings._jsparkSession.sessionState().conf()
    return OptimizedPlan(
        session,
        plan,
        tree_of(said),
        _relations(session, plan, option),
        sizes,
        sizes,
        changing,
        java.conditions(plan),
        int(conf.autoBroadcastJoinThreshold()),
    )


def java_values(session: SparkSession, kind: DataType, values: bytes | Sequence[str]) -> Any:
    """Return texts, or numbers of eight bytes each, as Java's values; None where one can't.

    Numbers are days, microseconds, or decimals without their point.
    """
    java: Any = compiled_object(session, _CLASS)
    if not isinstance(values, bytes):
        texts = java_texts(session, values)
        return None if texts is None else java.values(texts)
    return java.values(values, _java_type(session, kind))


def bloom_filter(session: SparkSession, kind: DataType, values: Any, size: BloomSize) -> Any:
    """Return a Bloom filter of Java's values; a plan shows it by its name."""
    java: Any = compiled_object(session, _CLASS)
    return java.bloom(values, _java_type(session, kind), size.bits, size.name)


def bloom_filter_of(
    frame: DataFrame,
    key: tuple[int, int],
    conditions: Sequence[Expression],
    having: Sequence[KeyFilter],
    size: BloomSize,
) -> Any:
    """Return a Bloom filter that Spark makes, of a relation's column in rows that stay.

    `key` is the relation's place and the column's; all of `having` are about that relation.
    """
    java: Any = compiled_object(frame.sparkSession, _CLASS)
    inside: Any = frame
    given = [
        [one.java for one in conditions],
        [one.column for one in having],
        [one.values for one in having],
    ]
    lists = [java_list(frame.sparkSession, values) for values in given]
    return java.bloomOf(inside._jdf.logicalPlan(), *key, *lists, size.items, size.bits, size.name)


def with_key_filters(frame: DataFrame, filters: Sequence[KeyFilter]) -> DataFrame:
    """Return a frame without rows of its relations that have none of the keys.

    Its columns stay the same. Raises one of PLAN_ERRORS.
    """
    session = frame.sparkSession
    java: Any = compiled_object(session, _CLASS)
    given = zip(*((one.relation, one.column, one.values) for one in filters), strict=True)
    lists = [java_list(session, values) for values in given]
    inside: Any = frame
    plan = java.filtered(inside._jdf.logicalPlan(), *lists)
    return frame_of_plan(session, plan)


def _java_type(session: SparkSession, kind: DataType) -> Any:
    inside: Any = session
    return inside._jsparkSession.parseDataType(kind.json())


def _sizes(session: SparkSession, plan: Any) -> tuple[tuple[int, ...], frozenset[int]]:
    """Return the bytes that nodes are taken for, and the nodes with other values each time."""
    java: Any = compiled_object(session, _CLASS)
    said = str(java.sizes(plan)).split(",")
    changing = (at for at, size in enumerate(said) if size.startswith("-"))
    return tuple(int(size.lstrip("-")) for size in said), frozenset(changing)


def _relations(session: SparkSession, plan: Any, option: str) -> tuple[PlanRelation, ...]:
    java: Any = compiled_object(session, _CLASS)
    found = []
    for said in java_text(session, java.relations(plan, option)).splitlines():
        ids, _, mark = said.partition(" ")
        found.append(PlanRelation(tuple(int(one) for one in ids.split(",") if one), mark))
    return tuple(found)
