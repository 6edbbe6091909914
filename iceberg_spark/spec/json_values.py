"""Canonical values as JSON (specification, "JSON single-value serialization").

Nested values: a struct is a tuple of (field id, value) pairs (a field that is left out takes its
own default), a list is a tuple, a map is a tuple of (key, value) pairs. All of them can be hashed.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.calendar_text import (
    date_text,
    parse_date,
    parse_time,
    parse_timestamp,
    time_text,
    timestamp_text,
)
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
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from iceberg_spark.spec.values import to_unscaled

UTC_OFFSET = "+00:00"


def value_to_json(kind: IcebergType, value: Any) -> Any:
    """Return what `json.dumps` writes for a canonical value.

    Raises InvalidInputError for a value that is not of the type or a type without a JSON form.
    """
    if value is None:
        return None
    if (writer := _WRITERS.get(type(kind))) is not None:
        return writer(value)
    match kind:
        case FloatType() | DoubleType():
            if not math.isfinite(value):
                raise InvalidInputError(f"{value} has no JSON form")
            return float(value)
        case DecimalType(scale=scale):
            return format(value, "f") if scale >= 0 else str(value)
        case StructType() | ListType() | MapType():
            return _nested_to_json(kind, value)
        case _:
            raise InvalidInputError(f"A value of type {kind} can't be stored; it must be null")


def _same(value: Any) -> Any:
    return value


_WRITERS: dict[type, Callable[[Any], Any]] = {
    BooleanType: _same,
    IntegerType: _same,
    LongType: _same,
    StringType: _same,
    DateType: date_text,
    TimeType: time_text,
    TimestampType: timestamp_text,
    TimestampNanoType: lambda value: timestamp_text(value, 9),
    TimestamptzType: lambda value: timestamp_text(value) + UTC_OFFSET,
    TimestamptzNanoType: lambda value: timestamp_text(value, 9) + UTC_OFFSET,
    UUIDType: str,
    FixedType: bytes.hex,
    BinaryType: bytes.hex,
}


def _nested_to_json(kind: StructType | ListType | MapType, value: Any) -> Any:
    match kind:
        case StructType(fields=fields):
            types = {field.field_id: field.field_type for field in fields}
            return {str(number): value_to_json(types[number], part) for number, part in value}
        case ListType(element_type=element):
            return [value_to_json(element, part) for part in value]
        case MapType(key_type=key_type, value_type=value_type):
            return {
                "keys": [value_to_json(key_type, key) for key, _ in value],
                "values": [value_to_json(value_type, part) for _, part in value],
            }


def value_from_json(kind: IcebergType, node: Any) -> Any:
    """Return the canonical value of a parsed JSON value.

    Raises InvalidInputError saying what the type needs.
    """
    if node is None:
        return None
    match kind:
        case BooleanType():
            return _checked(kind, node, isinstance(node, bool))
        case IntegerType():
            return _checked(kind, node, _is_int(node, 31))
        case LongType():
            return _checked(kind, node, _is_int(node, 63))
        case FloatType() | DoubleType():
            fits = isinstance(node, int | float) and not isinstance(node, bool)
            return float(_checked(kind, node, fits))
        case StructType() | ListType() | MapType():
            return _nested_from_json(kind, node)
        case _:
            return _from_text(kind, _checked(kind, node, isinstance(node, str)))


def _checked(kind: IcebergType, node: Any, fits: bool) -> Any:
    if not fits:
        raise InvalidInputError(f"{node!r} is not a JSON value of type {kind}")
    return node


def _is_int(node: Any, bits: int) -> bool:
    return isinstance(node, int) and not isinstance(node, bool) and -(1 << bits) <= node < 1 << bits


def _from_text(kind: IcebergType, text: str) -> Any:
    if (reader := _READERS.get(type(kind))) is not None:
        return reader(text)
    match kind:
        case DecimalType():
            return _decimal(kind, text)
        case FixedType(length=length):
            data = _hex(text)
            return _checked(kind, data, len(data) == length)
        case _:
            raise InvalidInputError(f"A value of type {kind} can't be stored; it must be null")


def _decimal(kind: DecimalType, text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as cause:
        raise InvalidInputError(f"'{text}' is not a decimal") from cause
    if not value.is_finite() or -int(value.as_tuple().exponent) != kind.scale:
        raise InvalidInputError(f"'{text}' has not the scale of {kind}")
    return _checked(kind, value, abs(to_unscaled(value, kind.scale)) < 10**kind.precision)  # type: ignore[no-any-return]


def _without_offset(text: str) -> str:
    if not text.endswith(UTC_OFFSET):
        raise InvalidInputError(f"'{text}' must end with the offset {UTC_OFFSET}")
    return text.removesuffix(UTC_OFFSET)


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError as cause:
        raise InvalidInputError(f"'{text}' is not a UUID") from cause


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as cause:
        raise InvalidInputError(f"'{text}' is not hexadecimal") from cause


_READERS: dict[type, Callable[[str], Any]] = {
    StringType: _same,
    DateType: parse_date,
    TimeType: parse_time,
    TimestampType: parse_timestamp,
    TimestampNanoType: lambda text: parse_timestamp(text, 9),
    TimestamptzType: lambda text: parse_timestamp(_without_offset(text)),
    TimestamptzNanoType: lambda text: parse_timestamp(_without_offset(text), 9),
    UUIDType: _uuid,
    BinaryType: _hex,
}


def _nested_from_json(kind: StructType | ListType | MapType, node: Any) -> tuple[Any, ...]:
    match kind:
        case StructType(fields=fields):
            _checked(kind, node, isinstance(node, dict))
            return tuple(
                (field.field_id, value_from_json(field.field_type, node[str(field.field_id)]))
                for field in fields
                if str(field.field_id) in node
            )
        case ListType(element_type=element):
            _checked(kind, node, isinstance(node, list))
            return tuple(value_from_json(element, part) for part in node)
        case MapType(key_type=key_type, value_type=value_type):
            _checked(kind, node, _is_map(node))
            return tuple(
                (value_from_json(key_type, key), value_from_json(value_type, part))
                for key, part in zip(node["keys"], node["values"], strict=True)
            )


def _is_map(node: Any) -> bool:
    if not isinstance(node, dict):
        return False
    keys, values = node.get("keys"), node.get("values")
    return isinstance(keys, list) and isinstance(values, list) and len(keys) == len(values)
