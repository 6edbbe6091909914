"""Column statistics of an ORC file: the number of values, the least and the greatest.

Source: ORC specification v1, "Column Statistics".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from iceberg_spark.formats.orc_tail import tail_fields, tail_number, tail_numbers, tail_parts

_POSTSCRIPT, _FOOTER = 1, 2
_WRITER_VERSION = 6
_STATISTICS = 7
_ORC_135 = 6
"""The version of writers since 2017; earlier ones put together extremes of texts wrongly."""

_VALUES, _BYTES, _TEXTS = 1, 11, 4
_TEXT_BOUNDS = frozenset((1, 2, 4, 5))
"""Least and greatest text, and the bounds of long ones."""


@dataclass(frozen=True, slots=True)
class OrcColumn:
    """The statistics of one column: rows with a value, bytes, least and greatest value.

    Days count from the epoch. None: unknown or unreliable. A NaN makes the extremes of floats
    unreliable, and writers encode fractions of times before 1970 differently. Writers in C++
    compare texts up to a NUL. `is_utf8`: all extremes of texts are valid UTF-8.
    """

    values: int | None
    size: int | None
    ints: tuple[int, int] | None = None
    days: tuple[int, int] | None = None
    text: tuple[str, str] | None = None
    decimals: tuple[Decimal, Decimal] | None = None
    flags: tuple[bool, bool] | None = None
    is_utf8: bool = True


def orc_columns(tail: bytes) -> tuple[OrcColumn, ...]:
    """Return the statistics of all columns: first the file's rows, then depth first.

    Raises ValueError for bytes that are not a tail (Arrow's `serialized_file_tail`).
    """
    parts = tail_parts(tail)
    is_known = tail_numbers(parts.get(_POSTSCRIPT, b"")).get(_WRITER_VERSION, 0) >= _ORC_135
    return tuple(
        _column(message, is_known)
        for number, message in tail_fields(parts.get(_FOOTER, b""))
        if number == _STATISTICS and not isinstance(message, int)
    )


def _column(message: bytes, is_known: bool) -> OrcColumn:
    numbers, parts = tail_numbers(message), tail_parts(message)
    values = numbers.get(_VALUES)
    extremes: dict[str, Any] = {"is_utf8": _is_utf8(parts.get(_TEXTS, b""))}
    if is_known and values:
        extremes |= {
            name: read(parts[number])
            for number, (name, read) in _EXTREMES.items()
            if number in parts
        }
        if _FLAGS in parts:
            extremes["flags"] = _flags(parts[_FLAGS], values)
    return OrcColumn(values, numbers.get(_BYTES), **extremes)


def _signed(part: bytes) -> tuple[int, int] | None:
    numbers = tail_numbers(part)
    if 1 not in numbers or 2 not in numbers:
        return None
    low, high = ((numbers[number] >> 1) ^ -(numbers[number] & 1) for number in (1, 2))
    return low, high


def _texts(part: bytes) -> tuple[str, str] | None:
    """Return the extremes of texts; None if there are only bounds (of long texts) or bytes.

    None with a NUL. Without one they are right: a text that was compared only up to its NUL is on
    the same side of both as all texts with that prefix.
    """
    parts = tail_parts(part)
    if 1 not in parts or 2 not in parts or b"\0" in parts[1] + parts[2]:
        return None
    try:
        return parts[1].decode(), parts[2].decode()
    except UnicodeDecodeError:
        return None


def _is_utf8(part: bytes) -> bool:
    parts = tail_parts(part)
    try:
        for number in _TEXT_BOUNDS & parts.keys():
            parts[number].decode()
    except UnicodeDecodeError:
        return False
    return True


def _decimals(part: bytes) -> tuple[Decimal, Decimal] | None:
    pair = _texts(part)
    return None if pair is None else (Decimal(pair[0]), Decimal(pair[1]))


def _flags(part: bytes, values: int) -> tuple[bool, bool] | None:
    """Return the extremes of flags, of which a file counts those that are set."""
    packed = tail_parts(part).get(1)
    true = tail_numbers(part).get(1) if packed is None else tail_number(packed, 0)[0]
    return None if true is None else (true >= values, true > 0)


_EXTREMES: Mapping[int, tuple[str, Callable[[bytes], Any]]] = {
    2: ("ints", _signed),
    _TEXTS: ("text", _texts),
    6: ("decimals", _decimals),
    7: ("days", _signed),
}
_FLAGS = 5
