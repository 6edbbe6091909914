"""Masks over a statistics table: files that may have a matching row, and files that have no other.

The rules are those of Java's InclusiveMetricsEvaluator, StrictMetricsEvaluator and
ManifestEvaluator, except for nulls and NaN, which follow Spark: NaN is the largest value, so a
file that may contain NaN may match `x > 5` whatever its bounds are; a null never matches `x != 5`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

import pyarrow.compute as pc

from iceberg_spark.expr.bounds import (
    after_prefix,
    ceiling,
    constant,
    floor,
    is_coarse,
    literal,
    lower_and_upper,
    mask_of,
    no_nan,
    no_nulls,
    no_ordinary,
    one_value_of,
    only_nan,
    only_nulls,
    overlaps,
    overlaps_any,
)
from iceberg_spark.expr.nodes import (
    NEGATED,
    Bound,
    BoundReference,
    Comparison,
    In,
    IsNaN,
    IsNull,
    Leaf,
    Op,
    StartsWith,
)


def may_match(bound: Bound) -> pc.Expression:
    """Return a mask that is false only for files without a matching row.

    It reads the columns `stats.needed(bound)`, is never null, and an unknown statistic never
    makes it false.
    """
    return mask_of(bound, _leaf, unknown=True)


def must_match(bound: Bound) -> pc.Expression:
    """Return a mask that is true only for files in which every row matches.

    It reads the columns `stats.needed(bound)`, is never null, and an unknown statistic never
    makes it true.
    """
    return mask_of(bound, _of_every_row, unknown=False)


def _of_every_row(leaf: Leaf, ref: BoundReference) -> pc.Expression:
    """Return whether no row can match the negation; a null matches neither, unless it is tested.

    For example all rows match `x < 5` if none is null and none can match `x >= 5`.
    """
    no_row_of_negation = ~_leaf(_negation(leaf), ref)
    return no_row_of_negation if isinstance(leaf, IsNull) else no_nulls(ref) & no_row_of_negation


def _negation(leaf: Leaf) -> Leaf:
    if isinstance(leaf, Comparison):
        return replace(leaf, op=NEGATED[leaf.op])
    return replace(leaf, negated=not leaf.negated)


def _leaf(leaf: Leaf, ref: BoundReference) -> pc.Expression:
    match leaf:
        case IsNull(negated=negated):
            return ~only_nulls(ref) if negated else ~no_nulls(ref)
        case IsNaN(negated=False):
            return ~no_nan(ref) & ~only_nulls(ref)
        case IsNaN():
            return ~no_ordinary(ref)
        case Comparison():
            return _comparison(leaf, ref)
        case In(values=values, negated=negated):
            if negated:
                return _other_than(ref, values)
            return ~no_ordinary(ref) & overlaps_any(ref, values)
        case StartsWith(prefix=prefix, negated=negated):
            return ~only_nulls(ref) & (_not_prefix if negated else _prefix)(ref, prefix)
        case _:
            assert_never(leaf)


def _comparison(leaf: Comparison, ref: BoundReference) -> pc.Expression:
    value, kind = leaf.value, ref.field_type
    lower, upper = lower_and_upper(ref)
    match leaf.op:
        case Op.LT if not is_coarse(kind):
            return ~no_ordinary(ref) & (lower < literal(value, kind))
        case Op.LT | Op.LE:
            return ~no_ordinary(ref) & (lower <= literal(ceiling(value), kind))
        case Op.GT if not is_coarse(kind):
            return _or_nan(ref, upper > literal(value, kind))
        case Op.GT | Op.GE:
            return _or_nan(ref, upper >= literal(floor(value), kind))
        case Op.EQ:
            return ~no_ordinary(ref) & overlaps(ref, value, value)
        case Op.NE:
            return _other_than(ref, (value,))
        case _:
            assert_never(leaf.op)


def _or_nan(ref: BoundReference, in_bounds: pc.Expression) -> pc.Expression:
    """Return whether an ordinary value is in bounds, or NaN, which is above all bounds."""
    return ~only_nulls(ref) & (~no_nan(ref) | (~no_ordinary(ref) & in_bounds))


def _other_than(ref: BoundReference, values: tuple[object, ...]) -> pc.Expression:
    """Return whether a value besides these may be there: not if both bounds are one of them."""
    only_these = one_value_of(ref, values) & no_nan(ref)
    return ~only_nulls(ref) & (only_nan(ref) | ~only_these)


def _prefix(ref: BoundReference, prefix: str) -> pc.Expression:
    lower, upper = lower_and_upper(ref)
    after = after_prefix(prefix)
    reaches = upper >= literal(prefix, ref.field_type)
    return reaches if after is None else reaches & (lower < literal(after, ref.field_type))


def _not_prefix(ref: BoundReference, prefix: str) -> pc.Expression:
    lower, upper = lower_and_upper(ref)
    after = after_prefix(prefix)
    if after is None:
        return constant(True)
    kind = ref.field_type
    return (lower < literal(prefix, kind)) | (upper >= literal(after, kind))
