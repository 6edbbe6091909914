"""The rows of a table that some keys can match, as a predicate on the table's columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.literals import DateLiteral, TimestampLiteral
from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    And,
    Comparison,
    In,
    IsNull,
    Op,
    Or,
    Reference,
    Unbound,
)
from iceberg_spark.formats.limits import READING, WRITING
from iceberg_spark.scan.limits import LOOK_UPS
from iceberg_spark.spec.properties import (
    PARQUET_BLOOM_FILTER_COLUMN_PREFIX,
    PARQUET_BLOOM_FILTER_FPP_PREFIX,
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


def ranges_of(
    schema: Schema, keys: pa.Table, properties: Mapping[str, str] | None = None
) -> Unbound | None:
    """Return a predicate that is true for every row with one of the keys, None if there is none.

    The columns of `keys` have the table's names and types and no nulls. Columns for which a table's
    `properties` request Bloom filters are compared with their values, if these are few enough.
    """
    parts: list[Unbound] = []
    for name, column in zip(keys.column_names, keys.columns, strict=True):
        kind = range_type(schema, name)
        if kind is None or not compares(column.type, kind):
            continue
        ends = pc.min_max(column)
        part = key_values(name, column, most_values(properties or {}, name)) or key_range(
            name, ends["min"], ends["max"], with_nulls=False
        )
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


def key_values(column: str, keys: pa.ChunkedArray, most: int) -> Unbound | None:
    """Return the predicate that a column has one of some keys, NULL among them or not.

    None if there is no key, more distinct ones than `most`, or one too long for a predicate.
    """
    distinct = pc.unique(keys) if len(keys) <= most else None
    if distinct is None or not len(distinct):
        return None
    reference = Reference(column)
    values = tuple(literal(value) for value in distinct if value.is_valid)
    if any(isinstance(value, str) and len(value) > _LONGEST_TEXT for value in values):
        return None
    parts: list[Unbound] = [In(reference, values)] if values else []
    if distinct.null_count:
        parts.append(IsNull(reference))
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def most_values(properties: Mapping[str, str], column: str) -> int:
    """Return how many values of a column are worth a look into Bloom filters, 0 without any.

    A filter with a share f of false positives proves the absence of k values with a probability of
    (1 - f)^k: a quarter for k = 1.4 / f. Of 138 values and the usual share of 1%, a quarter of the
    files without any of them is left out; of more values fewer files.
    """
    key = f"{PARQUET_BLOOM_FILTER_COLUMN_PREFIX}{column}"
    if properties.get(key, "").strip().lower() != "true":
        return 0
    text = properties.get(f"{PARQUET_BLOOM_FILTER_FPP_PREFIX}{column}")
    try:
        share = WRITING.bloom_share if text is None else float(text)
    except ValueError:
        return 0
    if not 0 < share < 1:
        return 0
    return min(int(math.log(LOOK_UPS.useful_share) / math.log1p(-share)), READING.bloom_values)


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
