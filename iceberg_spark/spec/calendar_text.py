"""Dates, times and timestamps as ISO-8601 text, for every year that a day number can name."""

from __future__ import annotations

import re

from iceberg_spark.errors import InvalidInputError

_DATE = re.compile(r"([+-]?\d{4,9})-(\d\d)-(\d\d)")
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?")
_DAYS_PER_ERA = 146_097  # the Gregorian calendar repeats after 400 years
_EPOCH_SHIFT = 719_468  # days from 0000-03-01 to 1970-01-01
_LONG_MONTHS = (1, 3, 5, 7, 8, 10, 12)


def civil(days: int) -> tuple[int, int, int]:
    """Return (year, month, day) of days from 1970-01-01, in the proleptic Gregorian calendar."""
    era, day_of_era = divmod(days + _EPOCH_SHIFT, _DAYS_PER_ERA)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153  # months counted from March
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (month <= 2)
    return year, month, day_of_year - (153 * shifted + 2) // 5 + 1


def days_of(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 of a date; the inverse of `civil`."""
    shifted_year = year - (month <= 2)
    era, year_of_era = divmod(shifted_year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_PER_ERA + day_of_era - _EPOCH_SHIFT


def year_text(year: int) -> str:
    """Return a year with four digits; years beyond 9999 have a sign (ISO 8601)."""
    if year > 9999:
        return f"+{year}"
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def date_text(days: int) -> str:
    """Return days from 1970-01-01 as `2017-11-16`."""
    year, month, day = civil(days)
    return f"{year_text(year)}-{month:02d}-{day:02d}"


def time_text(value: int, digits: int = 6) -> str:
    """Return a time of day as `22:31:08.123456`; `digits` is 6 for micro-, 9 for nanoseconds."""
    seconds, fraction = divmod(value, 10**digits)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}.{fraction:0{digits}d}"


def timestamp_text(value: int, digits: int = 6) -> str:
    """Return a timestamp as `2017-11-16T22:31:08.123456`, without offset."""
    days, rest = divmod(value, 86_400 * 10**digits)
    return f"{date_text(days)}T{time_text(rest, digits)}"


def parse_date(text: str) -> int:
    """Return days from 1970-01-01 of an ISO date. Raises InvalidInputError."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise InvalidInputError(f"'{text}' is not a date like 2017-11-16")
    year, month, day = (int(part) for part in match.groups())
    if not 1 <= month <= 12 or not 1 <= day <= _month_length(year, month):
        raise InvalidInputError(f"'{text}' is not a day of the calendar")
    return days_of(year, month, day)


def _month_length(year: int, month: int) -> int:
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 31 if month in _LONG_MONTHS else 30


def parse_time(text: str, digits: int = 6) -> int:
    """Return micro- or nanoseconds (`digits` 6 or 9) from midnight. Raises InvalidInputError."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise InvalidInputError(f"'{text}' is not a time like 22:31:08.123456")
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise InvalidInputError(f"'{text}' is not a time of the day")
    fraction = (match.group(4) or "").ljust(9, "0")
    if fraction[digits:].strip("0"):
        raise InvalidInputError(f"'{text}' has more than {digits} digits after the point")
    return ((hour * 60 + minute) * 60 + second) * int(10**digits) + int(fraction[:digits])


def parse_timestamp(text: str, digits: int = 6) -> int:
    """Return micro- or nanoseconds from the epoch of a text without offset.

    Raises InvalidInputError.
    """
    date, mark, time = text.partition("T")
    if not mark:
        raise InvalidInputError(f"'{text}' is not a timestamp like 2017-11-16T22:31:08.123456")
    return parse_date(date) * 86_400 * int(10**digits) + parse_time(time, digits)
