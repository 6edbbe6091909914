"""A mask over a statistics table: files in which every row matches.

The rules are those of Java's StrictMetricsEvaluator, except for nulls and NaN, which follow Spark:
a null never matches `x != 5`, NaN always matches `x > 5`.
"""

from __future__ import annotations

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
    one_value_of,
    only_nan,
    only_nulls,
    overlaps,
    overlaps_any,
)
from iceberg_spark.expr.nodes import (
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


def must_match(bound: Bound) -> pc.Expression:
    """Return a mask that is true only for files in which every row matches.

    It reads the columns `stats.needed(bound)`, is never null, and an unknown statistic never
    makes it true.
    """
    return mask_of(bound, _leaf, unknown=False)


def _leaf(leaf: Leaf, ref: BoundReference) -> pc.Expression:
    match leaf:
        case IsNull(negated=negated):
            return no_nulls(ref) if negated else only_nulls(ref)
        case IsNaN(negated=negated):
            return no_nan(ref) & no_nulls(ref) if negated else only_nan(ref)
        case Comparison():
            return no_nulls(ref) & _comparison(leaf, ref)
        case In(values=values, negated=negated):
            if negated:
                return no_nulls(ref) & (only_nan(ref) | ~overlaps_any(ref, values))
            return no_nulls(ref) & no_nan(ref) & one_value_of(ref, values)
        case StartsWith(prefix=prefix, negated=negated):
            return no_nulls(ref) & (_not_prefix if negated else _prefix)(ref, prefix)
        case _:
            assert_never(leaf)


def _comparison(leaf: Comparison, ref: BoundReference) -> pc.Expression:
    value, kind = leaf.value, ref.field_type
    lower, upper = lower_and_upper(ref)
    match leaf.op:
        case Op.LE if not is_coarse(kind):
            return no_nan(ref) & (upper <= literal(value, kind))
        case Op.LT | Op.LE:
            return no_nan(ref) & (upper < literal(floor(value), kind))
        case Op.GE if not is_coarse(kind):
            return only_nan(ref) | (lower >= literal(value, kind))
        case Op.GT | Op.GE:
            return only_nan(ref) | (lower > literal(ceiling(value), kind))
        case Op.EQ:
            return no_nan(ref) & one_value_of(ref, (value,))
        case Op.NE:
            return only_nan(ref) | ~overlaps(ref, value, value)
        case _:
            assert_never(leaf.op)


def _prefix(ref: BoundReference, prefix: str) -> pc.Expression:
    lower, upper = lower_and_upper(ref)
    after = after_prefix(prefix)
    if after is None:
        return constant(False)
    kind = ref.field_type
    return (lower >= literal(prefix, kind)) & (upper < literal(after, kind))


def _not_prefix(ref: BoundReference, prefix: str) -> pc.Expression:
    lower, upper = lower_and_upper(ref)
    after = after_prefix(prefix)
    below = upper < literal(prefix, ref.field_type)
    return below if after is None else below | (lower >= literal(after, ref.field_type))
