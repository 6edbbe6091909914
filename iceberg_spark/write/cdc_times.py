"""Dates, times and timestamps of change feeds: ISO texts of any year, and units of numbers.

Sources: ISO 8601, and Debezium's `io.debezium.time.Iso*` and `Zoned*` types.
"""

from __future__ import annotations

import re
from datetime import date

_DATE = r"([+-]?\d{4,9})-(\d\d)-(\d\d)"
_TIME = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_ZONE = r"(Z|[+-]\d\d(?::?\d\d)?)?"
_ISO_DATE = re.compile(_DATE + _ZONE)
_ISO_TIME = re.compile(_TIME + _ZONE)
_ISO_TIMESTAMP = re.compile(f"{_DATE}[T ]{_TIME}{_ZONE}")

NANOS = {"ns": 1, "us": 1_000, "ms": 1_000_000}
"""Nanoseconds of a unit."""
NANOS_OF_DAY = 86_400 * 10**9
_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # the Gregorian calendar repeats after 400 years


def days_of(text: str) -> int:
    """Return the days from 1970 to an ISO date; a zone (`Z`) is ignored. Raises ValueError."""
    match = _ISO_DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO date")
    return _days(match[1], match[2], match[3])


def nanos_of_day(text: str) -> int:
    """Return the nanoseconds from midnight, in UTC if the text has an offset. Raises ValueError."""
    match = _ISO_TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO time")
    nanos = _nanos(*match.groups()[:4])
    if nanos >= NANOS_OF_DAY:
        raise ValueError(f"{text!r} is not before 24:00:00")
    return (nanos - _offset(match[5])) % NANOS_OF_DAY


def nanos_of(text: str) -> int:
    """Return the nanoseconds from 1970 to an ISO timestamp, in UTC. Raises ValueError."""
    match = _ISO_TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO timestamp")
    days = _days(match[1], match[2], match[3])
    return days * NANOS_OF_DAY + _nanos(*match.groups()[3:7]) - _offset(match[8])


def in_unit(nanos: int, unit: str) -> int:
    """Return nanoseconds in a unit. Raises ValueError if that loses digits."""
    number, rest = divmod(nanos, NANOS[unit])
    if rest:
        raise ValueError(f"{nanos} ns is finer than the column's {unit}")
    return number


def _days(year: str, month: str, day: str) -> int:
    cycles, within = divmod(int(year) - 1, _CYCLE_YEARS)
    ordinal = date(within + 1, int(month), int(day)).toordinal()
    return ordinal + cycles * _CYCLE_DAYS - _EPOCH


def _nanos(hour: str, minute: str, second: str | None, fraction: str | None) -> int:
    minutes, seconds = int(minute), int(second or 0)
    if minutes > 59 or seconds > 59:
        raise ValueError(f"{hour}:{minute}:{second} is not a time")
    total_seconds = (int(hour) * 60 + minutes) * 60 + seconds
    return total_seconds * 10**9 + int((fraction or "").ljust(9, "0"))


def _offset(zone: str | None) -> int:
    if zone in (None, "Z"):
        return 0
    digits = str(zone).replace(":", "")
    minutes = int(digits[1:3]) * 60 + int(digits[3:5] or 0)
    return (-minutes if digits[0] == "-" else minutes) * 60 * 10**9
