"""Values of Arrow columns as JSON has them, for every type and every date of the format.

Dates, times, decimals, UUIDs and binary values are texts, as in the specification's "JSON
single-value serialization". JSON has no NaN and no infinity: they are the texts "NaN", "Infinity"
and "-Infinity". A map is a list of objects with `key` and `value`: its keys can have any type.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import entry_lists
from iceberg_spark.spec.calendar_text import date_text, time_text, timestamp_text

_DIGITS = {"us": 6, "ns": 9}


def json_values(column: pa.Array) -> list[Any]:
    """Return the values of a column as `json.dumps` takes them; a null is None.

    Example:
        >>> json_values(pa.array([1.5, float("nan"), None]))
        [1.5, 'NaN', None]
    """
    kind = column.type
    if column.null_count == len(column):
        return [None] * len(column)
    if isinstance(kind, pa.BaseExtensionType):
        is_uuid = isinstance(kind, pa.UuidType)
        return _mapped(column.storage, _uuid_text) if is_uuid else json_values(column.storage)
    if pt.is_struct(kind):
        return _structs(column)
    if pt.is_map(kind):
        return json_values(entry_lists(column))
    if pt.is_list(kind) or pt.is_large_list(kind):
        return _lists(column)
    converter = _converter(kind)
    if converter is None:
        return list(column.to_pylist())
    return _mapped(column.cast(_storage_type(kind)), converter)


def finite_or_text(value: float) -> float | str:
    """Return a number if it is finite, and otherwise a text: JSON has no such number."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _converter(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return how a value of `_storage_type` becomes JSON, None if it stays unchanged."""
    if pt.is_timestamp(kind):
        digits, offset = _DIGITS[kind.unit], "" if kind.tz is None else "+00:00"
        return lambda value: timestamp_text(value, digits) + offset
    if pt.is_date(kind):
        return date_text
    if pt.is_time(kind):
        return lambda value: time_text(value, _DIGITS[kind.unit])
    if pt.is_floating(kind):
        return finite_or_text
    if pt.is_decimal(kind):
        return lambda value: format(value, "f")
    is_bytes = pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind)
    return bytes.hex if is_bytes else None


def _storage_type(kind: pa.DataType) -> pa.DataType:
    """Return the integers of dates and times: Python's `datetime` ends with the year 9999."""
    if pt.is_date32(kind):
        return pa.int32()
    return pa.int64() if pt.is_timestamp(kind) or pt.is_time64(kind) else kind


def _mapped(column: pa.Array, function: Callable[[Any], Any]) -> list[Any]:
    return [None if value is None else function(value) for value in column.to_pylist()]


def _uuid_text(value: bytes) -> str:
    return str(uuid.UUID(bytes=value))


def _structs(column: pa.Array) -> list[Any]:
    names = [field.name for field in column.type]
    fields = [json_values(child) for child in column.flatten()]
    rows = zip(*fields, strict=True) if fields else [()] * len(column)
    return [
        dict(zip(names, row, strict=True)) if is_valid else None
        for row, is_valid in zip(rows, column.is_valid().to_pylist(), strict=True)
    ]


def _lists(column: pa.Array) -> list[Any]:
    elements = iter(json_values(column.flatten()))
    return [
        None if length is None else list(islice(elements, length))
        for length in column.value_lengths().to_pylist()
    ]
