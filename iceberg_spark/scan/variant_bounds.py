"""Prune files by a filter on fields of variants, with the bounds in their manifest entries.

A bound is only used if it bounds what Spark compares: the value after the cast. So casts must
preserve the order, and a bound is widened if they round. Uncertain bounds prune nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.arrow.values import to_array
from iceberg_spark.arrow.variant.bounds import BoundsReader, FieldBound, ValueKind
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.expr.logic import conjunction, disjunction
from iceberg_spark.expr.may_match import may_match
from iceberg_spark.expr.nodes import And, Bound, BoundReference, Constant, Or
from iceberg_spark.expr.stats import Kind, Statistic, column, evaluate, needed_statistics
from iceberg_spark.expr.variant_filter import VariantField, VariantFilter
from iceberg_spark.manifest.schemas import value_column
from iceberg_spark.scan.column_stats import MAP_OF, statistic_columns, stats_table
from iceberg_spark.scan.delete_pairs import Mask
from iceberg_spark.spec import types as t

Range: TypeAlias = tuple[Any, Any]
"""The least and the largest value of a field in a file, canonical; None if unknown."""

_UNKNOWN: Range = (None, None)
_TEXT_OF_ARRAYS: Range = ("[", "\\")
"""Around all texts that begin with a bracket: an array is cast to JSON, and the bounds of a field
may be those of the items of its arrays."""
_EXACT = {ValueKind.INTEGER, ValueKind.DECIMAL}
_DIGITS = Context(prec=100)
_WHOLE_LIMITS = {t.IntegerType: 2**31, t.LongType: 2**63}


def variant_columns(pruned_by: VariantFilter) -> tuple[str, ...]:
    """Return the columns of an entry table that a filter needs."""
    bounds = [
        value_column(MAP_OF[kind], field.column_id)
        for field in pruned_by.fields.values()
        for kind in (Kind.LOWER, Kind.UPPER)
    ]
    return tuple(dict.fromkeys((*statistic_columns(_of_columns(pruned_by)), *bounds)))


def variant_mask(pruned_by: VariantFilter, entries: pa.Table) -> Mask:
    """Return which files may have matching rows; invalid bounds are unknown.

    `entries` needs the columns of `variant_columns`.
    """
    if entries.num_rows == 0:
        return np.full(0, True)
    columns = stats_table(entries, _of_columns(pruned_by))
    ranges = _Ranges.of(entries, {field.column_id for field in pruned_by.fields.values()})
    used = {item.field_id for item in needed_statistics(pruned_by.bound)} & pruned_by.fields.keys()
    for field_id in used:
        for name, values in _statistics(
            field_id, pruned_by.fields[field_id], ranges, entries.num_rows
        ):
            columns = columns.append_column(name, values)
    mask: Mask = evaluate(may_match(_with_texts_of_arrays(pruned_by.bound)), columns).to_numpy()
    return mask


def _of_columns(pruned_by: VariantFilter) -> list[Statistic]:
    return [
        item for item in needed_statistics(pruned_by.bound) if item.field_id not in pruned_by.fields
    ]


@dataclass(frozen=True, slots=True)
class _Ranges:
    """The bounds of variant columns in some files, as the manifest has them."""

    lower: Mapping[int, Sequence[bytes | None]]
    upper: Mapping[int, Sequence[bytes | None]]
    reader: BoundsReader

    @staticmethod
    def of(entries: pa.Table, column_ids: set[int]) -> _Ranges:
        lower, upper = (
            {
                column_id: entries.column(value_column(MAP_OF[kind], column_id)).to_pylist()
                for column_id in column_ids
            }
            for kind in (Kind.LOWER, Kind.UPPER)
        )
        return _Ranges(lower, upper, BoundsReader())

    def bounds(self, field: VariantField, row: int) -> tuple[FieldBound | None, FieldBound | None]:
        """Return a field's bounds in one file, None for unknown ones."""
        raw = self.lower[field.column_id][row], self.upper[field.column_id][row]
        try:
            lower, upper = (None if b is None else self.reader.bound(b, field.keys) for b in raw)
        except CorruptFileError:
            return None, None
        return (None, None) if _is_broken(lower, upper) else (lower, upper)


def _is_broken(lower: FieldBound | None, upper: FieldBound | None) -> bool:
    if lower is None or upper is None:
        return False
    return lower.kind is not upper.kind or bool(upper.value < lower.value)


def _statistics(
    field_id: int, field: VariantField, ranges: _Ranges, rows: int
) -> list[tuple[str, pa.Array]]:
    """Return the statistics columns of a field: bounds after the cast, without counts.

    Exact numbers are never NaN, whatever they are cast to; floats and texts may be.
    """
    lower, upper, nans = [], [], []
    for row in range(rows):
        bounds = ranges.bounds(field, row)
        least, most = _cast(bounds, field.kind)
        lower.append(least)
        upper.append(most)
        kinds = {bound.kind for bound in bounds if bound is not None}
        nans.append(0 if kinds and kinds <= _EXACT else None)
    columns = [
        (column(Kind.LOWER, field_id), to_array(field.kind, lower)),
        (column(Kind.UPPER, field_id), to_array(field.kind, upper)),
        (column(Kind.NAN_COUNT, field_id), pa.array(nans, pa.int64())),
        (column(Kind.NULL_COUNT, field_id), pa.nulls(rows, pa.int64())),
        (column(Kind.VALUE_COUNT, field_id), pa.nulls(rows, pa.int64())),
    ]
    if isinstance(field.kind, t.StringType):
        kind = to_arrow_type(field.kind)
        least, most = (pa.repeat(pa.scalar(end, kind), rows) for end in _TEXT_OF_ARRAYS)
        other = _of_arrays(field_id)
        columns += [
            (column(Kind.LOWER, other), least),
            (column(Kind.UPPER, other), most),
            (column(Kind.NULL_COUNT, other), pa.nulls(rows, pa.int64())),
            (column(Kind.VALUE_COUNT, other), pa.nulls(rows, pa.int64())),
        ]
    return columns


def _with_texts_of_arrays(bound: Bound) -> Bound:
    """Return a filter in which a field that is a text may be that of an array too."""
    match bound:
        case Constant():
            return bound
        case And(children=children):
            return conjunction(_with_texts_of_arrays(child) for child in children)
        case Or(children=children):
            return disjunction(_with_texts_of_arrays(child) for child in children)
        case _:
            term = bound.term
            if not isinstance(term, BoundReference) or term.field_id >= 0:
                return bound
            if not isinstance(term.field_type, t.StringType):
                return bound
            other = replace(term, field_id=_of_arrays(term.field_id))
            return disjunction([bound, replace(bound, term=other)])


def _of_arrays(field_id: int) -> int:
    """Return the id that stands for a field's arrays, below those of all fields."""
    return field_id - (1 << 32)


def _cast(bounds: tuple[FieldBound | None, FieldBound | None], kind: t.IcebergType) -> Range:
    """Return the bounds of values after the cast of `variant_get`."""
    stored_kind = next((bound.kind for bound in bounds if bound is not None), None)
    least, most = (None if bound is None else bound.value for bound in bounds)
    match kind, stored_kind:
        case (
            (t.BooleanType(), ValueKind.FLAG)
            | (t.DateType(), ValueKind.DATE)
            | (t.TimestamptzType(), ValueKind.INSTANT)
            | (t.TimestampType(), ValueKind.WALL_CLOCK)
            | (t.StringType(), ValueKind.TEXT)
            | (t.FloatType(), ValueKind.FLOAT)
            | (t.DoubleType(), ValueKind.FLOAT | ValueKind.DOUBLE)
        ):
            return least, most
        case _, (ValueKind.INTEGER | ValueKind.DECIMAL) if least is not None and most is not None:
            cast = _numbers(Decimal(least), Decimal(most), kind)
            return _UNKNOWN if cast is None else cast
        case _:
            return _UNKNOWN


def _numbers(least: Decimal, most: Decimal, kind: t.IcebergType) -> Range | None:
    """Return bounds of exact numbers as another type; None where some value may not fit it."""
    match kind:
        case t.IntegerType() | t.LongType():
            limit = _WHOLE_LIMITS[type(kind)]
            low, high = math.floor(least), math.ceil(most)
            return (low, high) if -limit <= low and high < limit else None
        case t.DecimalType(precision=precision, scale=scale):
            step = Decimal((0, (1,), -scale))
            ends = (
                least.quantize(step, ROUND_FLOOR, _DIGITS),
                most.quantize(step, ROUND_CEILING, _DIGITS),
            )
            limit = 10**precision
            sizes = [end.scaleb(scale, _DIGITS).copy_abs() for end in ends]  # abs() would round
            return ends if max(sizes) < limit else None
        case t.DoubleType():
            return _around(least, most, np.float64)
        case t.FloatType():
            return _around(least, most, np.float32)
        case _:
            return None


def _around(least: Decimal, most: Decimal, of: Callable[[float], Any]) -> Range:
    """Return floats outside of two numbers, however these are rounded."""
    low, high = of(float(least)), of(float(most))
    below, above = np.nextafter(low, of(-math.inf)), np.nextafter(high, of(math.inf))
    return float(below), float(above)
