"""Statistics of one column as Kleene expressions: null where a statistic is unknown.

`may_match` and `must_match` use them and replace null by their own default.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.arrow_literal import array, arrow_type, scalar
from iceberg_spark.expr.nodes import And, Bound, BoundReference, Constant, Leaf, Or, Reference
from iceberg_spark.expr.stats import (
    LOWER,
    NAN_COUNT,
    NULL_COUNT,
    UPPER,
    VALUE_COUNT,
    column,
    may_be_nan,
)
from iceberg_spark.spec.types import (
    PRIMITIVES,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    UUIDType,
)


@cache
def constant(value: bool) -> pc.Expression:
    """Return an expression that is always true or false.

    Created on first use: the first scalar makes Arrow import pandas (0.3 s), which a process that
    only reads a schema does not need.
    """
    return pc.scalar(value)


RANGE_LIMIT = 200  # Java's IN_PREDICATE_LIMIT: values of an IN that are compared one by one
_HIGHEST = "\U0010ffff"
_SURROGATES = 0xD800, 0xDFFF


def mask_of(
    bound: Bound, leaf: Callable[[Leaf, BoundReference], pc.Expression], *, unknown: bool
) -> pc.Expression:
    """Compile a predicate to a mask by the rules of its leaves; `unknown` replaces null."""
    return pc.coalesce(_compiled(bound, leaf, unknown), constant(unknown))


def _compiled(
    node: Bound, leaf: Callable[[Leaf, BoundReference], pc.Expression], unknown: bool
) -> pc.Expression:
    match node:
        case Constant(value=value):
            return constant(value)
        case And(children=children):
            return all_of([_compiled(child, leaf, unknown) for child in children])
        case Or(children=children):
            return any_of([_compiled(child, leaf, unknown) for child in children])
        case _:
            ref = node.term
            if isinstance(ref, Reference) or not isinstance(ref.field_type, PRIMITIVES):
                return constant(unknown)  # nested types have no statistics of their own
            return leaf(node, ref)


def literal(value: Any, kind: IcebergType) -> pc.Expression:
    """Return a canonical value as an expression."""
    return pc.scalar(scalar(value, kind))


def lower_and_upper(ref: BoundReference) -> tuple[pc.Expression, pc.Expression]:
    """Return the bounds, null if they are unreliable.

    A NaN bound was written by a writer that compared NaN like a number. Upper below lower was
    written by one with another order of decimals or UUIDs (old Java writers: signed halves).
    """
    lower = pc.field(column(LOWER, ref.field_id))
    upper = pc.field(column(UPPER, ref.field_id))
    match ref.field_type:
        case FloatType() | DoubleType():
            broken = pc.is_nan(lower) | pc.is_nan(upper)
        case DecimalType() | UUIDType():
            broken = upper < lower
        case _:
            return lower, upper
    broken = pc.coalesce(broken, constant(False))
    unknown = pc.scalar(pa.scalar(None, arrow_type(ref.field_type)))
    return pc.if_else(broken, unknown, lower), pc.if_else(broken, unknown, upper)


def only_nulls(ref: BoundReference) -> pc.Expression:
    """Return whether every value is null."""
    return _count(NULL_COUNT, ref) == _count(VALUE_COUNT, ref)


def no_nulls(ref: BoundReference) -> pc.Expression:
    """Return whether no value is null."""
    return _count(NULL_COUNT, ref) == 0


def only_nan(ref: BoundReference) -> pc.Expression:
    """Return whether every value is NaN."""
    if not may_be_nan(ref.field_type):
        return constant(False)
    return (_count(NAN_COUNT, ref) == _count(VALUE_COUNT, ref)) & (_count(NAN_COUNT, ref) > 0)


def no_nan(ref: BoundReference) -> pc.Expression:
    """Return whether no value is NaN."""
    return _count(NAN_COUNT, ref) == 0 if may_be_nan(ref.field_type) else constant(True)


def no_ordinary(ref: BoundReference) -> pc.Expression:
    """Return whether every value is null or NaN."""
    if not may_be_nan(ref.field_type):
        return only_nulls(ref)
    counted = _count(NULL_COUNT, ref) + _count(NAN_COUNT, ref)
    return only_nulls(ref) | (counted == _count(VALUE_COUNT, ref))


def _count(kind: Any, ref: BoundReference) -> pc.Expression:
    return pc.field(column(kind, ref.field_id))


def floor(value: Any) -> Any:
    """Return the least value that is equal to this one in every order a writer may have used.

    Old Java writers ordered the halves of a UUID as signed numbers. If lower <= upper in byte
    order, both orders agree about the first eight bytes, so only those are compared.
    """
    return uuid.UUID(bytes=value.bytes[:8] + bytes(8)) if isinstance(value, uuid.UUID) else value


def ceiling(value: Any) -> Any:
    """Return the largest value that is equal to this one in every order a writer may have used."""
    if isinstance(value, uuid.UUID):
        return uuid.UUID(bytes=value.bytes[:8] + b"\xff" * 8)
    return value


def is_coarse(kind: IcebergType) -> bool:
    """Return whether `floor` and `ceiling` are more than the value itself."""
    return isinstance(kind, UUIDType)


def overlaps(ref: BoundReference, least: Any, most: Any) -> pc.Expression:
    """Return whether the bounds and least..most have values in common."""
    lower, upper = lower_and_upper(ref)
    kind = ref.field_type
    return (lower <= literal(ceiling(most), kind)) & (upper >= literal(floor(least), kind))


def overlaps_any(ref: BoundReference, values: tuple[Any, ...]) -> pc.Expression:
    """Return whether any of the sorted values is within the bounds.

    More than `RANGE_LIMIT` values are compared as that many ranges of neighbours.
    """
    size = -(-len(values) // RANGE_LIMIT)
    starts = range(0, len(values), size)
    groups = [values[start : start + size] for start in starts]
    return any_of([overlaps(ref, group[0], group[-1]) for group in groups])


def one_value_of(ref: BoundReference, values: tuple[Any, ...]) -> pc.Expression:
    """Return whether lower and upper are the same value and that is one of these."""
    lower, upper = lower_and_upper(ref)
    if len(values) == 1:
        value = literal(values[0], ref.field_type)
        return (lower == value) & (upper == value)
    members = array(with_both_zeros(values), ref.field_type)
    return (lower == upper) & pc.if_else(lower.is_null(), constant(False), lower.isin(members))


def with_both_zeros(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add -0.0 to 0.0: Arrow's set membership compares floats by their bits."""
    if any(isinstance(value, float) and value == 0.0 for value in values):
        return (*values, -0.0)
    return values


def after_prefix(prefix: str) -> str | None:
    """Return the least text above all texts with a prefix, None if there is none."""
    head = prefix.rstrip(_HIGHEST)
    if not head:
        return None
    following = ord(head[-1]) + 1
    if _SURROGATES[0] <= following <= _SURROGATES[1]:
        following = _SURROGATES[1] + 1
    return head[:-1] + chr(following)


def any_of(masks: list[pc.Expression]) -> pc.Expression:
    """Join expressions by OR as a balanced tree, so that long lists stay shallow."""
    if not masks:
        return constant(False)
    while len(masks) > 1:
        pairs = [masks[i] | masks[i + 1] for i in range(0, len(masks) - 1, 2)]
        masks = pairs + (masks[-1:] if len(masks) % 2 else [])
    return masks[0]


def all_of(masks: list[pc.Expression]) -> pc.Expression:
    """Join expressions by AND as a balanced tree."""
    if not masks:
        return constant(True)
    while len(masks) > 1:
        pairs = [masks[i] & masks[i + 1] for i in range(0, len(masks) - 1, 2)]
        masks = pairs + (masks[-1:] if len(masks) % 2 else [])
    return masks[0]
