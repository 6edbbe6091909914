"""Thrift's compact protocol read into plain values, as much of it as Parquet's footers have.

Structs are dicts by field id, lists are lists, numbers int or float, texts bytes. Nothing is
believed: lengths are compared with what is left. Source: Thrift, "compact protocol".
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

from iceberg_spark.formats.limits import FOOTERS

Struct: TypeAlias = dict[int, Any]

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DOUBLES = struct.Struct("<d")


def read_struct(data: bytes) -> Struct:
    """Return the struct that `data` starts with. Raises ValueError for what is none."""
    try:
        return _struct(data, 0, 0)[0]
    except (IndexError, struct.error):
        raise ValueError("it ends inside a value") from None


def struct_at(data: bytes, at: int) -> tuple[Struct, int]:
    """Return the struct at a place, and where it ends. Raises ValueError for what is none."""
    try:
        return _struct(data, at, 0)
    except (IndexError, struct.error):
        raise ValueError("it ends inside a value") from None


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number without a sign at a place, and where it ends. Raises ValueError."""
    try:
        return _varint(data, at)
    except IndexError:
        raise ValueError("it ends inside a number") from None


def _struct(data: bytes, at: int, level: int) -> tuple[Struct, int]:
    if level > FOOTERS.thrift_levels:
        raise ValueError("it is nested too deeply")
    found: Struct = {}
    field_id = 0
    while (head := data[at]) != 0:
        at += 1
        delta, kind = head >> 4, head & 15
        if delta:
            field_id += delta
        else:
            number, at = _varint(data, at)
            field_id = (number >> 1) ^ -(number & 1)
        if kind in (_I32, _I64):  # most of all values; the first byte is often the only one
            number = data[at]
            at += 1
            if number > 0x7F:
                number, at = _varint(data, at - 1)
            found[field_id] = (number >> 1) ^ -(number & 1)
        elif kind == _BINARY:
            found[field_id], at = _text(data, at)
        elif kind == _STRUCT:
            found[field_id], at = _struct(data, at, level + 1)
        elif kind == _LIST:
            found[field_id], at = _list(data, at, level + 1)
        elif kind <= _FALSE:
            found[field_id] = kind == _TRUE
        else:
            found[field_id], at = _value(data, at, kind, level + 1)
    return found, at + 1


def _value(data: bytes, at: int, kind: int, level: int) -> tuple[Any, int]:
    match kind:
        case 12:  # struct
            return _struct(data, at, level)
        case 9 | 10:  # list, set
            return _list(data, at, level)
        case 4 | 5 | 6:  # 16, 32 and 64 bits are written alike
            number, at = _varint(data, at)
            return (number >> 1) ^ -(number & 1), at
        case 8:  # binary
            return _text(data, at)
        case 1 | 2 | 3:  # a flag in a list, a byte
            return data[at], at + 1
        case 7:  # double
            return _DOUBLES.unpack_from(data, at)[0], at + 8
        case 11:  # map
            return _map(data, at, level)
        case _:
            raise ValueError(f"type {kind} at byte {at} is unknown")


def _list(data: bytes, at: int, level: int) -> tuple[list[Any], int]:
    if level > FOOTERS.thrift_levels:
        raise ValueError("it is nested too deeply")
    count, kind = data[at] >> 4, data[at] & 15
    at += 1
    if count == 15:
        count, at = _varint(data, at)
    if count > len(data) - at:
        raise ValueError(f"a list of {count} values at byte {at} does not fit")
    values = []
    value: Any
    for _ in range(count):
        if kind == _STRUCT:
            value, at = _struct(data, at, level + 1)
        elif kind in (_I32, _I64) and (byte := data[at]) < 0x80:
            value, at = (byte >> 1) ^ -(byte & 1), at + 1
        elif kind == _BINARY:
            value, at = _text(data, at)
        else:
            value, at = _value(data, at, kind, level + 1)
        values.append(value)
    return values, at


def _map(data: bytes, at: int, level: int) -> tuple[list[Any], int]:
    count, at = _varint(data, at)
    if not count:
        return [], at
    if level > FOOTERS.thrift_levels or count > len(data) - at:
        raise ValueError(f"a map of {count} values at byte {at} does not fit")
    kinds = data[at]
    at += 1
    pairs = []
    for _ in range(count):
        key, at = _value(data, at, kinds >> 4, level + 1)
        value, at = _value(data, at, kinds & 15, level + 1)
        pairs.append((key, value))
    return pairs, at


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    size = data[at]
    at += 1
    if size > 0x7F:
        size, at = _varint(data, at - 1)
    end = at + size
    if end > len(data):
        raise ValueError(f"a text of {size} bytes at byte {at} does not fit")
    return data[at:end], end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
    raise ValueError(f"a number at byte {at} is too long")
