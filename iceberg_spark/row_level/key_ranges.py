"""The rows of a table that some keys can match, as a predicate on the table's columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.literals import DateLiteral, TimestampLiteral
from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    And,
    Comparison,
    IsNull,
    Op,
    Or,
    Reference,
    Unbound,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

_LONGEST_TEXT = 256


def ranges_of(schema: Schema, keys: pa.Table) -> Unbound | None:
    """Return a predicate that is true for every row with one of the keys, None if there is none.

    The columns of `keys` have the table's names and types and no nulls.
    """
    parts: list[Unbound] = []
    for name, column in zip(keys.column_names, keys.columns, strict=True):
        kind = range_type(schema, name)
        if kind is None or not compares(column.type, kind):
            continue
        ends = pc.min_max(column)
        part = key_range(name, ends["min"], ends["max"], with_nulls=False)
        if part is not None:
            parts.append(part)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def key_range(column: str, low: pa.Scalar, high: pa.Scalar, *, with_nulls: bool) -> Unbound | None:
    """Return the predicate of values from `low` to `high`; null bounds mean no values, or nulls.

    None if texts are too long for a predicate.
    """
    reference, first, last = Reference(column), literal(low), literal(high)
    nulls = IsNull(reference)
    if first is None:
        return nulls if with_nulls else ALWAYS_FALSE
    if isinstance(last, str) and max(len(first), len(last)) > _LONGEST_TEXT:
        return None
    within = And((Comparison(Op.GE, reference, first), Comparison(Op.LE, reference, last)))
    return Or((within, nulls)) if with_nulls else within


def literal(value: pa.Scalar) -> Any:
    """Return a key as a literal; dates and timestamps as numbers, since Python's end in 9999."""
    if not value.is_valid:
        return None
    if pa.types.is_date(value.type):
        return DateLiteral(value.cast(pa.int32()).as_py())
    if pa.types.is_timestamp(value.type):
        micros = value.cast(pa.timestamp("us", value.type.tz)).cast(pa.int64()).as_py()
        zone = None if value.type.tz is None else "UTC"
        return TimestampLiteral(micros * 1000, zone, is_local=zone is None)
    return value.as_py()


def range_type(schema: Schema, column: str) -> IcebergType | None:
    """Return the type of a column, None if the table lacks it."""
    field_id = schema.find_id(column)
    return None if field_id is None else schema.find_type(field_id)


def compares(kind: pa.DataType, column_type: IcebergType) -> bool:
    """Whether Spark compares the types without a cast that changes order or equality."""
    match column_type:
        case IntegerType() | LongType():
            return bool(pa.types.is_integer(kind))
        case StringType():
            return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
        case DateType():
            return bool(pa.types.is_date(kind))
        case TimestampType():
            return bool(pa.types.is_timestamp(kind) and kind.tz is None)
        case TimestamptzType():
            return bool(pa.types.is_timestamp(kind) and kind.tz is not None)
        case DecimalType(scale=scale):
            return bool(pa.types.is_decimal(kind) and kind.scale == scale)
        case _:
            return False
