"""Predicates over rows as predicates over partition tuples.

The inclusive projection is true for every tuple whose partition may have a matching row, the strict
one only for tuples in whose partition all rows match. The rules are those of Java's Projections
and Transform.project/projectStrict. Fields with several source columns, void and unknown
transforms prune nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, assert_never

from iceberg_spark.expr.coerce import limits
from iceberg_spark.expr.evaluate import evaluate
from iceberg_spark.expr.logic import conjunction, disjunction, leaves, membership
from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    ALWAYS_TRUE,
    And,
    Bound,
    BoundReference,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    Leaf,
    Op,
    Or,
    StartsWith,
)
from iceberg_spark.expr.transform_value import transform_value, wrap
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TimeTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
    can_transform,
    result_type,
)
from iceberg_spark.spec.types import (
    BinaryType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
)
from iceberg_spark.spec.values import to_scaled


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


# One comparison through one partition transform, inclusive or strict.
#
# Source: Java's ProjectionUtil, Truncate, Bucket, Dates and Timestamps. None means that there is
# no projection. Null tests are the same for a tuple and its rows: every transform but void maps
# null, and only null, to null.

Apply = Callable[[Any], Any]


def project_leaf(
    leaf: Leaf, transform: Transform, target: BoundReference, is_strict: bool
) -> Bound | None:
    """Return a leaf over a source column as a predicate over the partition field `target`."""
    match transform:
        case VoidTransform() | UnknownTransform():
            return None
        case IdentityTransform():
            return replace(leaf, term=target)
        case _ if isinstance(leaf, IsNull):
            return replace(leaf, term=target)
        case BucketTransform():
            return _bucket(leaf, transform, target, is_strict)
        case TruncateTransform():
            return _truncate(leaf, transform, target, is_strict)
        case YearTransform() | MonthTransform() | DayTransform() | HourTransform():
            return _time(leaf, transform, target, is_strict)
        case _:
            assert_never(transform)


def _bucket(
    leaf: Leaf, transform: Transform, target: BoundReference, is_strict: bool
) -> Bound | None:
    """Equal values share a bucket: only equality can be projected, only inequality strictly."""
    values = _listed(leaf, negated=is_strict)
    if values is None:
        return None
    kind = leaf.term.field_type if isinstance(leaf.term, BoundReference) else target.field_type
    return membership(target, (transform_value(transform, kind, v) for v in values), is_strict)


def _listed(leaf: Leaf, negated: bool) -> tuple[Any, ...] | None:
    """Return the values of = and IN, or of != and NOT IN; None for any other leaf."""
    match leaf:
        case Comparison(op=op, value=value) if op is (Op.NE if negated else Op.EQ):
            return (value,)
        case In(values=values, negated=own) if own == negated:
            return values
        case _:
            return None


def _ordered(leaf: Leaf, target: BoundReference, apply: Apply, is_strict: bool) -> Bound | None:
    """Project through a transform that keeps order but maps many values to one."""
    values = _listed(leaf, negated=is_strict)
    if values is not None:
        applied = [apply(value) for value in values]
        return membership(target, applied, is_strict) if _fit(applied, target) else None
    if not isinstance(leaf, Comparison) or leaf.op in (Op.EQ, Op.NE):
        return None
    kind = leaf.term.field_type if isinstance(leaf.term, BoundReference) else target.field_type
    closed = _strict_edge(leaf, kind) if is_strict else _inclusive_edge(leaf, kind)
    value = apply(closed.value)
    return Comparison(closed.op, target, value) if _fit([value], target) else None


def _inclusive_edge(leaf: Comparison, kind: IcebergType) -> Comparison:
    """Close the range: `x < 10` is `x <= 9` where values are whole, and at most 10 elsewhere."""
    match leaf.op:
        case Op.LT:
            return replace(leaf, op=Op.LE, value=_step(kind, leaf.value, -1))
        case Op.GT:
            return replace(leaf, op=Op.GE, value=_step(kind, leaf.value, 1))
        case _:
            return leaf


def _strict_edge(leaf: Comparison, kind: IcebergType) -> Comparison:
    """Open the range: values strictly inside have a partition before or after the edge's own."""
    match leaf.op:
        case Op.LE:
            return replace(leaf, op=Op.LT, value=_step(kind, leaf.value, 1))
        case Op.GE:
            return replace(leaf, op=Op.GT, value=_step(kind, leaf.value, -1))
        case _:
            return leaf


def _step(kind: IcebergType, value: Any, step: int) -> Any:
    """Return the next or previous value of a type, the value itself if there is none."""
    match kind:
        case StringType() | BinaryType():
            return value
        case DecimalType(scale=scale):
            return value + to_scaled(step, scale) if isinstance(value, Decimal) else value
        case _:
            return value + step


def _fit(values: list[Any], target: BoundReference) -> bool:
    """Return whether partition values are in the range of their type.

    A truncated decimal may exceed its precision, and hours of far timestamps do not fit an int:
    then there is no projection.
    """
    bounds = limits(target.field_type)
    return bounds is None or all(bounds[0] <= value <= bounds[1] for value in values)


def _truncate(
    leaf: Leaf, transform: TruncateTransform, target: BoundReference, is_strict: bool
) -> Bound | None:
    kind = target.field_type  # truncate keeps the type
    if isinstance(leaf, StartsWith):
        return _truncate_prefix(leaf, transform.width, target, is_strict)

    def apply(value: Any) -> Any:
        return transform_value(transform, kind, value)

    projected = _ordered(leaf, target, apply, is_strict)
    if isinstance(kind, IntegerType | LongType) and isinstance(projected, Comparison):
        return _mind_wrapped(projected, kind, transform.width, is_strict)
    return projected


def _mind_wrapped(
    projected: Comparison, kind: IcebergType, width: int, is_strict: bool
) -> Bound | None:
    """Allow for the least integers: truncated below their type they wrap around to a large value.

    Java and the Rust library write them so. Rows of that tuple match `<=` though it is large,
    and don't match `>`.
    """
    least = -(2**31) if isinstance(kind, IntegerType) else -(2**63)
    if least % width == 0 or projected.op in (Op.EQ, Op.NE):
        return projected
    wrapped = wrap(kind, least - least % width)
    if projected.value == wrapped:
        return None
    if not is_strict and projected.op is Op.LE:
        return disjunction([projected, Comparison(Op.EQ, projected.term, wrapped)])
    if is_strict and projected.op is Op.GT:
        return conjunction([projected, Comparison(Op.NE, projected.term, wrapped)])
    return projected


def _truncate_prefix(
    leaf: StartsWith, width: int, target: BoundReference, is_strict: bool
) -> Bound | None:
    length = len(leaf.prefix)
    if length < width:
        return replace(leaf, term=target)
    if length == width:
        return Comparison(Op.NE if leaf.negated else Op.EQ, target, leaf.prefix)
    # The prefix is longer than the truncated text of the partition.
    cut = replace(leaf, term=target, prefix=leaf.prefix[:width])
    return cut if leaf.negated == is_strict else None


def _time(
    leaf: Leaf, transform: TimeTransform, target: BoundReference, is_strict: bool
) -> Bound | None:
    if isinstance(leaf, IsNaN | StartsWith) or not isinstance(leaf.term, BoundReference):
        return None
    kind = leaf.term.field_type

    def apply(value: Any) -> Any:
        return transform_value(transform, kind, value)

    projected = _ordered(leaf, target, apply, is_strict)
    if projected is None or (isinstance(kind, DateType) and isinstance(transform, DayTransform)):
        return projected
    return _mind_old_writers(projected, target, is_strict)


def _mind_old_writers(projected: Bound, target: BoundReference, is_strict: bool) -> Bound:
    """Allow for values before 1970 that are one too large.

    Java up to 0.10 rounded towards zero: day(1969-12-31 10:00) was 0, not -1. Source:
    ProjectionUtil.fixInclusiveTimeProjection and fixStrictTimeProjection.
    """
    match projected:
        case Comparison(op=Op.LT | Op.LE, value=value) if not is_strict and value < 0:
            return replace(projected, value=value + 1)
        case Comparison(op=Op.GT | Op.GE, value=value) if is_strict and value <= 0:
            return replace(projected, value=value + 1)
        case Comparison(op=Op.EQ | Op.NE as op, value=value):
            return membership(target, _with_next((value,)), op is Op.NE)
        case In(values=values, negated=negated):
            return membership(target, _with_next(values), negated)
        case _:
            return projected


def _with_next(values: tuple[int, ...]) -> list[int]:
    return [*values, *(value + 1 for value in values if value < 0)]


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
