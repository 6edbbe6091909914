"""Canonical values and their single-value binary form (specification, Appendix D).

Canonical values: bool, int, float, Decimal, date as int days, time and timestamps as int
microseconds (nanoseconds for the `_ns` types), str, uuid.UUID, bytes.
"""

from __future__ import annotations

import math
import struct
import uuid
from decimal import Context, Decimal
from typing import Any

from iceberg_spark.errors import CorruptFileError, InvalidInputError, UnsupportedError
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
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

MICROS_PER_DAY = 86_400_000_000
NANOS_PER_DAY = 86_400_000_000_000
_WIDTHS: dict[type, tuple[int, str]] = {
    IntegerType: (4, "<i"),
    DateType: (4, "<i"),
    LongType: (8, "<q"),
    TimeType: (8, "<q"),
    TimestampType: (8, "<q"),
    TimestamptzType: (8, "<q"),
    TimestampNanoType: (8, "<q"),
    TimestamptzNanoType: (8, "<q"),
    FloatType: (4, "<f"),
    DoubleType: (8, "<d"),
}
_EXACT = Context(prec=120)  # decimals have 38 digits, the default context would round at 28


def to_bytes(kind: IcebergType, value: Any) -> bytes:
    """Return the single-value binary form of a canonical value.

    Raises InvalidInputError for a value that does not fit the type, UnsupportedError for a type
    without such a form. Source: specification, "Binary single-value serialization".
    """
    try:
        return _encode(kind, value)
    except (struct.error, AttributeError, TypeError, UnicodeEncodeError) as cause:
        raise InvalidInputError(f"{value!r} is not a value of type {kind}") from cause


def _encode(kind: IcebergType, value: Any) -> bytes:
    if type(kind) in _WIDTHS:
        return _number_bytes(kind, value)
    match kind:
        case BooleanType():
            return b"\x01" if value else b"\x00"
        case DecimalType(scale=scale):
            return int_to_bytes(to_unscaled(value, scale))
        case StringType():
            return bytes(value.encode("utf-8"))
        case UUIDType():
            return bytes(value.bytes)
        case FixedType(length=length):
            if len(value) != length:
                raise InvalidInputError(f"{kind} needs {length} bytes, the value has {len(value)}")
            return bytes(value)
        case BinaryType() | GeometryType() | GeographyType():
            return bytes(value)
        case _:
            raise UnsupportedError(f"Type {kind} has no single-value binary form")


def _number_bytes(kind: IcebergType, value: Any) -> bytes:
    try:
        return struct.pack(_WIDTHS[type(kind)][1], value)
    except OverflowError as cause:
        raise InvalidInputError(f"{value!r} is out of range for {kind}") from cause


def to_unscaled(value: Decimal, scale: int) -> int:
    """Return the decimal times ten to the scale.

    Raises InvalidInputError if digits would be lost.
    """
    shifted = value.scaleb(scale, _EXACT)
    integer = int(shifted)
    if shifted != integer:
        raise InvalidInputError(f"{value} has more than {scale} digits after the point")
    return integer


def to_scaled(number: int, scale: int) -> Decimal:
    """Return the decimal of an unscaled number, with exactly that scale."""
    return Decimal(number).scaleb(-scale, _EXACT)


def int_to_bytes(number: int) -> bytes:
    """Return the shortest big-endian two's complement form, at least one byte."""
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return number.to_bytes((bits + 7) // 8, "big", signed=True)


# Former types of bounds with four bytes, and the factor to the current unit
# (specification, "Schema Evolution": bounds are not rewritten by a promotion).
_PROMOTED: dict[type, tuple[str, int]] = {
    LongType: ("<i", 1),
    DoubleType: ("<f", 1),
    TimestampType: ("<i", MICROS_PER_DAY),
    TimestampNanoType: ("<i", NANOS_PER_DAY),
}


def from_bytes(kind: IcebergType, data: bytes) -> Any:
    """Return the canonical value of a single-value binary form.

    Four bytes for a long, double, timestamp or timestamp_ns are the bounds of a column that has
    been promoted since. Raises CorruptFileError for bytes that can't be a value of the type,
    UnsupportedError for a type without such a form.
    """
    if type(kind) in _WIDTHS:
        return _number(kind, data)
    match kind:
        case BooleanType():
            _expect(kind, data, 1)
            return data != b"\x00"
        case DecimalType(scale=scale):
            if not data:
                raise CorruptFileError(f"A value of {kind} has no bytes")
            return to_scaled(int.from_bytes(data, "big", signed=True), scale)
        case StringType():
            return _text(data)
        case UUIDType():
            _expect(kind, data, 16)
            return uuid.UUID(bytes=bytes(data))
        case FixedType() | BinaryType() | GeometryType() | GeographyType():
            return bytes(data)  # a bound of a fixed may be truncated
        case _:
            raise UnsupportedError(f"Type {kind} has no single-value binary form")


def _number(kind: IcebergType, data: bytes) -> Any:
    width, code = _WIDTHS[type(kind)]
    if len(data) == 4 and type(kind) in _PROMOTED:
        old_code, unit = _PROMOTED[type(kind)]
        value = struct.unpack(old_code, data)[0] * unit
        # A day out of the range of nanoseconds bounds all days within it.
        return min(max(value, -(1 << 63)), (1 << 63) - 1) if code == "<q" else value
    _expect(kind, data, width)
    return struct.unpack(code, data)[0]


def _expect(kind: IcebergType, data: bytes, width: int) -> None:
    if len(data) != width:
        raise CorruptFileError(f"A value of {kind} has {len(data)} bytes instead of {width}")


def _text(data: bytes) -> str:
    try:
        return bytes(data).decode("utf-8")
    except UnicodeDecodeError as cause:
        raise CorruptFileError(f"A string value is not UTF-8: {bytes(data)[:32].hex()}") from cause


# Identity and order of Python floats.
#
# Three rules. *Identity* compares the values of partitions and keys: NaN equals NaN, -0.0 differs
# from 0.0 (Java: StructLikeWrapper). The *total order* is that of bounds and sort orders: -0.0
# before 0.0, NaN after every number (specification, "Sorting"). *Comparison* is that of
# predicates: the total order, but -0.0 equals 0.0 (Spark). `arrow.floats` implements them for
# arrays.


def is_nan(value: object) -> bool:
    """Return whether a value of any type is NaN."""
    return isinstance(value, float) and math.isnan(value)


def identity(value: object) -> object:
    """Return a hashable that equals only that of the same value; non-floats are unchanged."""
    if not isinstance(value, float):
        return value
    return struct.pack("<d", math.nan if math.isnan(value) else value)


def total_order(value: float) -> tuple[bool, float, float]:
    """Return a key to sort floats by."""
    if math.isnan(value):
        return True, 0.0, 0.0
    return False, value, math.copysign(1.0, value)


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1 for two values of one type, as predicates compare them."""
    if is_nan(left) or is_nan(right):
        return is_nan(left) - is_nan(right)
    return int(left > right) - int(left < right)
