"""Filters by keys inside Spark's optimizer, and the joins of the plan being optimized."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from iceberg_spark.spark.catalyst.plan_joins import JoinedColumns, Node, joined_columns, tree_of
from iceberg_spark.spark.session.classic_session import java_list, java_texts
from iceberg_spark.spark.session.compiled_java import compiled_object
from iceberg_spark.spark.session.long_texts import java_text

_CLASS = "KeyFilters"


@dataclass(frozen=True, slots=True, eq=False)
class OptimizedPlan:
    """A plan in Spark's optimizer that is being pruned. `query` is Java's `PlanQuery`.

    `broadcast_bytes` is the largest side of a join that Spark broadcasts.
    """

    session: SparkSession
    query: Any
    root: Node
    broadcast_bytes: int

    @property
    def joins(self) -> list[JoinedColumns]:
        """Columns of its relations, each with the keys that it has to be equal to."""
        return joined_columns(self.root, self.is_broadcast)

    def is_broadcast(self, node: Node) -> bool:
        """Return whether Spark estimates that a node's rows are few enough to broadcast them."""
        return node.size <= self.broadcast_bytes


@dataclass(frozen=True, slots=True, eq=False)
class KeyFilter:
    """The values of which a column of a relation has to have one.

    `relation` is the number of the relation in the request, `column` that of the column in the
    relation. `values` are Java objects: an array, or a plan that returns a Bloom filter.
    """

    relation: int
    column: int
    values: Any


@dataclass(frozen=True, slots=True)
class BloomSize:
    """The number of values of a Bloom filter, its bits, and its name in a plan."""

    items: int
    bits: int
    name: str


def optimized_plan(session: SparkSession, query: Any) -> OptimizedPlan:
    """Return the plan that Spark's optimizer is working on, with the changes made so far."""
    inside: Any = session
    java = inside._jsparkSession
    root = tree_of(json.loads(java_text(session, query.tree(java))))
    broadcast_bytes = java.sessionState().conf().autoBroadcastJoinThreshold()
    return OptimizedPlan(session, query, root, int(broadcast_bytes))


def java_values(session: SparkSession, kind: DataType, values: bytes | Sequence[str]) -> Any:
    """Return texts, or numbers of eight bytes each, as Java values.

    Numbers are days, microseconds, or unscaled decimals.
    """
    java: Any = compiled_object(session, _CLASS, __package__)
    if not isinstance(values, bytes):
        return java.values(java_texts(session, values))
    return java.values(values, _java_type(session, kind))


def bloom_filter(session: SparkSession, kind: DataType, values: Any, size: BloomSize) -> Any:
    """Return a Bloom filter of Java values. A plan shows its name."""
    java: Any = compiled_object(session, _CLASS, __package__)
    return java.bloom(values, _java_type(session, kind), size.bits, size.name)


def bloom_filter_of(
    plan: OptimizedPlan, key: tuple[int, int], having: Sequence[KeyFilter], size: BloomSize
) -> Any:
    """Return a Bloom filter that Spark builds from a column of a relation's remaining rows.

    `key` is the number of the relation and of the column; `having` are filters of that relation.
    """
    columns = java_list(plan.session, [key_filter.column for key_filter in having])
    values = java_list(plan.session, [key_filter.values for key_filter in having])
    return plan.query.bloomOf(*key, columns, values, size.items, size.bits, size.name)


def add_key_filter(plan: OptimizedPlan, key_filter: KeyFilter) -> None:
    """Filter a relation by keys."""
    plan.query.filter(key_filter.relation, key_filter.column, key_filter.values)


def _java_type(session: SparkSession, kind: DataType) -> Any:
    inside: Any = session
    return inside._jsparkSession.parseDataType(kind.json())
