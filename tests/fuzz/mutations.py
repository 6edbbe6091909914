"""Seeded changes of a file: of its bytes, and of what is inside where it is compressed."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from dataclasses import replace

from iceberg_spark.errors import IcebergError
from iceberg_spark.formats.avro.container import (
    AvroContainer,
    decompress_blocks,
    header_bytes,
    parse_container,
    zigzag,
)

_BYTES = (0, 1, 0x7F, 0x80, 0xFF, 0xFE, 0x40, ord("["), ord("{"), ord('"'), ord("9"))
_PIECES = (
    b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\x00" * 8, b"\xff" * 9 + b"\x01", b"[" * 2_000,
    b"-1", b"99999999999", b"1e400", b"null", b"{}", b"[]", b'""', b"\\ud800", b"../", b"\\u0000",
)  # fmt: skip


def changed(data: bytes, chance: random.Random) -> bytes:
    """Return the data with one to eight changes, sometimes beneath its compression."""
    if data[:2] == b"\x1f\x8b" and chance.random() < 0.8:
        return gzip.compress(_bytes_changed(gzip.decompress(data), chance), 1)
    if data[:4] == b"Obj\x01" and chance.random() < 0.6:
        return _avro_changed(data, chance)
    return _bytes_changed(data, chance)


def _bytes_changed(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    # Footers and headers say what the rest means: half of all changes go there.
    near = chance.choice((None, 0, len(out)))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        if not out:
            return b""
        at = chance.randrange(len(out)) if near is None else _near(near, len(out), chance)
        _CHANGES[chance.randrange(len(_CHANGES))](out, at, chance)
    return bytes(out)


def _near(end: int, size: int, chance: random.Random) -> int:
    distance = min(int(chance.expovariate(1 / 300)), size - 1)
    return distance if end == 0 else size - 1 - distance


def _flip(out: bytearray, at: int, chance: random.Random) -> None:
    out[at] ^= 1 << chance.randrange(8)


def _set(out: bytearray, at: int, chance: random.Random) -> None:
    out[at] = chance.choice(_BYTES)


def _digit(out: bytearray, at: int, chance: random.Random) -> None:
    """Change a digit of a text near by, which keeps JSON whole."""
    for place in range(at, min(at + 80, len(out))):
        if 0x30 <= out[place] <= 0x39:
            out[place] = chance.choice(b"0123456789")
            return


def _cut(out: bytearray, at: int, chance: random.Random) -> None:
    del out[at : at + chance.choice((1, 2, 4, 16, 200, 10**6))]


def _insert(out: bytearray, at: int, chance: random.Random) -> None:
    out[at:at] = chance.choice(_PIECES)


def _overwrite(out: bytearray, at: int, chance: random.Random) -> None:
    piece = chance.choice(_PIECES)
    out[at : at + len(piece)] = piece


def _repeat(out: bytearray, at: int, chance: random.Random) -> None:
    piece = bytes(out[at : at + chance.choice((1, 4, 30, 300))])
    to = chance.randrange(len(out))
    out[to:to] = piece * chance.choice((1, 1, 2, 50))


_CHANGES: tuple[Callable[[bytearray, int, random.Random], None], ...] = (
    _flip, _flip, _set, _digit, _digit, _cut, _insert, _overwrite, _repeat,
)  # fmt: skip


def _avro_changed(data: bytes, chance: random.Random) -> bytes:
    """Change the schema, the records or the count of an Avro file and keep the rest whole."""
    try:
        container = parse_container(data, "")
        blocks = [(rows, bytes(block)) for rows, block in decompress_blocks(container)]
    except IcebergError:
        return _bytes_changed(data, chance)
    metadata = dict(container.metadata)
    if chance.random() < 0.5:
        key = "avro.schema" if chance.random() < 0.8 else chance.choice([*metadata])
        text = _bytes_changed(metadata[key].encode(), chance)
        metadata[key] = text.decode("utf-8", "replace")
    elif blocks:
        at = chance.randrange(len(blocks))
        rows, block = blocks[at]
        if chance.random() < 0.3:
            blocks[at] = chance.choice((0, 1, rows + 1, rows * 1000, 2**31, 2**62)), block
        else:
            blocks[at] = rows, _bytes_changed(block, chance)
    return _avro_file(replace(container, metadata=metadata), blocks)


def _avro_file(container: AvroContainer, blocks: list[tuple[int, bytes]]) -> bytes:
    metadata = dict(container.metadata) | {"avro.codec": "null"}
    sync = b"sixteen bytes ok"
    parts = [header_bytes(metadata, sync)]
    for rows, block in blocks:
        parts += [zigzag(rows), zigzag(len(block)), block, sync]
    return b"".join(parts)
