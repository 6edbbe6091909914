"""Convert decoders' errors about malformed bytes to one error that names the file."""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cramjam
import pyarrow as pa

from iceberg_spark.errors import CorruptFileError, IcebergError
from iceberg_spark.io.limits import GROWTH, Limits, too_many_bytes

MALFORMED = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RecursionError,
    TypeError, ValueError, struct.error, pa.ArrowException,
)  # fmt: skip
"""Malformed bytes lead a decoder anywhere: to a missing name, a number out of range, invalid
text, a length that exceeds memory."""


@contextmanager
def decoding(location: str) -> Iterator[None]:
    """Convert a decoder's errors to CorruptFileError naming the file."""
    try:
        yield
    except IcebergError:
        raise
    except MALFORMED as broken:
        raise CorruptFileError(
            f"{location} is truncated or malformed: {type(broken).__name__}: {broken}"
        ) from broken


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BROKEN = (zlib.error, cramjam.DecompressionError, zstd.ZstdError, EOFError, ValueError)
"""Errors of the libraries for bytes that don't decompress."""
GZIP = 16 + zlib.MAX_WBITS
RAW_DEFLATE = -zlib.MAX_WBITS
_LZ4_TIMES = 256
"""A byte of LZ4 becomes 255 at the most."""
_LZ4_SIZED, _LZ4_SIZE_FLAG = 14, 8  # magic, flags, block size, then the content's size in 8 bytes


def inflate(data: bytes | memoryview, form: int, limits: Limits, where: str) -> bytes:
    """Return decompressed gzip or deflate data; gzip may have several members.

    Raises an error of BROKEN for malformed or truncated data, CorruptFileError naming `where`
    for more than the limits allow.
    """
    return _joined(lambda: zlib.decompressobj(form), data, limits, where, many=form == GZIP)


def unzstd(data: bytes | memoryview, limits: Limits, where: str) -> bytes:
    """Return zstd data decompressed; it may have several frames. Raises as `inflate` does."""
    return _joined(zstd.ZstdDecompressor, data, limits, where, many=True)


def decompress_snappy(data: bytes | memoryview, limits: Limits, where: str) -> memoryview:
    """Return raw snappy data decompressed, which starts with its length. Raises as `inflate`."""
    allowed = limits.bytes_for(len(data))
    if cramjam.snappy.decompress_raw_len(data) > allowed:
        raise too_many_bytes(where, allowed)
    return memoryview(cramjam.snappy.decompress_raw(data))


def unlz4(data: bytes | memoryview, limits: Limits, where: str) -> bytes:
    """Return an LZ4 frame decompressed. Raises as `inflate` does."""
    allowed = limits.bytes_for(len(data))
    room = _content_size(data)
    if room is None:
        room = min(allowed, len(data) * _LZ4_TIMES)
    if room > allowed:
        raise too_many_bytes(where, allowed)
    # One byte above the limit, to distinguish data that exactly fills it from more.
    plain = bytearray(room + 1)
    try:
        length = int(cramjam.lz4.decompress_into(data, plain))
    except cramjam.DecompressionError as cause:
        if "whole buffer" in str(cause):
            raise too_many_bytes(where, room) from cause
        raise
    return bytes(memoryview(plain)[:length])


def _content_size(data: bytes | memoryview) -> int | None:
    """Return the content size in the header of an LZ4 frame."""
    has_size = len(data) >= _LZ4_SIZED and data[4] & _LZ4_SIZE_FLAG
    return int.from_bytes(data[6:_LZ4_SIZED], "little") if has_size else None


def _joined(
    start: Callable[[], Any], data: bytes | memoryview, limits: Limits, where: str, *, many: bool
) -> bytes:
    left = allowed = limits.bytes_for(len(data))
    parts: list[bytes] = []
    rest: bytes | memoryview = data
    while len(parts) < GROWTH.parts:
        stream = start()
        parts.append(stream.decompress(rest, left + 1))
        left -= len(parts[-1])
        if left < 0:
            raise too_many_bytes(where, allowed)
        if not stream.eof:
            raise EOFError("it ends before its end mark")
        rest = stream.unused_data
        if not (many and bytes(rest).strip(b"\0")):
            return parts[0] if len(parts) == 1 else b"".join(parts)
    raise ValueError(f"it has more than {GROWTH.parts:,} parts")
