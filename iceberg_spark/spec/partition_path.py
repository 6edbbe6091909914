"""Hive-style paths of partitions (Java: PartitionSpec.partitionToPath)."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote_plus

from iceberg_spark.spec.calendar_text import civil, time_text, timestamp_text
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import (
    HourTransform,
    MonthTransform,
    Transform,
    VoidTransform,
    YearTransform,
)
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)


def partition_path(
    spec: PartitionSpec,
    schema: Schema,
    partition: tuple[Any, ...],
    former: Iterable[Schema] = (),
) -> str:
    """Return `name=value/...` of a tuple of canonical values, "" for an unpartitioned spec.

    Names and values are URL-encoded like Java's URLEncoder; null is `null`. `former` schemas
    contain the types of dropped columns.
    """
    kinds = partition_type(spec, schema, former).fields
    return "/".join(
        part_path(part, kind.field_type, value)
        for part, kind, value in zip(spec.fields, kinds, partition, strict=True)
    )


def part_path(part: PartitionField, kind: IcebergType, value: Any) -> str:
    """Return the path segment of one field, `name=value`, for a value of a type."""
    return f"{escape(part.name)}={escape(human_text(part.transform, kind, value))}"


def escape(text: str) -> str:
    """Encode as Java's URLEncoder: blanks to `+`, `*` stays, `~` does not."""
    return quote_plus(text, safe="*").replace("~", "%7E")


def human_text(transform: Transform, kind: IcebergType, value: Any) -> str:
    """Return the text of a partition value of that result type (Java: Transform.toHumanString)."""
    if value is None:
        return "null"
    match transform:
        case VoidTransform():
            return "null"
        case YearTransform():
            return f"{1970 + value:04d}"
        case MonthTransform():
            return f"{1970 + value // 12:04d}-{1 + value % 12:02d}"
        case HourTransform():
            return f"{_day(value // 24)}-{value % 24:02d}"
        case _:
            return _WRITERS.get(type(kind), str)(value)


def _day(days: int) -> str:
    year, month, day = civil(days)
    return f"{year:04d}-{month:02d}-{day:02d}"


def _time(micros: int) -> str:
    """As Java's LocalTime: seconds only when needed, fractions in groups of three digits."""
    clock, fraction = time_text(micros).split(".")
    if not fraction.strip("0"):
        return clock.removesuffix(":00")
    return f"{clock}.{fraction.removesuffix('000')}"


def _timestamp(value: int, digits: int = 6) -> str:
    """Format like Java's ISO_LOCAL_DATE_TIME: without trailing zeros of the fraction."""
    seconds, fraction = timestamp_text(value, digits).split(".")
    digits_shown = fraction.rstrip("0")
    return f"{seconds}.{digits_shown}" if digits_shown else seconds


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _double(value: float) -> str:
    return _java_number(value, repr(value))


def _float(value: float) -> str:
    if not math.isfinite(value):
        return _java_number(value, repr(value))
    stored = _stored(value)
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return _java_number(value, next(text for text in texts if _stored(float(text)) == stored))


def _stored(value: float) -> bytes | None:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # too few digits rounded the largest floats up
        return None


def _java_number(value: float, shortest: str) -> str:
    """Write the shortest digits as Java does: plain from 0.001 to 10^7, else like `1.0E10`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    mantissa, _, exponent_text = shortest.lower().lstrip("-").partition("e")
    integer, _, fraction = mantissa.partition(".")
    digits = (integer + fraction).lstrip("0")
    leading = len(integer + fraction) - len(digits)
    exponent = int(exponent_text or 0) + len(integer) - leading - 1
    digits = digits.rstrip("0") or "0"
    sign = "-" if value < 0 else ""
    if -3 <= exponent < 7:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    padded = digits.ljust(exponent + 2, "0")
    return f"{padded[: exponent + 1]}.{padded[exponent + 1 :]}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    BooleanType: lambda value: "true" if value else "false",
    FloatType: _float,
    DoubleType: _double,
    DateType: _day,
    TimeType: _time,
    TimestampType: _timestamp,
    TimestamptzType: lambda value: _timestamp(value) + "+00:00",
    TimestampNanoType: lambda value: _timestamp(value, 9),
    TimestamptzNanoType: lambda value: _timestamp(value, 9) + "+00:00",
    FixedType: _base64,
    BinaryType: _base64,
}
