"""The residual of a predicate inside one partition (Java: ResidualEvaluator)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from iceberg_spark.expr.evaluate import evaluate
from iceberg_spark.expr.logic import conjunction, disjunction, leaves
from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    ALWAYS_TRUE,
    And,
    Bound,
    Constant,
    Leaf,
    Or,
)
from iceberg_spark.expr.project import leaf_projections
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema


def residual(bound: Bound, spec: PartitionSpec, schema: Schema, partition: Sequence[Any]) -> Bound:
    """Return the predicate that rows of a partition still have to satisfy.

    A leaf decided by the tuple becomes a constant: true if its strict projection is true, false if
    its inclusive one is false. `partition` has canonical values in the order of the spec.
    """
    return residual_of(bound, spec, schema)(partition)


def residual_of(
    bound: Bound, spec: PartitionSpec, schema: Schema
) -> Callable[[Sequence[Any]], Bound]:
    """Return `residual` for many partitions: every leaf is projected once."""
    ids = tuple(part.field_id for part in spec.fields)
    projected = {
        leaf: (
            disjunction(leaf_projections(leaf, spec, schema, True)),
            conjunction(leaf_projections(leaf, spec, schema, False)),
        )
        for leaf in leaves(bound)
    }

    def for_partition(partition: Sequence[Any]) -> Bound:
        row = dict(zip(ids, partition, strict=True))

        def decide(leaf: Leaf) -> Bound:
            certain, possible = projected[leaf]
            if evaluate(certain, row):
                return ALWAYS_TRUE
            return leaf if evaluate(possible, row) else ALWAYS_FALSE

        return _replace_leaves(bound, decide)

    return for_partition


def _replace_leaves(bound: Bound, decide: Callable[[Leaf], Bound]) -> Bound:
    match bound:
        case Constant():
            return bound
        case And(children=children):
            return conjunction(_replace_leaves(child, decide) for child in children)
        case Or(children=children):
            return disjunction(_replace_leaves(child, decide) for child in children)
        case _:
            return decide(bound)
