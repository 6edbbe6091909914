"""Compressed streams of ORC files as bytes. Source: ORC specification v1, "Compression"."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

import pyarrow as pa

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.formats.orc_tail import tail_number

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


def stored(data: bytes, codec: int, block_bytes: int) -> bytes:
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
