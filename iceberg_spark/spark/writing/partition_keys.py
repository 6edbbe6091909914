"""Several partition values as one whole number: Spark sorts one by radix, several by comparing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as sf

from iceberg_spark.spec import types as t
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    MonthTransform,
    Transform,
    YearTransform,
    result_type,
)

_BITS = 63  # of a long that is never below zero
_INT = (-(2**31), 2**31 - 1)
_CALENDAR = {
    YearTransform: (-6_000_000, 6_000_000),  # of 32-bit days
    MonthTransform: (-96_000_000, 96_000_000),  # 16 a year
    DayTransform: _INT,
    HourTransform: (-2_600_000_000, 2_600_000_000),  # of 64-bit microseconds
}


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A partition field's folder column (`transform_columns.folder_column`)."""

    transform: Transform
    source: t.IcebergType
    column: Column


def packed(keys: Sequence[PartitionKey]) -> tuple[Column, ...]:
    """Return one column that tells and orders the keys' combinations, or the keys' columns.

    They stay as they are where there is one, or where their values don't fit 63 bits together.
    Nulls come first.
    """
    columns = tuple(key.column for key in keys)
    ranges = [span for key in keys if (span := _span(key)) is not None]
    bits = [(last - first + 1).bit_length() for first, last in ranges]
    if len(keys) < 2 or len(ranges) < len(keys) or sum(bits) > _BITS:
        return columns
    numbers = [
        sf.coalesce(column.cast("bigint") - sf.lit(first - 1), sf.lit(0).cast("bigint"))
        for column, (first, _) in zip(columns, ranges, strict=True)
    ]
    pairs = zip(numbers[1:], bits[1:], strict=True)
    return (
        reduce(
            lambda all_, digit: sf.shiftleft(all_, digit[1]).bitwiseOR(digit[0]), pairs, numbers[0]
        ),
    )


def _span(key: PartitionKey) -> tuple[int, int] | None:
    """Return the least and greatest number that a key can be, None for one that is no number."""
    match key.transform, result_type(key.transform, key.source):
        case BucketTransform(num_buckets=buckets), _:
            return 0, buckets - 1
        case YearTransform() | MonthTransform() | DayTransform() | HourTransform(), _:
            return _CALENDAR[type(key.transform)]
        case _, t.BooleanType():
            return 0, 1
        case _, t.IntegerType() | t.DateType():
            return _INT
        case _:
            return None
