"""Predicates over rows as predicates over partition tuples.

The inclusive projection is true for every tuple whose partition may have a matching row, the strict
one only for tuples in whose partition all rows match. The rules are those of Java's Projections
and Transform.project/projectStrict. Fields with several source columns, void and unknown
transforms prune nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from iceberg_spark.expr.logic import conjunction, disjunction
from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    ALWAYS_TRUE,
    And,
    Bound,
    BoundReference,
    Constant,
    Leaf,
    Or,
)
from iceberg_spark.expr.project_leaf import project_leaf
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import can_transform, result_type


def inclusive(bound: Bound, spec: PartitionSpec, schema: Schema) -> Bound:
    """Return the condition for partition tuples that may have matching rows."""
    return _walk(bound, lambda leaf: conjunction(leaf_projections(leaf, spec, schema, False)))


def strict(bound: Bound, spec: PartitionSpec, schema: Schema) -> Bound:
    """Return the condition for partition tuples in which all rows match."""
    return _walk(bound, lambda leaf: disjunction(leaf_projections(leaf, spec, schema, True)))


def leaf_projections(
    leaf: Leaf, spec: PartitionSpec, schema: Schema, is_strict: bool
) -> tuple[Bound, ...]:
    """Return one leaf projected through each partition field of its column."""
    nothing = ALWAYS_FALSE if is_strict else ALWAYS_TRUE
    projections = []
    for part in spec.fields:
        term = leaf.term
        if not isinstance(term, BoundReference) or not _projects(part, term, schema):
            continue
        kind = result_type(part.transform, term.field_type)
        target = BoundReference(part.field_id, kind, False, part.name)
        projections.append(project_leaf(leaf, part.transform, target, is_strict) or nothing)
    return tuple(projections)


def _projects(part: PartitionField, term: BoundReference, schema: Schema) -> bool:
    """Return whether the column is the partition field's only source."""
    return (
        part.source_ids == (term.field_id,)
        and schema.get(term.field_id) is not None
        and can_transform(part.transform, term.field_type)
    )


def _walk(bound: Bound, leaf: Callable[[Leaf], Bound]) -> Bound:
    match bound:
        case Constant():
            return bound
        case And(children=children):
            return conjunction(_walk(child, leaf) for child in children)
        case Or(children=children):
            return disjunction(_walk(child, leaf) for child in children)
        case _:
            return leaf(bound)
