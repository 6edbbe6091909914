"""Thrift's compact protocol decoded to plain values, as far as Parquet's footers use it.

Structs are dicts by field id, lists are lists, numbers int or float, texts bytes. Bytes are
untrusted: lengths are compared with the rest. Source: Thrift, "compact protocol".
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

from iceberg_spark.formats.limits import FOOTERS

Struct: TypeAlias = dict[int, Any]

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DOUBLES = struct.Struct("<d")


def read_struct(data: bytes) -> Struct:
    """Return the struct at the start of `data`. Raises ValueError for malformed data."""
    try:
        return _struct(data, 0, 0)[0]
    except (IndexError, struct.error):
        raise ValueError("it ends inside a value") from None


def struct_at(data: bytes, offset: int) -> tuple[Struct, int]:
    """Return the struct at an offset, and its end. Raises ValueError for malformed data."""
    try:
        return _struct(data, offset, 0)
    except (IndexError, struct.error):
        raise ValueError("it ends inside a value") from None


def varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return the unsigned number at an offset, and its end. Raises ValueError."""
    try:
        return _varint(data, offset)
    except IndexError:
        raise ValueError("it ends inside a number") from None


def _struct(data: bytes, offset: int, level: int) -> tuple[Struct, int]:
    if level > FOOTERS.thrift_levels:
        raise ValueError("it is nested too deeply")
    fields: Struct = {}
    field_id = 0
    while (head := data[offset]) != 0:
        offset += 1
        delta, kind = head >> 4, head & 15
        if delta:
            field_id += delta
        else:
            number, offset = _varint(data, offset)
            field_id = (number >> 1) ^ -(number & 1)
        if kind in (_I32, _I64):  # most values; the first byte is often the only one
            number = data[offset]
            offset += 1
            if number > 0x7F:
                number, offset = _varint(data, offset - 1)
            fields[field_id] = (number >> 1) ^ -(number & 1)
        elif kind == _BINARY:
            fields[field_id], offset = _text(data, offset)
        elif kind == _STRUCT:
            fields[field_id], offset = _struct(data, offset, level + 1)
        elif kind == _LIST:
            fields[field_id], offset = _list(data, offset, level + 1)
        elif kind <= _FALSE:
            fields[field_id] = kind == _TRUE
        else:
            fields[field_id], offset = _value(data, offset, kind, level + 1)
    return fields, offset + 1


def _value(data: bytes, offset: int, kind: int, level: int) -> tuple[Any, int]:
    match kind:
        case 12:  # struct
            return _struct(data, offset, level)
        case 9 | 10:  # list, set
            return _list(data, offset, level)
        case 4 | 5 | 6:  # 16, 32 and 64 bits have the same encoding
            number, offset = _varint(data, offset)
            return (number >> 1) ^ -(number & 1), offset
        case 8:  # binary
            return _text(data, offset)
        case 1 | 2 | 3:  # a flag in a list, a byte
            return data[offset], offset + 1
        case 7:  # double
            return _DOUBLES.unpack_from(data, offset)[0], offset + 8
        case 11:  # map
            return _map(data, offset, level)
        case _:
            raise ValueError(f"type {kind} at byte {offset} is unknown")


def _list(data: bytes, offset: int, level: int) -> tuple[list[Any], int]:
    if level > FOOTERS.thrift_levels:
        raise ValueError("it is nested too deeply")
    count, kind = data[offset] >> 4, data[offset] & 15
    offset += 1
    if count == 15:
        count, offset = _varint(data, offset)
    if count > len(data) - offset:
        raise ValueError(f"a list of {count} values at byte {offset} does not fit")
    values = []
    value: Any
    for _ in range(count):
        if kind == _STRUCT:
            value, offset = _struct(data, offset, level + 1)
        elif kind in (_I32, _I64) and (byte := data[offset]) < 0x80:
            value, offset = (byte >> 1) ^ -(byte & 1), offset + 1
        elif kind == _BINARY:
            value, offset = _text(data, offset)
        else:
            value, offset = _value(data, offset, kind, level + 1)
        values.append(value)
    return values, offset


def _map(data: bytes, offset: int, level: int) -> tuple[list[Any], int]:
    count, offset = _varint(data, offset)
    if not count:
        return [], offset
    if level > FOOTERS.thrift_levels or count > len(data) - offset:
        raise ValueError(f"a map of {count} values at byte {offset} does not fit")
    kinds = data[offset]
    offset += 1
    pairs = []
    for _ in range(count):
        key, offset = _value(data, offset, kinds >> 4, level + 1)
        value, offset = _value(data, offset, kinds & 15, level + 1)
        pairs.append((key, value))
    return pairs, offset


def _text(data: bytes, offset: int) -> tuple[bytes, int]:
    size = data[offset]
    offset += 1
    if size > 0x7F:
        size, offset = _varint(data, offset - 1)
    end = offset + size
    if end > len(data):
        raise ValueError(f"a text of {size} bytes at byte {offset} does not fit")
    return data[offset:end], end


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 70:
        byte = data[offset]
        offset += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, offset
        shift += 7
    raise ValueError(f"a number at byte {offset} is too long")
