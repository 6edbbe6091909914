"""Dates, times and timestamps that a predicate names, as text or as Python values.

A `TimestampLiteral` keeps the wall clock and the zone separate: its instant depends on the type of
the column (`coerce`). Text forms are Spark's (`CAST(... AS TIMESTAMP)`).
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.spec.calendar_text import civil, days_of
from iceberg_spark.spec.types import DecimalType, IcebergType, IntegerType, LongType

NANOS_PER_SECOND = 1_000_000_000
NANOS_PER_DAY = 86_400 * NANOS_PER_SECOND
_MOST_OFFSET = 18 * 3600
_QUARTER = 900 * NANOS_PER_SECOND

_DATE = r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_TIME = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?"
_DATE_TEXT = re.compile(rf"\s*{_DATE}(?:[T ].*)?\s*", re.DOTALL | re.ASCII)
_TIME_TEXT = re.compile(rf"\s*{_TIME}\s*", re.ASCII)
_TIMESTAMP_TEXT = re.compile(rf"\s*{_DATE}(?:[T ]+(?:{_TIME})?\s*(\S.*?)?)?\s*", re.ASCII)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class DateLiteral:
    """DATE '...': days from 1970-01-01."""

    days: int


@dataclass(frozen=True, slots=True)
class TimeLiteral:
    """TIME '...': nanoseconds from midnight."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TimestampLiteral:
    """TIMESTAMP '...': nanoseconds of the wall clock since 1970, and its zone if it has one.

    `is_local`: a wall clock (TIMESTAMP_NTZ), not an instant in the session's zone.
    """

    nanos: int
    zone: str | None = None
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class LooseText:
    """A text of a session without ANSI mode: null where Spark can't cast it."""

    text: str


class Pattern(str):
    """The text of a LIKE without wildcards: Spark compares it with the text of any other type."""

    __slots__ = ()


def date_from_text(text: str) -> DateLiteral:
    """Parse Spark's date forms (`2024`, `2024-1`, `2024-01-31`); a time after it is ignored."""
    match = _DATE_TEXT.fullmatch(text)
    if match is None:
        raise InvalidExpressionError(f"'{text}' is not a date like 2024-01-31")
    return DateLiteral(_days(text, match.group(1), match.group(2), match.group(3)))


def time_from_text(text: str) -> TimeLiteral:
    """Parse a time of day like `22:31:08.123456`."""
    match = _TIME_TEXT.fullmatch(text)
    if match is None:
        raise InvalidExpressionError(f"'{text}' is not a time like 22:31:08.123456")
    return TimeLiteral(_nanos(text, *match.groups()))


def timestamp_from_text(text: str) -> TimestampLiteral:
    """Parse Spark's timestamp forms; the zone is an offset, `Z`, `UTC` or a region."""
    match = _TIMESTAMP_TEXT.fullmatch(text)
    if match is None:
        raise InvalidExpressionError(f"'{text}' is not a timestamp like 2024-01-31 22:31:08.123456")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    nanos = _days(text, year, month, day) * NANOS_PER_DAY
    if hour is not None:
        nanos += _nanos(text, hour, minute, second, fraction)
    if zone is not None:
        _check_zone(zone)
    return TimestampLiteral(nanos, zone)


def from_datetime(value: dt.datetime) -> TimestampLiteral:
    """Convert a Python (or pandas) datetime; an aware one becomes its instant in UTC."""
    zone = None
    if value.tzinfo is not None:
        value, zone = value.astimezone(dt.UTC), "UTC"
    nanos = days_of(value.year, value.month, value.day) * NANOS_PER_DAY
    nanos += from_time(value.time()).nanos
    nanos += int(getattr(value, "nanosecond", 0))
    return TimestampLiteral(nanos, zone, is_local=zone is None)


def from_time(value: dt.time) -> TimeLiteral:
    """Convert a Python time of day."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return TimeLiteral(seconds * NANOS_PER_SECOND + value.microsecond * 1000)


def from_date(value: dt.date) -> DateLiteral:
    """Convert a Python date."""
    return DateLiteral(days_of(value.year, value.month, value.day))


def instant(nanos: int, zone: str) -> int:
    """Return nanoseconds from the epoch of a wall clock in a zone.

    A wall clock that a change of time skips or repeats is read with the offset from before the
    change, as Spark does.
    """
    return nanos - _offset_seconds(nanos, zone) * NANOS_PER_SECOND


def is_near_gap(nanos: int, zone: str) -> bool:
    """Return whether clocks of a zone are put forward around a wall clock.

    There several wall clocks are read as one instant, and later ones as earlier instants.
    """
    quarters = range(-NANOS_PER_DAY - _QUARTER, _QUARTER, _QUARTER)
    offsets = [_offset_seconds(nanos + step, zone) for step in quarters]
    offsets.append(_offset_seconds(nanos, zone))
    offsets.append(_offset_seconds(nanos + NANOS_PER_DAY, zone))
    return any(before < after for before, after in itertools.pairwise(offsets))


def wall_clock(nanos: int, zone: str) -> int:
    """Return the wall clock in a zone of nanoseconds from the epoch."""
    fixed = _fixed_offset(zone)
    if fixed is None:
        moment = _clamped(nanos).replace(tzinfo=dt.UTC).astimezone(_region(zone))
        fixed = _seconds(moment.utcoffset())
    return nanos + fixed * NANOS_PER_SECOND


def _offset_seconds(nanos: int, zone: str) -> int:
    fixed = _fixed_offset(zone)
    if fixed is not None:
        return fixed
    return _seconds(_clamped(nanos).replace(tzinfo=_region(zone)).utcoffset())


def _clamped(nanos: int) -> dt.datetime:
    """Return a datetime with the same offset; Python's years end at 1 and 9999.

    The calendar repeats itself after 400 years, and so do the changes of time.
    """
    days, rest = divmod(nanos, NANOS_PER_DAY)
    year, month, day = civil(days)
    if not 1 < year < 9999:
        year += 400 * -((year - 2) // 400) if year < 2 else -400 * -(-(year - 9998) // 400)
    return dt.datetime(year, month, day) + dt.timedelta(microseconds=rest // 1000)  # noqa: DTZ001


def _seconds(offset: dt.timedelta | None) -> int:
    return 0 if offset is None else round(offset.total_seconds())


@lru_cache(maxsize=64)
def _fixed_offset(zone: str) -> int | None:
    if zone.upper() in {"Z", "UTC", "GMT", "UT"}:
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is None:
        return None
    sign, hours, minutes, seconds = match.groups()
    total = (int(hours) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    if total > _MOST_OFFSET or int(minutes or 0) > 59 or int(seconds or 0) > 59:
        return None
    return -total if sign == "-" else total


@lru_cache(maxsize=64)
def _region(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as cause:
        raise InvalidExpressionError(
            f"'{zone}' is not a time zone: use an offset like +01:00 or a region like Europe/Berlin"
        ) from cause


def _check_zone(zone: str) -> None:
    if _fixed_offset(zone) is None:
        _region(zone)


def _days(text: str, year: str, month: str | None, day: str | None) -> int:
    days = days_of(int(year), int(month or 1), int(day or 1))
    if civil(days) != (int(year), int(month or 1), int(day or 1)):
        raise InvalidExpressionError(f"'{text}' is not a day of the calendar")
    return days


def _nanos(
    text: str, hour: str, minute: str, second: str | None, fraction: str | None = None
) -> int:
    parts = int(hour), int(minute), int(second or 0)
    if parts[0] > 23 or parts[1] > 59 or parts[2] > 59:
        raise InvalidExpressionError(f"'{text}' is not a time of the day")
    seconds = (parts[0] * 60 + parts[1]) * 60 + parts[2]
    return seconds * NANOS_PER_SECOND + int((fraction or "").ljust(9, "0"))


# The decimal type in which Spark compares numbers; it may have fewer digits than they do.
#
# A type has 38 digits at most. Where numbers need more to be compared, Spark keeps the digits
# before the point and rounds those behind it, the column's too. Source: Spark's
# DecimalPrecisionTypeCoercion.widerDecimalType, DecimalType.boundedPreferIntegralDigits.

_MOST_DIGITS = 38
_EXACT = Context(prec=100)


@dataclass(frozen=True, slots=True)
class Digits:
    """How many digits a type has before the point and behind it."""

    before: int
    behind: int


INTEGERS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
"""How many digits Spark gives an integer type among decimals."""
_INT = Digits(INTEGERS["INT"], 0)
_LONG = Digits(INTEGERS["BIGINT"], 0)


@dataclass(frozen=True, slots=True)
class TypedNumber:
    """A number with an explicit type, `CAST(5 AS DECIMAL(38, 0))`, whatever its own digits."""

    value: int | Decimal
    digits: Digits

    @property
    def kind(self) -> str:
        """The type's name in SQL."""
        before, behind = self.digits.before, self.digits.behind
        if isinstance(self.value, int):
            return next(name for name, digits in INTEGERS.items() if digits == before)
        return f"DECIMAL({before + behind}, {behind})"


Number: TypeAlias = int | Decimal | TypedNumber


def of_integer(value: int) -> TypedNumber:
    """Return a whole number in the type that Spark gives it, int or else bigint."""
    return TypedNumber(value, _INT if -(2**31) <= value < 2**31 else _LONG)


def plain(literal: object) -> object:
    """Return a literal without its explicit type."""
    return literal.value if isinstance(literal, TypedNumber) else literal


def is_exact(literal: object) -> bool:
    """Return whether a literal is a whole number or a finite decimal."""
    number = plain(literal)
    if isinstance(number, Decimal):
        return number.is_finite()
    return isinstance(number, int) and not isinstance(number, bool)


def as_compared(kind: IcebergType, literals: Sequence[Number]) -> list[int | Decimal] | None:
    """Return the values that Spark compares with a column, all in their common type.

    None if Spark rounds the column, so that no column value stands for the literal.
    """
    column = _digits_of_column(kind)
    digit_counts = [digits for digits in map(digits_of, literals) if _is_of_spark(digits)]
    if column is None or (column.behind == 0 and not any(digits.behind for digits in digit_counts)):
        return [_rounded(literal, None) for literal in literals]
    scale = _common_scale([column, *digit_counts])
    if scale is not None and column.behind > scale:
        return None
    return [_rounded(literal, scale) for literal in literals]


def keep_digits(*numbers: Number) -> bool:
    """Return whether Spark compares the numbers unrounded, in a type with all their digits."""
    return _common_scale([digits_of(number) for number in numbers]) is None


def digits_of(number: Number) -> Digits:
    """Return the digits of a number: of a literal its own."""
    match number:
        case TypedNumber(digits=digits):
            return digits
        case Decimal():
            _, written, exponent = number.as_tuple()
            return Digits(max(0, len(written) + int(exponent)), max(0, -int(exponent)))
        case _:
            return Digits(len(str(abs(number))), 0)


def _is_of_spark(digits: Digits) -> bool:
    """Return whether a type of Spark has so many; larger numbers of Python are outside them all."""
    return digits.before + digits.behind <= _MOST_DIGITS


def _digits_of_column(kind: IcebergType) -> Digits | None:
    match kind:
        case DecimalType(precision=precision, scale=scale):
            return Digits(precision - scale, scale)
        case IntegerType():
            return _INT
        case LongType():
            return _LONG
        case _:
            return None


def _common_scale(digit_counts: Iterable[Digits]) -> int | None:
    """Return how many digits after the point remain, None if none is lost."""
    digit_counts = list(digit_counts)
    before = max(digits.before for digits in digit_counts)
    if before + max(digits.behind for digits in digit_counts) <= _MOST_DIGITS:
        return None
    return max(0, _MOST_DIGITS - before)


def _rounded(number: Number, scale: int | None) -> int | Decimal:
    """Return a number as Spark compares it: halves are rounded away from zero."""
    value = number.value if isinstance(number, TypedNumber) else number
    if scale is None or not isinstance(value, Decimal) or digits_of(value).behind <= scale:
        return value
    return value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
