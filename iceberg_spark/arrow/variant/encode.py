"""Arrow columns as encoded variant values, a column at a time (Parquet's "Variant Encoding")."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from iceberg_spark.errors import CorruptFileError

NULL = b"\x00"
_TRUE, _FALSE = b"\x04", b"\x08"
_LONGEST_SHORT_TEXT = 63
_SHORT_TEXT, _OBJECT, _ARRAY = 1, 2, 3
_INT8, _INT16, _INT32, _INT64, _DOUBLE = 3, 4, 5, 6, 7
_DECIMAL4, _DECIMAL8, _DECIMAL16, _DATE = 8, 9, 10, 11
_MICROS_TZ, _MICROS, _FLOAT, _BINARY, _STRING, _TIME, _NANOS_TZ, _NANOS, _UUID = range(12, 21)
_SMALL = 255
_WIDTHS = ((1, 0xFF, "B"), (2, 0xFFFF, "H"), (4, 0xFFFFFFFF, "I"))
_NUMBERS = {
    pa.int8(): (_INT8, "<i1"),
    pa.int16(): (_INT16, "<i2"),
    pa.int32(): (_INT32, "<i4"),
    pa.int64(): (_INT64, "<i8"),
    pa.float32(): (_FLOAT, "<f4"),
    pa.float64(): (_DOUBLE, "<f8"),
    pa.date32(): (_DATE, "<i4"),
    pa.time64("us"): (_TIME, "<i8"),
}


def encode(array: pa.Array) -> pa.Array:
    """Return a column of a primitive type as encoded values, null where it is null.

    Raises CorruptFileError for a type that variants don't have.
    """
    kind = array.type
    if pt.is_dictionary(kind):
        return encode(array.dictionary_decode())
    if isinstance(array, pa.ExtensionArray):
        return encode(array.storage)
    if pt.is_boolean(kind):
        return pc.if_else(array, pa.scalar(_TRUE), pa.scalar(_FALSE))
    if pt.is_decimal(kind):
        return _decimals(array)
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return _texts(array.cast(pa.binary()))
    if pt.is_fixed_size_binary(kind) and kind.byte_width == 16:
        return _fixed(array, _UUID, _bytes_of(array, 16))
    if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_binary_view(kind):
        return _sized(array.cast(pa.binary()), _BINARY)
    number, dtype = _number(kind)
    wide = (
        array.view(pa.int64() if dtype == "<i8" else pa.int32()) if pt.is_temporal(kind) else array
    )
    filled = pc.fill_null(wide, 0) if wide.null_count else wide
    data = filled.to_numpy(zero_copy_only=False).astype(dtype)
    return _fixed(array, number, data.view(np.uint8).reshape(len(array), -1))


def _number(kind: pa.DataType) -> tuple[int, str]:
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if pt.is_timestamp(kind) and kind.unit in ("us", "ns"):
        micros, nanos = (_MICROS_TZ, _NANOS_TZ) if kind.tz else (_MICROS, _NANOS)
        return (micros if kind.unit == "us" else nanos), "<i8"
    raise CorruptFileError(f"A shredded variant holds {kind}, which is not a variant type")


def _fixed(array: pa.Array, number: int, data: np.ndarray) -> pa.Array:
    """Return values of one width after a header."""
    width = data.shape[1] + 1
    encoded_rows = np.empty((len(array), width), np.uint8)
    encoded_rows[:, 0] = number << 2
    encoded_rows[:, 1:] = data
    return _of_width(array, encoded_rows)


def _of_width(array: pa.Array, encoded_rows: np.ndarray) -> pa.Array:
    width = encoded_rows.shape[1]
    encoded_values = pa.Array.from_buffers(
        pa.binary(width), len(array), [None, pa.py_buffer(np.ascontiguousarray(encoded_rows))]
    ).cast(pa.binary())
    return (
        pc.if_else(array.is_valid(), encoded_values, None) if array.null_count else encoded_values
    )


def _decimals(array: pa.Array) -> pa.Array:
    kind = array.type
    precision, scale = kind.precision, kind.scale
    if not 0 <= scale <= 38 or precision > 38:
        raise CorruptFileError(f"A shredded variant holds {kind}, which is not a variant type")
    number, width = next(
        candidate
        for candidate, most in (((_DECIMAL4, 4), 9), ((_DECIMAL8, 8), 18), ((_DECIMAL16, 16), 38))
        if precision <= most
    )
    widened = array.cast(pa.decimal128(precision, scale))
    data = np.empty((len(array), width + 1), np.uint8)
    data[:, 0] = scale
    data[:, 1:] = _bytes_of(widened, 16)[:, :width]
    return _fixed(array, number, data)


def _bytes_of(array: pa.Array, width: int) -> np.ndarray:
    """Return the values of a column of fixed width, one per row."""
    data = array.buffers()[1]
    if data is None:
        return np.zeros((len(array), width), np.uint8)
    octets = np.frombuffer(data, np.uint8)[
        array.offset * width : (array.offset + len(array)) * width
    ]
    return octets.reshape(len(array), width)


def _texts(array: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False)
    if not len(lengths) or lengths.max() <= _LONGEST_SHORT_TEXT:
        heads = (lengths.astype(np.uint8) << 2 | _SHORT_TEXT)[:, None]
        return _behind(array, heads)
    short = pa.array(lengths <= _LONGEST_SHORT_TEXT)
    heads = ((lengths & 0x3F).astype(np.uint8) << 2 | _SHORT_TEXT)[:, None]
    return pc.if_else(short, _behind(array, heads), _sized(array, _STRING))


def _sized(array: pa.Array, number: int) -> pa.Array:
    """Return bytes behind a header and their length in four bytes."""
    lengths = pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False)
    heads = np.empty((len(array), 5), np.uint8)
    heads[:, 0] = number << 2
    heads[:, 1:] = lengths.astype("<u4").view(np.uint8).reshape(-1, 4)
    return _behind(array, heads)


def _behind(array: pa.Array, heads: np.ndarray) -> pa.Array:
    width = heads.shape[1]
    buffer = pa.py_buffer(np.ascontiguousarray(heads))
    first = pa.Array.from_buffers(pa.binary(width), len(array), [None, buffer]).cast(pa.binary())
    return pc.binary_join_element_wise(first, array, pa.scalar(b""))


def object_of(ids: Sequence[int], values: Sequence[bytes]) -> bytes:
    """Return an object of values by places of keys in the metadata, in the order of the keys."""
    ends = list(accumulate(map(len, values), initial=0))
    offset_width, offset_code = _width(ends[-1])
    id_width, id_code = _width(max(ids, default=0))
    large = len(ids) > _SMALL
    head = large << 4 | (id_width - 1) << 2 | (offset_width - 1)
    count = struct.pack("<I", len(ids)) if large else bytes((len(ids),))
    packed = struct.pack(f"<{len(ids)}{id_code}", *ids)
    offsets = struct.pack(f"<{len(ends)}{offset_code}", *ends)
    return b"".join((bytes((head << 2 | _OBJECT,)), count, packed, offsets, *values))


def array_of(values: Sequence[bytes]) -> bytes:
    """Return an array of encoded values."""
    ends = list(accumulate(map(len, values), initial=0))
    width, code = _width(ends[-1])
    large = len(values) > _SMALL
    head = large << 2 | (width - 1)
    count = struct.pack("<I", len(values)) if large else bytes((len(values),))
    offsets = struct.pack(f"<{len(ends)}{code}", *ends)
    return b"".join((bytes((head << 2 | _ARRAY,)), count, offsets, *values))


def _width(most: int) -> tuple[int, str]:
    for width, limit, code in _WIDTHS:
        if most <= limit:
            return width, code
    raise CorruptFileError("A variant is longer than 4 GiB")
