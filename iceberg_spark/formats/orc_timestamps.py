"""ORC timestamps of all years, which Arrow reads as nanoseconds and so from 1677 to 2262 only.

A timestamp column has two streams: seconds since 2015, encoded as a column of longs is, and
nanoseconds. So Arrow reads the seconds, from the same file with a changed footer that calls these
columns longs. The nanoseconds are decoded here. Source: ORC specification v1, "Timestamp Columns".
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import map_list, map_struct, struct_children, struct_of
from iceberg_spark.arrow.schema import child_fields
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.formats.orc_tail import tail_fields, tail_number, tail_numbers, tail_parts

_EPOCH = 1_420_070_400
"""1 January 2015 in UTC, as seconds since 1970."""
_POSTSCRIPT, _FOOTER, _TAIL_LENGTH, _POSTSCRIPT_LENGTH = 1, 2, 3, 4
_FOOTER_LENGTH, _COMPRESSION, _BLOCK_BYTES = 1, 2, 3
_STRIPES, _TYPES, _STATISTICS = 3, 4, 7
_OFFSET, _INDEX_LENGTH, _DATA_LENGTH, _STRIPE_FOOTER_LENGTH = 1, 2, 3, 4
_KIND, _TIMESTAMP, _TIMESTAMP_INSTANT, _LONG = 1, 9, 18, 4
_STREAMS, _ENCODINGS, _WRITER_ZONE = 1, 2, 3
_STREAM_KIND, _STREAM_COLUMN, _STREAM_LENGTH, _SECONDARY = 1, 2, 3, 5
_UTC = frozenset({"", "UTC", "GMT", "Etc/UTC"})


@dataclass(frozen=True, slots=True)
class TimestampReader:
    """Reads stripes of a file whose timestamps are outside Arrow's range, as microseconds."""

    source: pa.NativeFile
    schema: pa.Schema
    longs: po.ORCFile
    stripes: tuple[dict[int, int], ...]
    codec: int

    def read(self, stripe: int, named: list[str] | None, columns: Sequence[str]) -> pa.RecordBatch:
        """Return columns of a stripe, with timestamps in microseconds.

        `named` are the columns that ORC reads for them, None for all.

        Raises UnsupportedError for a stripe written in another time zone than UTC, ValueError for
        malformed streams and for nanoseconds that are not whole microseconds.
        """
        rows = self.longs.reader.read_stripe(stripe, named)
        streams = _streams(self.source, self.stripes[stripe], self.codec)
        numbers = _column_numbers(self.schema)
        arrays = [
            _restored(rows.column(name), self.schema.field(name).type, numbers[name], streams)
            for name in columns
        ]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def timestamp_reader(source: pa.NativeFile, file: po.ORCFile) -> TimestampReader:
    """Return a second reader of an open file. Raises ValueError for a malformed tail."""
    tail = file.reader.serialized_file_tail()
    parts, numbers = tail_parts(tail), tail_numbers(tail)
    postscript, footer = parts[_POSTSCRIPT], parts[_FOOTER]
    postscript_numbers = tail_numbers(postscript)
    codec = postscript_numbers.get(_COMPRESSION, 0)
    end = source.size() - numbers[_POSTSCRIPT_LENGTH] - 1 - postscript_numbers[_FOOTER_LENGTH]
    changed = uncompressed_stream(
        _with_longs(footer), codec, postscript_numbers.get(_BLOCK_BYTES, 1 << 18)
    )
    new_postscript = _with_number(postscript, _FOOTER_LENGTH, len(changed))
    after = changed + new_postscript + bytes((len(new_postscript),))
    longs = po.ORCFile(pa.PythonFile(_Spliced(source, end, after), mode="r"))
    stripes = tuple(
        dict(tail_numbers(stripe))
        for number, stripe in tail_fields(footer)
        if number == _STRIPES and not isinstance(stripe, int)
    )
    return TimestampReader(source, file.schema, longs, stripes, codec)


class _Spliced(io.RawIOBase):
    """A file up to a position, and other bytes from there on."""

    def __init__(self, source: pa.NativeFile, end: int, after: bytes) -> None:
        super().__init__()
        self._source, self._end, self._after = source, end, after
        self._position = 0

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def seekable(self) -> bool:
        """Return True: it has a position."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, and return it."""
        starts = (0, self._position, self._end + len(self._after))
        self._position = starts[whence] + offset
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return bytes from the position on, all that follow without a size."""
        end = self._end + len(self._after)
        stop = end if size < 0 else min(end, self._position + size)
        start, self._position = self._position, stop
        head = b""
        if start < self._end:
            head = self._source.read_at(min(stop, self._end) - start, start)
        return head + self._after[max(0, start - self._end) : max(0, stop - self._end)]


def _with_longs(footer: bytes) -> bytes:
    """Return a footer whose timestamps are longs, without statistics, which are of timestamps."""
    parts = []
    for number, value in tail_fields(footer):
        if number == _STATISTICS:
            continue
        if number == _TYPES and not isinstance(value, int):
            kind = tail_numbers(value).get(_KIND)
            is_time = kind in (_TIMESTAMP, _TIMESTAMP_INSTANT)
            value = _with_number(value, _KIND, _LONG) if is_time else value  # noqa: PLW2901
        parts.append(_field(number, value))
    return b"".join(parts)


def _with_number(message: bytes, number: int, value: int) -> bytes:
    return b"".join(
        _field(field_number, value if field_number == number else old)
        for field_number, old in tail_fields(message)
    )


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


@dataclass(frozen=True, slots=True)
class _Streams:
    """The streams of nanoseconds of a stripe by column, and how their integers are encoded."""

    nanos: dict[int, bytes]
    versions: tuple[int, ...]
    zone: str


def _streams(source: pa.NativeFile, stripe: dict[int, int], codec: int) -> _Streams:
    position = stripe[_OFFSET]
    footer_start = position + stripe.get(_INDEX_LENGTH, 0) + stripe.get(_DATA_LENGTH, 0)
    footer = decompress(source.read_at(stripe[_STRIPE_FOOTER_LENGTH], footer_start), codec)
    nanos: dict[int, bytes] = {}
    versions: list[int] = []
    zone = ""
    for number, value in tail_fields(footer):
        if isinstance(value, int):
            continue
        if number == _STREAMS:
            stream = tail_numbers(value)
            length = stream.get(_STREAM_LENGTH, 0)
            if stream.get(_STREAM_KIND, 0) == _SECONDARY:
                column = stream.get(_STREAM_COLUMN, 0)
                nanos[column] = decompress(source.read_at(length, position), codec)
            position += length
        elif number == _ENCODINGS:
            versions.append(2 if tail_numbers(value).get(_KIND, 0) >= 2 else 1)
        elif number == _WRITER_ZONE:
            zone = value.decode()
    return _Streams(nanos, tuple(versions), zone)


def _column_numbers(schema: pa.Schema) -> dict[str, int]:
    """Return the numbers of the top-level columns: a parent precedes its children."""
    numbers, number = {}, 1
    for field in schema:
        numbers[field.name] = number
        number += _width(field.type)
    return numbers


def _width(kind: pa.DataType) -> int:
    if pt.is_union(kind):
        raise UnsupportedError("ORC files with unions and timestamps outside 1677 to 2262")
    return 1 + sum(_width(child.type) for child in child_fields(kind))


def _child_numbers(kind: pa.DataType, number: int) -> Iterator[int]:
    number += 1
    for child in child_fields(kind):
        yield number
        number += _width(child.type)


def _restored(array: pa.Array, kind: pa.DataType, number: int, streams: _Streams) -> pa.Array:
    """Return an array with timestamps instead of seconds since 2015."""
    if pt.is_timestamp(kind):
        return _timestamps(array, kind, number, streams)
    numbers = list(_child_numbers(kind, number))
    if pt.is_struct(kind):
        children = [
            _restored(child, field.type, child_number, streams)
            for child, field, child_number in zip(
                struct_children(array), kind, numbers, strict=True
            )
        ]
        fields = [f.with_type(c.type) for f, c in zip(kind, children, strict=True)]
        return map_struct(array, children, pa.struct(fields))
    if pt.is_map(kind):
        return _restored_map(array, kind, numbers, streams)
    if pt.is_list(kind):
        target = pa.list_(kind.value_field.with_type(_micros(kind.value_type)))
        (element,) = numbers
        return map_list(array, lambda a: _restored(a, kind.value_type, element, streams), target)
    return array


def _restored_map(
    array: pa.Array, kind: pa.MapType, numbers: Sequence[int], streams: _Streams
) -> pa.Array:
    key, item = _micros(kind.key_type), _micros(kind.item_type)
    target = pa.map_(kind.key_field.with_type(key), kind.item_field.with_type(item))
    entry = pa.struct([target.key_field, target.item_field])

    def entries(inner: pa.Array) -> pa.Array:
        kinds = (kind.key_type, kind.item_type)
        parts = zip(struct_children(inner), kinds, numbers, strict=True)
        return struct_of(len(inner), [_restored(*part, streams) for part in parts], entry)

    return map_list(array, entries, target)


def _micros(kind: pa.DataType) -> pa.DataType:
    """Return a type with timestamps in microseconds."""
    if pt.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pt.is_struct(kind):
        return pa.struct([field.with_type(_micros(field.type)) for field in kind])
    if pt.is_map(kind):
        parts = (kind.key_field, kind.item_field)
        return pa.map_(*(field.with_type(_micros(field.type)) for field in parts))
    if pt.is_list(kind):
        return pa.list_(kind.value_field.with_type(_micros(kind.value_type)))
    return kind


def _timestamps(
    array: pa.Array, kind: pa.TimestampType, number: int, streams: _Streams
) -> pa.Array:
    if kind.tz is None and streams.zone not in _UTC:
        raise UnsupportedError(f"ORC timestamps written in time zone {streams.zone}")
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    seconds = array.drop_null().to_numpy() + _EPOCH
    encoded = unsigned_integers(
        streams.nanos.get(number, b""), len(seconds), version=streams.versions[number]
    )
    # The last three bits are the number of zeros cut off, less one; 0 means none.
    zeros = encoded & 7
    nanos = (encoded >> 3) * np.where(zeros, 10 ** (zeros + 1), 1)
    # Writers round seconds before 1970 up, to zero, where a millisecond or more follows.
    seconds = seconds - ((seconds < 0) & (nanos > 999_999))
    if (nanos % 1000).any():
        raise ValueError("nanoseconds that are not whole microseconds")
    micros = np.zeros(len(array), np.int64)
    micros[valid] = seconds * 1_000_000 + nanos // 1000
    return pa.array(micros, pa.int64(), mask=~valid).cast(pa.timestamp("us", kind.tz))


_HEADER = 3
_NONE, _ZLIB, _SNAPPY, _LZ4, _ZSTD = 0, 1, 2, 4, 5


def decompress(data: bytes, codec: int) -> bytes:
    """Return the bytes of a stream. Raises ValueError or zlib.error if it is malformed.

    Raises UnsupportedError for LZO and Brotli, which Arrow's ORC reader lacks as well.
    """
    if codec == _NONE:
        return data
    if codec not in _DECODERS:
        raise UnsupportedError(f"ORC compression {codec} can't be read")
    parts, position = [], 0
    while position + _HEADER <= len(data):
        header = int.from_bytes(data[position : position + _HEADER], "little")
        position += _HEADER
        block = data[position : position + (header >> 1)]
        parts.append(block if header & 1 else _DECODERS[codec](block))
        position += header >> 1
    return b"".join(parts)


def uncompressed_stream(data: bytes, codec: int, block_bytes: int) -> bytes:
    """Return bytes as a stream of blocks that are marked as not compressed."""
    if codec == _NONE:
        return data
    blocks = [data[start : start + block_bytes] for start in range(0, len(data), block_bytes)]
    return b"".join((len(b) << 1 | 1).to_bytes(_HEADER, "little") + b for b in blocks)


def _inflate(block: bytes) -> bytes:
    return zlib.decompress(block, -zlib.MAX_WBITS)


def _snappy(block: bytes) -> bytes:
    size, _ = tail_number(block, 0)
    return _decoded(block, "snappy", size)


def _lz4(block: bytes) -> bytes:
    return _decoded(block, "lz4_raw", _lz4_size(block))


def _lz4_size(block: bytes) -> int:
    """Return the size of a decompressed LZ4 block, which stores it nowhere: add up its parts."""
    size = position = 0
    while position < len(block):
        token = block[position]
        literals, position = _lz4_length(block, position + 1, token >> 4)
        size += literals
        position += literals
        if position >= len(block):
            break
        matched, position = _lz4_length(block, position + 2, token & 15)
        size += matched + 4
    return size


def _lz4_length(block: bytes, position: int, nibble: int) -> tuple[int, int]:
    if nibble < 15:
        return nibble, position
    length = 15
    while position < len(block):
        byte = block[position]
        position += 1
        length += byte
        if byte < 255:
            break
    return length, position


def _zstd(block: bytes) -> bytes:
    data: bytes = pa.CompressedInputStream(pa.BufferReader(block), "zstd").read()
    return data


def _decoded(block: bytes, codec: str, size: int) -> bytes:
    data: bytes = pa.decompress(block, decompressed_size=size, codec=codec, asbytes=True)
    return data


_DECODERS: Mapping[int, Callable[[bytes], bytes]] = {
    _ZLIB: _inflate,
    _SNAPPY: _snappy,
    _LZ4: _lz4,
    _ZSTD: _zstd,
}


# Unsigned integers of ORC streams: run length encodings version 1 and 2.
#
# Source: ORC specification v1, "Run Length Encoding".

Longs: TypeAlias = npt.NDArray[np.int64]

_WIDTHS = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
"""Bits of a value by the code of a width."""
_SHORT_REPEAT, _DIRECT, _PATCHED_BASE = 0, 1, 2


def unsigned_integers(data: bytes, count: int, *, version: int) -> Longs:
    """Return the first integers of a decompressed stream. Raises ValueError if it is malformed."""
    decode = _run_v1 if version == 1 else _run_v2
    runs: list[Longs] = []
    position = decoded = 0
    try:
        while decoded < count:
            run, position = decode(data, position)
            runs.append(run)
            decoded += len(run)
    except IndexError:
        raise ValueError("an ORC stream ends inside a run of integers") from None
    return np.concatenate(runs)[:count] if runs else np.empty(0, np.int64)


def _run_v1(data: bytes, position: int) -> tuple[Longs, int]:
    control = data[position]
    if control < 128:  # values that differ by a constant
        delta = (data[position + 1] ^ 128) - 128
        base, position = _varint_at(data, position + 2)
        return base + delta * np.arange(control + 3, dtype=np.int64), position
    values = []
    position += 1
    for _ in range(256 - control):
        value, position = _varint_at(data, position)
        values.append(value)
    return np.array(values, np.int64), position


def _run_v2(data: bytes, position: int) -> tuple[Longs, int]:
    first = data[position]
    kind = first >> 6
    if kind == _SHORT_REPEAT:
        end = position + 2 + (first >> 3 & 7)
        value = int.from_bytes(_part(data, position + 1, end), "big")
        return np.full((first & 7) + 3, value, np.int64), end
    length = ((first & 1) << 8 | data[position + 1]) + 1
    width, position = first >> 1 & 31, position + 2
    if kind == _DIRECT:
        return _packed(data, position, length, _WIDTHS[width])
    if kind == _PATCHED_BASE:
        return _patched(data, position, length, _WIDTHS[width])
    return _deltas(data, position, length, _WIDTHS[width] if width else 0)


def _patched(data: bytes, position: int, length: int, width: int) -> tuple[Longs, int]:
    """Decode values above a base of which a few have more bits than `width`: these are patched."""
    third, fourth = data[position], data[position + 1]
    base_bytes, patch_width = (third >> 5) + 1, _WIDTHS[third & 31]
    gap_width, patch_count = (fourth >> 5) + 1, fourth & 31
    position += 2
    base = int.from_bytes(_part(data, position, position + base_bytes), "big")
    sign = 1 << (8 * base_bytes - 1)
    base = sign - base if base & sign else base
    values, position = _packed(data, position + base_bytes, length, width)
    entry_width = next(bits for bits in _WIDTHS if bits >= gap_width + patch_width)
    patches, position = _packed(data, position, patch_count, entry_width)
    row = 0
    for patch in patches.tolist():
        row += patch >> patch_width
        values[row] |= (patch & ((1 << patch_width) - 1)) << width
    return values + base, position


def _deltas(data: bytes, position: int, length: int, width: int) -> tuple[Longs, int]:
    """Decode a base, a signed difference, and the absolute values of those that follow."""
    base, position = _varint_at(data, position)
    first, position = tail_number(data, position)
    first = (first >> 1) ^ -(first & 1)
    if not width:
        return base + first * np.arange(length, dtype=np.int64), position
    others, position = _packed(data, position, length - 2, width)
    steps = np.concatenate(([base, first], others if first >= 0 else -others))
    return np.cumsum(steps.astype(np.int64)), position


def _packed(data: bytes, position: int, count: int, width: int) -> tuple[Longs, int]:
    """Decode big-endian numbers of `width` bits each, which end at a whole byte."""
    end = position + (count * width + 7) // 8
    bits = np.unpackbits(np.frombuffer(_part(data, position, end), np.uint8), count=count * width)
    weights = np.left_shift(np.int64(1), np.arange(width - 1, -1, -1, dtype=np.int64))
    return bits.reshape(count, width).astype(np.int64) @ weights, end


def _varint_at(data: bytes, position: int) -> tuple[int, int]:
    """Return a number as 64 bits with a sign: Arrow writes negative nanoseconds before 1970."""
    value, position = tail_number(data, position)
    return ((value + 2**63) % 2**64) - 2**63, position


def _part(data: bytes, start: int, end: int) -> bytes:
    if end > len(data):
        raise IndexError
    return data[start:end]
