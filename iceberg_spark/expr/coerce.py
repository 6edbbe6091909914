"""A literal in a column's type: the value itself, or the two adjacent values around it.

A literal is compared with a column as Spark compares them after its casts, but the column is
never cast: `int_col < 1.5` becomes `int_col <= 1`, `int_col < 3000000000` is true for every
value. `Between` holds the two values of such a rewrite.
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.literal_casts import floating, truth, whole_number
from iceberg_spark.expr.literals import (
    NANOS_PER_DAY,
    DateLiteral,
    LooseText,
    Pattern,
    TimeLiteral,
    TimestampLiteral,
    date_from_text,
    from_date,
    from_datetime,
    from_time,
    instant,
    is_near_gap,
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
from iceberg_spark.spec.values import to_scaled


@dataclass(frozen=True, slots=True)
class Exact:
    """The literal is a value of the type, in canonical form."""

    value: Any


@dataclass(frozen=True, slots=True)
class Between:
    """The literal is no value of the type: the nearest ones below and above, None past an end."""

    below: Any
    above: Any


@dataclass(frozen=True, slots=True)
class Band:
    """The literal equals several values of the type, low to high: as doubles they are one."""

    low: Any
    high: Any


Coerced: TypeAlias = Exact | Between | Band

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
_FLOAT_DIGITS = 2**24


def limits(kind: IcebergType) -> tuple[Any, Any] | None:
    """Return the least and largest canonical value of a type, None if it has none."""
    match kind:
        case DecimalType(precision=precision, scale=scale):
            largest = to_scaled(10**precision - 1, scale)
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
    if isinstance(literal, Pattern) and not isinstance(term.field_type, StringType | UUIDType):
        raise _mismatch(term, str(literal), " by LIKE, which needs a string column")
    if convert is None:
        raise _mismatch(term, literal)
    return convert(term, literal, time_zone)


def _mismatch(term: BoundReference, literal: Any, hint: str = "") -> InvalidExpressionError:
    return InvalidExpressionError(
        f"Column '{term.name}' has type {term.field_type} and can't be compared with "
        f"{literal!r}{hint}"
    )


def _placed(floor: int, exact: bool, low: int, high: int, make: Callable[[int], Any]) -> Coerced:
    """Place a number among low..high; `floor` is its floor, `exact` whether it is an integer."""
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
    if not isinstance(literal, str):
        raise _mismatch(term, literal, ": use true or false")
    try:
        return Exact(truth(literal))
    except ValueError as cause:
        raise _mismatch(term, literal, ": use true or false") from cause


def _plain_number(term: BoundReference, literal: Any) -> int | float | Decimal:
    """Return a literal as a Python number; text is read as Spark's cast reads it."""
    if isinstance(literal, int | float | Decimal) and not isinstance(literal, bool):
        return literal
    if not isinstance(literal, str):
        raise _mismatch(term, literal, ": use a number")
    try:
        if not isinstance(term.field_type, IntegerType | LongType):
            return floating(literal)  # Spark compares a decimal with a text as doubles
        number = whole_number(literal)
    except ValueError as cause:
        raise _mismatch(term, literal, ": that text is not such a number") from cause
    if not LONG_LIMITS[0] <= number <= LONG_LIMITS[1]:
        raise _mismatch(term, literal, ": that text is no bigint")
    return number


def _number(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    number = _plain_number(term, literal)
    scale = 0
    low, high = LONG_LIMITS if isinstance(term.field_type, LongType) else INT_LIMITS
    if isinstance(term.field_type, DecimalType):
        scale, high = term.field_type.scale, 10**term.field_type.precision - 1
        low = -high
    if not math.isfinite(number):  # NaN is the largest value
        return _placed(low - 1 if number < 0 else high + 1, True, low, high, _maker(term))
    if isinstance(number, float):
        return _among_doubles(number, scale, low, high, _maker(term))
    scaled = Fraction(number) * 10**scale
    floor = scaled.numerator // scaled.denominator
    return _placed(floor, scaled.denominator == 1, low, high, _maker(term))


def _among_doubles(
    number: float, scale: int, low: int, high: int, make: Callable[[int], Any]
) -> Coerced:
    """Place a double among exact numbers; Spark compares as doubles, so several may equal it.

    Numbers are in units of the last digit, like low and high.
    """
    unit = 10**scale

    def first(reached: Callable[[float], bool]) -> int:
        """Return the first number whose double satisfies a condition that stays true above."""
        below, above = low - 1, high + 1
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (below, middle) if reached(middle / unit) else (middle, above)
        return above

    least, beyond = first(lambda double: double >= number), first(lambda double: double > number)
    if beyond - least > 1:
        return Band(make(least), make(beyond - 1))
    if beyond - least == 1:
        return Exact(make(least))
    return Between(make(least - 1) if least > low else None, make(least) if least <= high else None)


def _maker(term: BoundReference) -> Callable[[int], Any]:
    if isinstance(term.field_type, DecimalType):
        scale = term.field_type.scale
        return lambda unscaled: to_scaled(unscaled, scale)
    return int


def _floating(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    number = _plain_number(term, literal)
    if isinstance(term.field_type, FloatType) and _is_wide(number):
        raise _mismatch(term, literal, f": write {number}D, for as a float it is another number")
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
        # A float column is compared as doubles: 0.1 is between two floats.
        if float(near) < wide:
            return Between(float(near), float(np.nextafter(near, np.float32(np.inf))) + 0.0)
        return Between(float(np.nextafter(near, np.float32(-np.inf))) + 0.0, float(near) + 0.0)


def _is_wide(number: float | Decimal) -> bool:
    """Whether a whole number has more digits than a float: sessions compare them differently."""
    return isinstance(number, int) and abs(number) > _FLOAT_DIGITS


def _date(term: BoundReference, literal: Any, time_zone: str | None) -> Coerced:
    literal = _temporal(literal)
    if isinstance(literal, str):
        literal = date_from_text(literal)
    match literal:
        case DateLiteral(days=days):
            return _placed(days, True, *INT_LIMITS, int)
        case TimestampLiteral(nanos=nanos, is_local=True):
            day, rest = divmod(nanos, NANOS_PER_DAY)
        case TimestampLiteral(nanos=nanos, zone=None) if time_zone is None:
            day, rest = divmod(nanos, NANOS_PER_DAY)
        case TimestampLiteral(nanos=nanos, zone=zone):
            if time_zone is None:
                raise _mismatch(term, literal, ": an instant needs time_zone to have a date")
            day, rest = _day(instant(nanos, zone or time_zone), time_zone)
        case _:
            raise _mismatch(term, literal, ": use DATE '2024-01-31'")
    return _placed(day, rest == 0, *INT_LIMITS, int)


def _day(moment: int, zone: str) -> tuple[int, int]:
    """Return the last day that had begun at an instant, and how much later it is.

    Spark compares a date with an instant as the first moment of its day in the session's zone.
    """
    day = wall_clock(moment, zone) // NANOS_PER_DAY + 1
    while (begun := instant(day * NANOS_PER_DAY, zone)) > moment:
        day -= 1
    return day, moment - begun


def _time(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    literal = _temporal(literal)
    if isinstance(literal, str):
        literal = time_from_text(literal)
    if not isinstance(literal, TimeLiteral):
        raise _mismatch(term, literal, ": use TIME '22:31:08'")
    micros, rest = divmod(literal.nanos, 1000)
    return _placed(micros, rest == 0, *_LIMITS[TimeType], int)


def _temporal(literal: Any) -> Any:
    """Turn Python's dates and times into literals; return anything else unchanged."""
    match literal:
        case dt.datetime():
            return from_datetime(literal)
        case dt.date():
            return from_date(literal)
        case dt.time():
            return from_time(literal)
        case LooseText(text=text):
            return text  # a date or timestamp, or nothing that a row could equal
        case _:
            return literal


def _as_timestamp(term: BoundReference, literal: Any) -> TimestampLiteral:
    literal = _temporal(literal)
    match literal:
        case str():
            stamp = timestamp_from_text(literal)
            return replace(stamp, is_local=stamp.zone is None)
        case DateLiteral(days=days):
            return TimestampLiteral(days * NANOS_PER_DAY, is_local=True)
        case TimestampLiteral():
            return literal
        case _:
            raise _mismatch(term, literal, ": use TIMESTAMP '2024-01-31 22:31:08'")


def _local_timestamp(term: BoundReference, literal: Any, time_zone: str | None) -> Coerced:
    """Place a literal among wall clocks.

    Spark compares them with TIMESTAMP, an instant, as instants in the session's zone. That is the
    order of the wall clocks but where the zone puts its clocks forward.
    """
    stamp = _as_timestamp(term, literal)
    if stamp.zone is not None:
        raise InvalidExpressionError(
            f"Column '{term.name}' is a timestamp without time zone and takes no offset or zone: "
            "write it like TIMESTAMP '2024-01-01 00:00:00'"
        )
    if not stamp.is_local and time_zone is not None and is_near_gap(stamp.nanos, time_zone):
        raise _mismatch(
            term,
            literal,
            f", an instant near an hour that {time_zone} skips: write TIMESTAMP_NTZ '...'",
        )
    return _timestamp(term, stamp.nanos)


def _zoned_timestamp(term: BoundReference, literal: Any, time_zone: str | None) -> Coerced:
    stamp = _as_timestamp(term, literal)
    zone = stamp.zone or time_zone
    if zone is None:
        raise InvalidExpressionError(
            f"Column '{term.name}' is an instant and the literal has no offset: write "
            "TIMESTAMP '2024-01-01 00:00:00+00:00', or set time_zone='UTC' "
            "(option time-zone) to read such literals in that zone"
        )
    return _timestamp(term, instant(stamp.nanos, zone))


def _timestamp(term: BoundReference, nanos: int) -> Coerced:
    if isinstance(term.field_type, TimestampNanoType | TimestamptzNanoType):
        return _placed(nanos, True, *LONG_LIMITS, int)
    # Spark's timestamps have microseconds: more digits in a literal are dropped.
    return _placed(nanos // 1000, True, *LONG_LIMITS, int)


def _string(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    if isinstance(literal, LooseText):
        literal = literal.text
    if isinstance(literal, str):
        return Exact(literal)
    raise _mismatch(term, literal, ": use text in quotes")


def _uuid(term: BoundReference, literal: Any, _time_zone: str | None) -> Coerced:
    if isinstance(literal, LooseText):
        literal = literal.text
    try:
        match literal:
            case uuid.UUID():
                return Exact(literal)
            case str() if str(parsed := uuid.UUID(literal)) == literal:
                return Exact(parsed)
            case str():
                raise _mismatch(term, literal, f": its text has one form only, '{parsed}'")
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
    return _placed(number - 1 if len(data) < length else number, False, 0, largest, make)


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
