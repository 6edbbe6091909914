"""A partition transform of one value (specification: "Partition Transforms", Appendix B).

For literals and partition tuples; columns are transformed by `arrow.transforms`.
"""

from __future__ import annotations

from typing import Any, assert_never

import mmh3

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.calendar_text import civil
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
)
from iceberg_spark.spec.types import (
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from iceberg_spark.spec.values import (
    MICROS_PER_DAY,
    NANOS_PER_DAY,
    int_to_bytes,
    to_scaled,
    to_unscaled,
)

_WHOLE_NUMBERS = (
    IntegerType, LongType, DateType, TimeType, TimestampType, TimestamptzType,
)  # fmt: skip
_NANOS = (TimestampNanoType, TimestamptzNanoType)
_BITS: dict[type, int] = {IntegerType: 32, LongType: 64}


def transform_value(transform: Transform, source_type: IcebergType, value: Any) -> Any:
    """Return the partition value of a canonical value, canonical for the result type.

    Null stays null. Raises InvalidInputError if the transform does not accept the type or is
    unknown.
    """
    if value is None:
        return None
    match transform:
        case IdentityTransform():
            return value
        case VoidTransform():
            return None
        case BucketTransform(num_buckets=buckets):
            return (hash_value(source_type, value) & 0x7FFFFFFF) % buckets
        case TruncateTransform(width=width):
            return _truncate(source_type, value, width)
        case YearTransform() | MonthTransform() | DayTransform() | HourTransform():
            return _time_unit(transform, source_type, value)
        case UnknownTransform(text=text):
            raise InvalidInputError(f"Transform '{text}' is unknown: its values can't be computed")
        case _:
            assert_never(transform)


def hash_value(source_type: IcebergType, value: Any) -> int:
    """Return the signed 32-bit Murmur3 hash of a canonical value (Appendix B)."""
    return int(mmh3.hash(_hashed_bytes(source_type, value), 0, signed=True))


def _hashed_bytes(source_type: IcebergType, value: Any) -> bytes:
    match source_type:
        case _ if isinstance(source_type, _WHOLE_NUMBERS):
            return int(value).to_bytes(8, "little", signed=True)
        case _ if isinstance(source_type, _NANOS):
            return int(value // 1000).to_bytes(8, "little", signed=True)
        case DecimalType(scale=scale):
            return int_to_bytes(to_unscaled(value, scale))
        case StringType():
            return bytes(value.encode("utf-8"))
        case UUIDType():
            return bytes(value.bytes)
        case FixedType() | BinaryType():
            return bytes(value)
        case _:
            raise InvalidInputError(f"bucket does not take values of type {source_type}")


def _truncate(source_type: IcebergType, value: Any, width: int) -> Any:
    match source_type:
        case IntegerType() | LongType():
            return wrap(source_type, value - value % width)
        case DecimalType(scale=scale):
            number = to_unscaled(value, scale)
            return to_scaled(number - number % width, scale)
        case StringType() | BinaryType():
            return value[:width]
        case _:
            raise InvalidInputError(f"truncate does not take values of type {source_type}")


def wrap(source_type: IcebergType, value: int) -> int:
    """Return an integer with Java's overflow: below the least int or long it wraps around."""
    bits = _BITS[type(source_type)]
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def _time_unit(transform: TimeTransform, source_type: IcebergType, value: int) -> int:
    match source_type:
        case DateType():
            per_day = 1
        case TimestampType() | TimestamptzType():
            per_day = MICROS_PER_DAY
        case TimestampNanoType() | TimestamptzNanoType():
            per_day = NANOS_PER_DAY
        case _:
            raise InvalidInputError(f"{transform} does not take values of type {source_type}")
    match transform:
        case HourTransform():
            if per_day == 1:
                raise InvalidInputError("hour does not take values of type date")
            return value // (per_day // 24)
        case DayTransform():
            return value // per_day
        case MonthTransform():
            year, month, _ = civil(value // per_day)
            return (year - 1970) * 12 + month - 1
        case YearTransform():
            return civil(value // per_day)[0] - 1970
        case _:
            assert_never(transform)
