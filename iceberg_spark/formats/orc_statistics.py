"""Column statistics of an ORC file: the number of values, the least and the greatest.

Source: ORC specification v1, "Column Statistics".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow.types as pt

from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.formats.footer_metrics import known_id
from iceberg_spark.formats.metrics import Metrics, lower_bound, upper_bound
from iceberg_spark.formats.metrics_modes import MetricsMode
from iceberg_spark.formats.orc_tail import tail_fields, tail_number, tail_numbers, tail_parts
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
)
from iceberg_spark.spec.values import to_bytes

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


# Metrics of another writer's ORC file, from the column statistics in its tail.
#
# Source: Java's OrcMetrics. Values below a null struct count as null here, where Java ignores
# them.


def columns_by_id(
    fields: Sequence[FileField], columns: Sequence[OrcColumn], rows: int
) -> dict[int, OrcColumn]:
    """Return the statistics of a file's columns by field id, except inside lists and maps.

    Empty if its columns differ from Arrow's (unions); without columns whose number of values is
    unknown.
    """
    if len(columns) != 1 + sum(map(_size, fields)):
        return {}
    return {
        field_id: columns[number]
        for number, field in _numbered(fields, 1)
        if (field_id := known_id(field)) is not None
        and (values := columns[number].values) is not None
        and values <= rows
    }


def orc_metrics(
    rows: int, columns: Mapping[int, OrcColumn], schema: Schema, modes: Mapping[int, MetricsMode]
) -> Metrics:
    """Return the metrics of the file columns that the table has; `columns` are by field id."""
    sizes, values, nulls = {}, {}, {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for field_id, column in columns.items():
        if schema.get(field_id) is None or not modes[field_id].has_counts or column.values is None:
            continue
        values[field_id], nulls[field_id] = rows, rows - column.values
        if column.size is not None:
            sizes[field_id] = column.size
        kind = schema.find_type(field_id)
        ends = orc_extremes(column, kind) if modes[field_id].has_bounds else None
        if ends is not None:
            width = modes[field_id].width
            lower[field_id] = lower_bound(kind, ends[0], width)
            high = upper_bound(kind, ends[1], width, or_whole=True)
            if high is not None:
                upper[field_id] = high
    return Metrics(rows, sizes, values, nulls, {}, lower, upper)


def orc_extremes(column: OrcColumn, kind: IcebergType) -> tuple[Any, Any] | None:
    """Return the least and greatest canonical value of a column, None if they are unknown."""
    ends = _extremes(column, kind)
    try:
        for value in ends or ():
            to_bytes(kind, value)
    except InvalidInputError:
        return None  # out of the type's range
    return ends


def _extremes(column: OrcColumn, kind: IcebergType) -> tuple[Any, Any] | None:
    match kind:
        case IntegerType() | LongType():
            return column.ints
        case DateType():
            return column.days
        case StringType():
            return column.text
        case BooleanType():
            return column.flags
        case DecimalType():
            return column.decimals
        case _:
            return None


def _numbered(fields: Sequence[FileField], first: int) -> Iterator[tuple[int, FileField]]:
    """Yield fields with ORC's numbers, in depth-first order."""
    number = first
    for field in fields:
        yield number, field
        if pt.is_struct(field.kind):
            yield from _numbered(field.children, number + 1)
        number += _size(field)


def _size(field: FileField) -> int:
    return 1 + sum(map(_size, field.children))
