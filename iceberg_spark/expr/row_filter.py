"""The exact filter: the rows of an Arrow batch that match a bound predicate.

Nulls and NaN follow Spark's WHERE: comparisons drop nulls, NaN equals NaN and is larger than any
number, -0.0 equals 0.0; text and bytes are ordered by bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.arrow_literal import array, arrow_type, scalar
from iceberg_spark.expr.bounds import with_both_zeros
from iceberg_spark.expr.nodes import (
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
from iceberg_spark.spec.types import PRIMITIVES, DoubleType, FloatType

Data: TypeAlias = pa.RecordBatch | pa.Table
Mask: TypeAlias = Callable[[Data], pa.BooleanArray]
ArrayMask: TypeAlias = Callable[[pa.Array], pa.BooleanArray]

# From so many values on, a search in a sorted array beats a hash that is built for every batch.
SEARCH_FROM = 64


def row_filter(bound: Bound, column_of: Mapping[int, tuple[str, ...]]) -> Mask:
    """Return a function from a batch or table to a boolean array without nulls.

    `column_of` maps field ids to the path of names of their column in the data, outermost first.
    Columns may be dictionary-encoded or have large offsets. Raises InvalidExpressionError for
    a predicate column that `column_of` lacks.
    """
    match bound:
        case Constant(value=value):
            return lambda data: pa.repeat(pa.scalar(value), data.num_rows)
        case And(children=children):
            return _all([row_filter(child, column_of) for child in children])
        case Or(children=children):
            return _any([row_filter(child, column_of) for child in children])
        case _:
            return _leaf(bound, column_of)


def _all(masks: list[Mask]) -> Mask:
    def mask(data: Data) -> pa.BooleanArray:
        matches = masks[0](data)
        for other in masks[1:]:
            if matches.true_count == 0:
                break
            matches = pc.and_(matches, other(data))
        return matches

    return mask


def _any(masks: list[Mask]) -> Mask:
    def mask(data: Data) -> pa.BooleanArray:
        matches = masks[0](data)
        for other in masks[1:]:
            if matches.true_count == len(matches):
                break
            matches = pc.or_(matches, other(data))
        return matches

    return mask


def _leaf(leaf: Leaf, column_of: Mapping[int, tuple[str, ...]]) -> Mask:
    if not isinstance(leaf.term, BoundReference) or leaf.term.field_id not in column_of:
        name = leaf.term.name
        raise InvalidExpressionError(f"Column '{name}' of the predicate is not among those read")
    path = column_of[leaf.term.field_id]
    null_result = isinstance(leaf, IsNull) and not leaf.negated
    array_mask = _null_test(leaf) if isinstance(leaf, IsNull) else _value_test(leaf, leaf.term)

    def over(values: pa.Array) -> pa.BooleanArray:
        if isinstance(values, pa.DictionaryArray):
            # The dictionary is tested once, its result looked up for every row.
            matches = over(values.dictionary).take(values.indices)
            return pc.fill_null(matches, null_result)
        matches = array_mask(values)
        return matches if matches.null_count == 0 else pc.fill_null(matches, null_result)

    def mask(data: Data) -> pa.BooleanArray:
        column = find_column(data, path)
        if isinstance(column, pa.ChunkedArray):
            chunks = [over(chunk) for chunk in column.chunks]
            return pa.concat_arrays(chunks) if chunks else pa.array([], pa.bool_())
        return over(column)

    return mask


def find_column(data: Data, path: tuple[str, ...]) -> pa.Array | pa.ChunkedArray:
    """Return a column, null where a struct around it is null."""
    column = data.column(path[0])
    for name in path[1:]:
        column = pc.struct_field(column, [column.type.get_field_index(name)])
    return column


def _null_test(leaf: IsNull) -> ArrayMask:
    return lambda data: pc.is_valid(data) if leaf.negated else pc.is_null(data)


def _value_test(leaf: Leaf, ref: BoundReference) -> ArrayMask:
    """Return the test of a leaf, null for null; work that is the same for all batches runs once."""
    test = _prepared(leaf, ref)
    target = arrow_type(ref.field_type) if isinstance(ref.field_type, PRIMITIVES) else None

    def mask(values: pa.Array) -> pa.BooleanArray:
        if isinstance(values, pa.ExtensionArray):
            values = values.storage
        if target is not None and values.type != target and not _comparable(values.type, target):
            values = values.cast(target)
        return test(values)

    return mask


def _comparable(stored: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a column needs no cast: the large form of text or bytes."""
    if pa.types.is_large_string(stored):
        return bool(pa.types.is_string(target))
    return bool(pa.types.is_large_binary(stored) and pa.types.is_binary(target))


def _prepared(leaf: Leaf, ref: BoundReference) -> ArrayMask:
    match leaf:
        case IsNaN(negated=negated):
            return (lambda values: pc.invert(pc.is_nan(values))) if negated else pc.is_nan
        case Comparison(op=op, value=value):
            return _comparison(op, scalar(value, ref.field_type))
        case In(values=values, negated=negated):
            is_member = _membership(values, ref)
            return (lambda data: pc.invert(is_member(data))) if negated else is_member
        case StartsWith(prefix=prefix, negated=negated):
            if negated:
                return lambda data: pc.invert(pc.starts_with(data, prefix))
            return lambda data: pc.starts_with(data, prefix)
        case IsNull():
            return _null_test(leaf)
        case _:
            assert_never(leaf)


def _comparison(op: Op, value: pa.Scalar) -> ArrayMask:
    match op:
        case Op.LT:
            return lambda data: pc.less(data, value)
        case Op.LE:
            return lambda data: pc.less_equal(data, value)
        case Op.GT:  # not less or equal, so that NaN is greater
            return lambda data: pc.invert(pc.less_equal(data, value))
        case Op.GE:
            return lambda data: pc.invert(pc.less(data, value))
        case Op.EQ:
            return lambda data: pc.equal(data, value)
        case Op.NE:
            return lambda data: pc.not_equal(data, value)
        case _:
            assert_never(op)


def _membership(values: tuple[Any, ...], ref: BoundReference) -> ArrayMask:
    kind = arrow_type(ref.field_type)
    members = array(values, ref.field_type)
    number = _number_form(kind)
    if number is not None and len(values) >= SEARCH_FROM:
        return _search(members.view(number).to_numpy(), number)
    if isinstance(ref.field_type, FloatType | DoubleType):
        members = array(with_both_zeros(values), ref.field_type)

    def is_member(data: pa.Array) -> pa.BooleanArray:
        matches = pc.is_in(data, value_set=members.cast(data.type))
        return pc.if_else(pc.is_valid(data), matches, None)

    return is_member


def _number_form(kind: pa.DataType) -> pa.DataType | None:
    """Return the numpy-compatible type of the same width, for types that are numbers inside."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return kind
    if pa.types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    return None


def _search(members: np.ndarray[Any, Any], number: pa.DataType) -> ArrayMask:
    """Return membership by binary search in sorted members."""

    def is_member(data: pa.Array) -> pa.BooleanArray:
        plain = pc.fill_null(data.view(number), pa.scalar(0, number)).to_numpy(zero_copy_only=False)
        positions = np.searchsorted(members, plain)
        positions[positions == len(members)] = 0
        matches = pa.array(members[positions] == plain)
        return matches if data.null_count == 0 else pc.if_else(pc.is_valid(data), matches, None)

    return is_member
