"""A literal in a column's type: the value itself, or the two values that it lies between.

Literals are compared with a column as Spark would compare them after its casts, but the
column is never cast: `int_col < 1.5` becomes `int_col <= 1`, `int_col < 3000000000` holds for
every value. `Between` carries what such a rewrite needs.
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.literals import (
    NANOS_PER_DAY,
    DateLiteral,
    TimeLiteral,
    TimestampLiteral,
    date_from_text,
    from_date,
    from_datetime,
    from_time,
    instant,
    time_from_text,
    timestamp_from_text,
    wall_clock,
)
from iceberg_spark.expr.nodes import BoundReference
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
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
from iceberg_spark.spec.values import scaled


@dataclass(frozen=True, slots=True)
class Exact:
    """The literal is a value of the type, in canonical form."""

    value: Any


@dataclass(frozen=True, slots=True)
class Between:
    """The literal is no value of the type: the nearest ones below and above, None past an end."""

    below: Any
    above: Any


Coerced: TypeAlias = Exact | Between

INT_LIMITS = -(2**31), 2**31 - 1
LONG_LIMITS = -(2**63), 2**63 - 1
_LIMITS: dict[type, tuple[int, int]] = {
    IntegerType: INT_LIMITS,
    DateType: INT_LIMITS,
    LongType: LONG_LIMITS,
    TimestampType: LONG_LIMITS,
    TimestamptzType: LONG_LIMITS,
    TimestampNanoType: LONG_LIMITS,
    TimestamptzNanoType: LONG_LIMITS,
    TimeType: (0, NANOS_PER_DAY // 1000 - 1),
}
_TRUE_TEXTS = frozenset({"t", "true", "y", "yes", "1"})
_FALSE_TEXTS = frozenset({"f", "false", "n", "no", "0"})


def limits(kind: IcebergType) -> tuple[Any, Any] | None:
    """Return the least and largest canonical value of a type, None where there is no such pair."""
    match kind:
        case DecimalType(precision=precision, scale=scale):
            largest = scaled(10**precision - 1, scale)
            return -largest, largest
        case _:
            return _LIMITS.get(type(kind))


def coerce(term: BoundReference, literal: Any, time_zone: str | None) -> Coerced:
    """Convert a literal to the column's type. `time_zone` is for wall clocks against instants.

    Raises InvalidExpressionError, naming the column, for a literal that can't be compared.
    """
    if isinstance(literal, np.generic):
        literal = literal.item()
    convert = _CONVERSIONS.get(type(term.field_type))
    if convert is None:
        raise _mismatch(term, literal)
    return convert(term, literal, time_zone)


def _mismatch(term: BoundReference, literal: Any, hint: str = "") -> InvalidExpressionError:
    return InvalidExpressionError(
        f"Column '{term.name}' has type {term.field_type} and can't be compared with "
        f"{literal!r}{hint}"
    )


def _place(floor: int, exact: bool, low: int, high: int, make: Callable[[int], Any]) -> Coerced:
    """Place a number, given as its floor and whether it is whole, among low..high."""
    if floor > high:
        return Between(make(high), None)
    if floor < low:
        return Between(None, make(low))
    if exact:
        return Exact(make(floor))
    return Between(make(floor), make(floor + 1) if floor < high else None)


def _boolean(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    if isinstance(literal, bool):
        return Exact(literal)
    text = literal.strip().lower() if isinstance(literal, str) else None
    if text in _TRUE_TEXTS or text in _FALSE_TEXTS:
        return Exact(text in _TRUE_TEXTS)
    raise _mismatch(term, literal, ": use true or false")


def _plain_number(term: BoundReference, literal: Any) -> int | float | Decimal:
    """Return a literal as a Python number; text is read as Spark's cast reads it."""
    if isinstance(literal, int | float | Decimal) and not isinstance(literal, bool):
        return literal
    if not isinstance(literal, str):
        raise _mismatch(term, literal, ": use a number")
    text = literal.strip()
    try:
        match term.field_type:
            case IntegerType() | LongType():
                return int(text)
            case FloatType() | DoubleType():
                return float(text)
            case _:
                return Decimal(text)
    except (ValueError, InvalidOperation) as cause:
        raise _mismatch(term, literal, ": that text is not such a number") from cause


def _number(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    number = _plain_number(term, literal)
    scale = 0
    low, high = LONG_LIMITS if isinstance(term.field_type, LongType) else INT_LIMITS
    if isinstance(term.field_type, DecimalType):
        scale, high = term.field_type.scale, 10**term.field_type.precision - 1
        low = -high
        if isinstance(number, float):  # Spark compares as doubles: 0.1D equals the decimal 0.1
            number = Decimal(repr(number))
    if not math.isfinite(number):  # NaN is the largest value
        return _place(low - 1 if number < 0 else high + 1, True, low, high, _maker(term))
    scaled = Fraction(number) * 10**scale
    floor = scaled.numerator // scaled.denominator
    return _place(floor, scaled.denominator == 1, low, high, _maker(term))


def _maker(term: BoundReference) -> Callable[[int], Any]:
    if isinstance(term.field_type, DecimalType):
        scale = term.field_type.scale
        return lambda unscaled: scaled(unscaled, scale)
    return int


def _floating(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    number = _plain_number(term, literal)
    try:
        wide = float(number) + 0.0  # turns -0.0, which equals 0.0, into it
    except OverflowError:
        wide = math.inf if number > 0 else -math.inf
    if isinstance(term.field_type, DoubleType) or not math.isfinite(wide):
        return Exact(wide)
    with np.errstate(over="ignore"):
        near = np.float32(wide)
        if float(near) == wide:
            return Exact(wide)
        # A float column is compared as doubles: 0.1 lies between two floats.
        if float(near) < wide:
            return Between(float(near), float(np.nextafter(near, np.float32(np.inf))) + 0.0)
        return Between(float(np.nextafter(near, np.float32(-np.inf))) + 0.0, float(near) + 0.0)


def _date(term: BoundReference, literal: Any, time_zone: str | None) -> Coerced:
    literal = _temporal(literal)
    if isinstance(literal, str):
        literal = date_from_text(literal)
    match literal:
        case DateLiteral(days=days):
            return _place(days, True, *INT_LIMITS, int)
        case TimestampLiteral(nanos=nanos, zone=None):
            day, rest = divmod(nanos, NANOS_PER_DAY)
        case TimestampLiteral(nanos=nanos, zone=str(zone)):
            if time_zone is None:
                raise _mismatch(term, literal, ": an instant needs time_zone to have a date")
            day, rest = divmod(wall_clock(instant(nanos, zone), time_zone), NANOS_PER_DAY)
        case _:
            raise _mismatch(term, literal, ": use DATE '2024-01-31'")
    return _place(day, rest == 0, *INT_LIMITS, int)


def _time(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    literal = _temporal(literal)
    if isinstance(literal, str):
        literal = time_from_text(literal)
    if not isinstance(literal, TimeLiteral):
        raise _mismatch(term, literal, ": use TIME '22:31:08'")
    micros, rest = divmod(literal.nanos, 1000)
    return _place(micros, rest == 0, *_LIMITS[TimeType], int)


def _temporal(literal: Any) -> Any:
    """Turn Python's dates and times into literals; anything else is returned as it is."""
    match literal:
        case dt.datetime():
            return from_datetime(literal)
        case dt.date():
            return from_date(literal)
        case dt.time():
            return from_time(literal)
        case _:
            return literal


def _as_timestamp(term: BoundReference, literal: Any) -> TimestampLiteral:
    literal = _temporal(literal)
    match literal:
        case str():
            return timestamp_from_text(literal)
        case DateLiteral(days=days):
            return TimestampLiteral(days * NANOS_PER_DAY)
        case TimestampLiteral():
            return literal
        case _:
            raise _mismatch(term, literal, ": use TIMESTAMP '2024-01-31 22:31:08'")


def _local_timestamp(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    stamp = _as_timestamp(term, literal)
    if stamp.zone is not None:
        raise InvalidExpressionError(
            f"Column '{term.name}' is a timestamp without time zone and takes no offset or zone: "
            "write it like TIMESTAMP '2024-01-01 00:00:00'"
        )
    return _timestamp(term, stamp.nanos)


def _zoned_timestamp(term: BoundReference, literal: Any, time_zone: str | None) -> Coerced:
    stamp = _as_timestamp(term, literal)
    zone = stamp.zone or time_zone
    if zone is None:
        raise InvalidExpressionError(
            f"Column '{term.name}' is an instant and the literal has no offset: write "
            "TIMESTAMP '2024-01-01 00:00:00+00:00', or say time_zone='UTC' "
            "(option time-zone) to read such literals in that zone"
        )
    return _timestamp(term, instant(stamp.nanos, zone))


def _timestamp(term: BoundReference, nanos: int) -> Coerced:
    if isinstance(term.field_type, TimestampNanoType | TimestamptzNanoType):
        return _place(nanos, True, *LONG_LIMITS, int)
    # Spark's timestamps have microseconds: more digits in a literal are dropped.
    return _place(nanos // 1000, True, *LONG_LIMITS, int)


def _string(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    if isinstance(literal, str):
        return Exact(literal)
    raise _mismatch(term, literal, ": use text in quotes")


def _uuid(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    try:
        match literal:
            case uuid.UUID():
                return Exact(literal)
            case str():
                return Exact(uuid.UUID(literal))
            case bytes():
                return Exact(uuid.UUID(bytes=literal))
            case _:
                raise _mismatch(term, literal, ": use the text of a UUID")
    except ValueError as cause:
        raise _mismatch(term, literal, ": that is not a UUID") from cause


def _binary(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    return Exact(_bytes(term, literal))


def _bytes(term: BoundReference, literal: Any) -> bytes:
    match literal:
        case bytes() | bytearray() | memoryview():
            return bytes(literal)
        case str():
            return literal.encode("utf-8")
        case _:
            raise _mismatch(term, literal, ": use X'00FF'")


def _fixed(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    """Place bytes among those of a fixed length, in byte order."""
    data = _bytes(term, literal)
    length = term.field_type.length if isinstance(term.field_type, FixedType) else len(data)
    if len(data) == length:
        return Exact(data)

    def make(number: int) -> bytes:
        return number.to_bytes(length, "big")

    number = int.from_bytes(data[:length].ljust(length, b"\0"), "big")
    largest = (1 << (8 * length)) - 1
    # Shorter: just below its zero-padded form; longer: just above its cut form.
    return _place(number - 1 if len(data) < length else number, False, 0, largest, make)


_CONVERSIONS: dict[type, Callable[[BoundReference, Any, str | None], Coerced]] = {
    BooleanType: _boolean,
    IntegerType: _number,
    LongType: _number,
    DecimalType: _number,
    FloatType: _floating,
    DoubleType: _floating,
    DateType: _date,
    TimeType: _time,
    TimestampType: _local_timestamp,
    TimestampNanoType: _local_timestamp,
    TimestamptzType: _zoned_timestamp,
    TimestamptzNanoType: _zoned_timestamp,
    StringType: _string,
    UUIDType: _uuid,
    BinaryType: _binary,
    FixedType: _fixed,
}
