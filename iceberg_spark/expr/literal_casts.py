"""CAST of a literal as in Spark's ANSI mode; casts that depend on a setting are refused.

Every function raises ValueError for a value that the type does not accept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from iceberg_spark.expr.literals import (
    NANOS_PER_DAY,
    DateLiteral,
    LooseText,
    TimestampLiteral,
    date_from_text,
    timestamp_from_text,
)
from iceberg_spark.spec.calendar_text import date_text

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_BLANKS = " \t\n\r\x0b\x0c"
_TRUE_TEXTS = frozenset({"t", "true", "y", "yes", "1"})
_FALSE_TEXTS = frozenset({"f", "false", "n", "no", "0"})
_SURE_DIGITS = 15
_CONTEXT = Context(prec=100)


def whole_number(text: str) -> int:
    """Parse a text like Spark's cast to an integer type."""
    stripped = text.strip(_BLANKS)
    if not _INTEGER.fullmatch(stripped):
        raise ValueError(f"'{text}' is no whole number")
    return int(stripped)


def floating(text: str) -> float:
    """Parse a text like Spark's cast to double."""
    stripped = text.strip(_BLANKS).lower()
    sign = -1 if stripped.startswith("-") else 1
    special = _SPECIAL.get(stripped.lstrip("+-") if stripped[:1] in ("+", "-") else stripped)
    if special is not None:
        return sign * special
    if not _NUMBER.fullmatch(stripped):
        raise ValueError(f"'{text}' is no number")
    return float(stripped)


def truth(text: str) -> bool:
    """Parse a text like Spark's cast to boolean."""
    stripped = text.strip(_BLANKS).lower()
    if stripped in _TRUE_TEXTS or stripped in _FALSE_TEXTS:
        return stripped in _TRUE_TEXTS
    raise ValueError(f"'{text}' is neither true nor false")


def to_whole(low: int, high: int) -> Callable[[Any], int]:
    """Return the cast to the integers from low to high."""

    def cast(value: Any) -> int:
        match value:
            case LooseText():
                raise ValueError("without ANSI mode a text may become null")
            case str():
                number = whole_number(value)
            case bool() | int() | Decimal() | float():
                number = int(value)  # towards zero, as Spark does; NaN is a ValueError
            case _:
                raise ValueError("only numbers and texts become numbers here")
        if not low <= number <= high:
            raise ValueError(f"it must be {low} to {high}")
        return number

    return cast


def to_double(value: Any) -> float:
    """Cast to double."""
    match value:
        case LooseText():
            raise ValueError("without ANSI mode a text may become null")
        case str():
            return floating(value)
        case bool() | int() | float() | Decimal():
            return float(value)
        case _:
            raise ValueError("only numbers and texts become numbers here")


def to_float(value: Any) -> float:
    """Cast to float: the nearest one, ties to even."""
    wide = to_double(value)
    with np.errstate(over="ignore"):
        near = np.float32(wide)
    if isinstance(value, float | bool) or not math.isfinite(wide) or not np.isfinite(near):
        return float(near)
    exact = Fraction(Decimal(value.strip(_BLANKS)) if isinstance(value, str) else value)
    neighbours = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    around = [float(candidate) for candidate in (near, *neighbours) if np.isfinite(candidate)]
    return min(around, key=lambda candidate: abs(Fraction(candidate) - exact))


def to_decimal(precision: int, scale: int) -> Callable[[Any], Decimal]:
    """Return the cast to a decimal type, which rounds halves away from zero."""

    def cast(value: Any) -> Decimal:
        match value:
            case LooseText() | bool():
                raise ValueError("that can't be cast here")
            case str():
                stripped = value.strip(_BLANKS)
                if not _NUMBER.fullmatch(stripped):
                    raise ValueError(f"'{value}' is no number")
                number = Decimal(stripped)
            case float():
                number = Decimal(repr(value))
                if not number.is_finite() or len(number.as_tuple().digits) > _SURE_DIGITS:
                    raise ValueError("a double of so many digits can't be cast here")
            case int() | Decimal():
                number = Decimal(value)
            case _:
                raise ValueError("only numbers and texts become numbers here")
        rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _CONTEXT)
        if rounded.copy_abs() >= Decimal(10) ** (precision - scale):  # abs() would round
            raise ValueError(f"it has more digits than decimal({precision}, {scale})")
        return rounded

    return cast


def to_string(value: Any) -> str:
    """Cast to string; doubles and timestamps have a form of their own and are refused."""
    match value:
        case LooseText(text=text) | str(text):
            return text
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Decimal() if value.is_finite() and "E" not in str(value):
            return str(value)
        case bytes():
            return value.decode("utf-8")
        case DateLiteral(days=days) if (text := date_text(days))[:1] not in "+-":
            return text
        case _:
            raise ValueError("its text depends on Spark; write the text itself")


def to_binary(value: Any) -> bytes:
    """Cast to binary."""
    match value:
        case LooseText(text=text) | str(text):
            return text.encode("utf-8")
        case bytes():
            return value
        case _:
            raise ValueError("only texts become binary")


def to_boolean(value: Any) -> bool:
    """Cast to boolean."""
    match value:
        case LooseText():
            raise ValueError("without ANSI mode a text may become null")
        case str():
            return truth(value)
        case bool() | int() | float() | Decimal():
            return bool(value)
        case _:
            raise ValueError("only numbers and texts become boolean")


def to_date(value: Any) -> DateLiteral:
    """Cast to date; a moment with a zone has one in the session's zone only."""
    match value:
        case LooseText(text=text) | str(text):
            return date_from_text(text)
        case DateLiteral():
            return value
        case TimestampLiteral(nanos=nanos, is_local=True):
            return DateLiteral(nanos // NANOS_PER_DAY)
        case _:
            raise ValueError("it depends on the session's time zone; write the date")


def to_timestamp(value: Any) -> TimestampLiteral:
    """Cast to timestamp, an instant; without a zone it is read in the session's."""
    match value:
        case LooseText(text=text) | str(text):
            return timestamp_from_text(text)
        case DateLiteral(days=days):
            return TimestampLiteral(days * NANOS_PER_DAY)
        case TimestampLiteral(nanos=nanos, zone=zone):
            return TimestampLiteral(nanos // 1000 * 1000, zone)
        case _:
            raise ValueError("only texts, dates and timestamps become timestamps")


def to_local(value: Any) -> TimestampLiteral:
    """Cast to timestamp_ntz, a wall clock; the zone in a text is ignored."""
    match value:
        case LooseText(text=text) | str(text):
            return TimestampLiteral(timestamp_from_text(text).nanos, is_local=True)
        case DateLiteral(days=days):
            return TimestampLiteral(days * NANOS_PER_DAY, is_local=True)
        case TimestampLiteral(is_local=True):
            return value
        case _:
            raise ValueError("it depends on the session's time zone; write the wall clock")
