"""The stripes of an ORC file, from its tail.

Arrow's reader counts stripes but exposes neither their offsets nor their rows. Offsets assign
stripes to splits; rows give the position of a stripe's first row without reading the stripes
before it. The tail is a Protocol Buffers message of which four numbers per stripe are needed,
too few to justify a code generator and its runtime as dependency.
Source: ORC specification v1, "File Tail".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_FOOTER_OF_TAIL = 2
_STRIPES_OF_FOOTER = 3
_OFFSET_OF_STRIPE = 1
_ROWS_OF_STRIPE = 5
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class Stripe:
    """The byte offset of a stripe, the position of its first row, and its rows."""

    offset: int
    first_row: int
    rows: int


def stripes(tail: bytes) -> tuple[Stripe, ...]:
    """Return the stripes of a file from its serialised tail (Arrow's `serialized_file_tail`).

    Raises ValueError for bytes that are not such a message.
    """
    stripes_read: list[Stripe] = []
    first_row = 0
    for number, footer in tail_fields(tail):
        if number != _FOOTER_OF_TAIL or isinstance(footer, int):
            continue
        for inner, message in tail_fields(footer):
            if inner == _STRIPES_OF_FOOTER and not isinstance(message, int):
                values = {
                    key: value for key, value in tail_fields(message) if isinstance(value, int)
                }
                rows = values.get(_ROWS_OF_STRIPE, 0)
                stripes_read.append(Stripe(values.get(_OFFSET_OF_STRIPE, 0), first_row, rows))
                first_row += rows
    return tuple(stripes_read)


def tail_numbers(message: bytes) -> Mapping[int, int]:
    """Return the numbers of a message by field, the last one of each."""
    return {number: value for number, value in tail_fields(message) if isinstance(value, int)}


def tail_parts(message: bytes) -> Mapping[int, bytes]:
    """Return the fields of a message that are not numbers, the last one of each."""
    return {number: value for number, value in tail_fields(message) if not isinstance(value, int)}


def tail_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a message: numbers as int, the rest as bytes."""
    position = 0
    while position < len(message):
        key, position = tail_number(message, position)
        kind = key & 7
        if kind == _VARINT:
            value, position = tail_number(message, position)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, position = tail_number(message, position)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {kind} in the ORC tail")
        if position + size > len(message):
            raise ValueError("the ORC tail ends inside a field")
        yield key >> 3, message[position : position + size]
        position += size


def tail_number(message: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position of a message and where it ends. Raises ValueError."""
    value = shift = 0
    while position < len(message):
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("the ORC tail ends inside a number")
