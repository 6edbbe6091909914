"""Avro object container files taken apart: header, schema, blocks (Avro specification 1.12).

The blocks are checked and decompressed here, independent of the reader of the records.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.io.decoding import BROKEN, RAW_DEFLATE, decompress_snappy, inflate, unzstd
from iceberg_spark.io.limits import DEFAULT_LIMITS, Limits

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
_VARINT_BYTES = 10
SCHEMA_KEY = "avro.schema"
CODEC_KEY = "avro.codec"

Blocks: TypeAlias = Sequence[bytes | memoryview]
"""Decompressed blocks, one after the other."""


@dataclass(frozen=True, slots=True)
class AvroBlock:
    """Where a block's (compressed) records are in the file, and how many there are."""

    rows: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AvroHeader:
    """The header of an Avro file; its blocks start at byte `end`, each ends with `sync`."""

    schema: Any  # an Avro schema in JSON: an object, a list or a name
    metadata: Mapping[str, str]
    sync: bytes
    end: int

    @property
    def codec(self) -> str:
        """The codec of its blocks, "null" for none."""
        return self.metadata.get(CODEC_KEY, "null")


@dataclass(frozen=True, slots=True)
class AvroContainer:
    """An Avro file taken apart; `schema` is the writer's schema as JSON, `metadata` is text."""

    location: str
    data: bytes
    schema: Any  # an Avro schema in JSON: an object, a list or a name
    metadata: Mapping[str, str]
    codec: str
    blocks: tuple[AvroBlock, ...]
    limits: Limits = DEFAULT_LIMITS

    @property
    def row_count(self) -> int:
        """The number of records in the file."""
        return sum(block.rows for block in self.blocks)


def parse_container(data: bytes, location: str, limits: Limits = DEFAULT_LIMITS) -> AvroContainer:
    """Take an Avro file apart without decompressing it.

    Raises CorruptFileError, naming `location`, for a file that is truncated or not Avro.
    """
    header = parse_header(data, location)
    blocks = tuple(_blocks(data, header.end, header.sync, location))
    return AvroContainer(
        location, data, header.schema, header.metadata, header.codec, blocks, limits
    )


def parse_header(data: bytes, location: str) -> AvroHeader:
    """Parse the header in a file's first bytes.

    Raises CorruptFileError, naming `location`, for anything but Avro, or a truncated header.
    """
    if data[:4] != MAGIC:
        raise CorruptFileError(f"{location} is not an Avro file: its first bytes are {data[:4]!r}")
    try:
        pairs, position = _read_header(data)
    except (IndexError, ValueError) as broken:
        raise CorruptFileError(f"{location} has a broken Avro header: {broken}") from broken
    metadata = {key: value.decode("utf-8", "replace") for key, value in pairs.items()}
    try:
        schema = _parsed_schema(metadata[SCHEMA_KEY])
    except (KeyError, ValueError, RecursionError) as broken:
        raise CorruptFileError(f"{location} has no readable Avro schema: {broken}") from broken
    end = position + SYNC_BYTES
    return AvroHeader(schema, metadata, data[position:end], end)


@lru_cache(maxsize=64)
def _parsed_schema(text: str) -> Any:
    """Return a schema, which must not be changed: it is cached, as a table's files share few."""
    return json.loads(text)


def decompress_blocks(container: AvroContainer) -> Iterator[tuple[int, bytes | memoryview]]:
    """Yield the record count and the decompressed bytes of each block.

    Raises UnsupportedError for a codec that the library can't read, CorruptFileError for a
    block that doesn't decompress.
    """
    check_codec(container.codec, container.location)
    decompress = _DECOMPRESS[container.codec]
    view = memoryview(container.data)
    for block in container.blocks:
        try:
            where = f"{container.location}: the block at byte {block.start}"
            yield block.rows, decompress(view[block.start : block.end], container.limits, where)
        except BROKEN as broken:
            raise CorruptFileError(
                f"{container.location} has a block that does not decompress "
                f"({container.codec}, bytes {block.start} to {block.end}): {broken}"
            ) from broken


def check_codec(codec: str, location: str) -> None:
    """Raise UnsupportedError, naming the file, for a codec that the library can't read."""
    if codec not in _DECOMPRESS:
        raise UnsupportedError(
            f"{location} is compressed by the Avro codec '{codec}'; "
            f"this version reads {', '.join(_DECOMPRESS)}"
        )


def uncompressed_file(schema: Any, rows: int, blocks: Blocks) -> bytes:
    """Return an Avro file with that schema, the blocks joined to one that is not compressed."""
    sync = b"\0" * SYNC_BYTES
    header = header_bytes({SCHEMA_KEY: json.dumps(schema), CODEC_KEY: "null"}, sync)
    size = sum(map(len, blocks))
    return b"".join((header, zigzag(rows), zigzag(size), *blocks, sync))


def header_bytes(metadata: Mapping[str, str], sync: bytes) -> bytes:
    """Return the header of an Avro file: magic, key-value metadata, sync marker."""
    parts = [MAGIC, zigzag(len(metadata))]
    for key, value in metadata.items():
        for text in (key.encode(), value.encode()):
            parts += [zigzag(len(text)), text]
    return b"".join([*parts, b"\0", sync])


def zigzag(number: int) -> bytes:
    """Return a number as Avro writes int and long: zigzag, seven bits a byte."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _read_header(data: bytes) -> tuple[dict[str, bytes], int]:
    pairs: dict[str, bytes] = {}
    count, position = read_long(data, len(MAGIC))
    while count:
        if count < 0:  # a negative count is followed by the size of the block in bytes
            _, position = read_long(data, position)
        for _ in range(abs(count)):
            key, position = _read_bytes(data, position)
            pairs[key.decode()], position = _read_bytes(data, position)
        count, position = read_long(data, position)
    if position + SYNC_BYTES > len(data):
        raise ValueError("the file ends before the sync marker")
    return pairs, position


def _blocks(data: bytes, position: int, sync: bytes, location: str) -> Iterator[AvroBlock]:
    while position < len(data):
        begin = position
        try:
            rows, position = read_long(data, position)
            size, position = read_long(data, position)
        except (IndexError, ValueError) as broken:
            raise CorruptFileError(f"{location} is cut off at byte {begin}") from broken
        end = position + size
        if rows < 0 or size < 0 or end + SYNC_BYTES > len(data):
            raise CorruptFileError(
                f"{location} is cut off or damaged: the block at byte {begin} needs "
                f"{size} bytes, the file has {len(data)}"
            )
        if data[end : end + SYNC_BYTES] != sync:
            raise CorruptFileError(f"{location} is damaged: no sync marker at byte {end}")
        if rows:
            yield AvroBlock(rows, position, end)
        position = end + SYNC_BYTES


def read_long(data: bytes, position: int) -> tuple[int, int]:
    """Return an int or long and where it ends. Raises IndexError or ValueError."""
    number = 0
    for index in range(_VARINT_BYTES):
        byte = data[position + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position + index + 1
    raise ValueError(f"a number is longer than {_VARINT_BYTES} bytes")


def _read_bytes(data: bytes, position: int) -> tuple[bytes, int]:
    length, position = read_long(data, position)
    if length < 0 or position + length > len(data):
        raise ValueError(f"a text of {length} bytes at byte {position} does not fit")
    return data[position : position + length], position + length


def _plain(block: memoryview, _limits: Limits, _where: str) -> memoryview:
    return block


def _deflate(block: memoryview, limits: Limits, where: str) -> bytes:
    return inflate(block, RAW_DEFLATE, limits, where)


def _snappy(block: memoryview, limits: Limits, where: str) -> memoryview:
    """Undo Avro's snappy: raw snappy followed by the big-endian CRC32 of the plain bytes."""
    plain = decompress_snappy(block[:-4], limits, where)
    if zlib.crc32(plain) != int.from_bytes(block[-4:], "big"):
        raise ValueError("wrong checksum")
    return plain


_DECOMPRESS: dict[str, Callable[[memoryview, Limits, str], bytes | memoryview]] = {
    "null": _plain,
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": unzstd,
}
