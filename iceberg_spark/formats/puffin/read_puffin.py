"""Puffin files read: the footer, and single blobs by their place (puffin-spec)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.formats.limits import PUFFIN
from iceberg_spark.formats.puffin.blobs import LZ4, MAGIC, ZSTD, BlobMetadata, PuffinFile
from iceberg_spark.io.decoding import BROKEN, decoding, unlz4, unzstd
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import Limits, limits_of

_END = 4 + 4 + len(MAGIC)  # size of the payload, flags, magic
_COMPRESSED = 1


def read_short_footer(io: FileIO, path: str) -> PuffinFile | None:
    """Return the result of `read_footer` if one read is enough, None for a longer footer.

    The magic at the start of a long file is not checked.
    """
    with io.open(path) as file:
        size = file.seek(0, 2)
        tail = _tail(file, path, size, allow_second_read=False)
    return None if tail is None else _footer(tail, size, path, limits_of(io.properties))


def read_footer(io: FileIO, path: str) -> PuffinFile:
    """Return the footer of a Puffin file.

    Raises CorruptFileError naming the file if it is not Puffin, is truncated, or has blobs outside
    of itself; UnsupportedError for flags of a later specification; NoSuchFileError.
    """
    with io.open(path) as file:
        size = file.seek(0, 2)
        head = read_range(file, path, 0, min(size, len(MAGIC)))
        tail = _tail(file, path, size) or b""
    if head != MAGIC:
        raise _unmarked(path)
    return _footer(tail, size, path, limits_of(io.properties))


def _unmarked(path: str) -> CorruptFileError:
    return CorruptFileError(f"{path} is no Puffin file, or cut off: it lacks the marks of one")


def _footer(tail: bytes, size: int, path: str, limits: Limits) -> PuffinFile:
    if tail[-len(MAGIC) :] != MAGIC:
        raise _unmarked(path)
    length = _payload_size(tail)
    begin = len(tail) - _END - length
    if length < 0 or begin < len(MAGIC) or tail[begin - len(MAGIC) : begin] != MAGIC:
        raise CorruptFileError(f"{path} has no Puffin footer of {length} bytes")
    payload = _payload(tail[begin:-_END], tail[-8:-4], path, limits)
    footer_size = length + _END + len(MAGIC)
    with decoding(path):
        footer = _object(json.loads(payload.decode()))
        return PuffinFile(
            path,
            size,
            footer_size,
            tuple(_blob(_object(blob), size - footer_size) for blob in footer["blobs"]),
            _texts(footer.get("properties")),
        )


def _payload_size(tail: bytes) -> int:
    return int.from_bytes(tail[-_END:-8], "little", signed=True)


def read_blob(io: FileIO, path: str, blob: BlobMetadata) -> bytes:
    """Return the plain bytes of a blob. Raises CorruptFileError naming the file."""
    with io.open(path) as file:
        stored = read_range(file, path, blob.offset, blob.length)
    limits, where = limits_of(io.properties), f"{path}, blob at byte {blob.offset}"
    try:
        match blob.compression_codec:
            case None:
                return stored
            case "lz4":
                return unlz4(stored, limits, where)
            case "zstd":
                return unzstd(stored, limits, where)
            case other:
                raise UnsupportedError(
                    f"{where} is compressed by '{other}': Puffin has {LZ4} and {ZSTD}"
                )
    except BROKEN as cause:
        raise CorruptFileError(f"{where} can't be decompressed: {cause}") from cause


def read_range(file: BinaryIO, path: str, offset: int, length: int) -> bytes:
    """Return bytes of an open file. Raises CorruptFileError naming it for bytes past its end."""
    if offset < 0 or length < 0 or offset + length > _within(file, length):
        raise CorruptFileError(f"{path} has no {length} bytes from byte {offset} on")
    file.seek(offset)
    data = file.read(length)
    if len(data) != length:
        raise CorruptFileError(
            f"{path} ends {length - len(data)} bytes before the {length} from byte {offset} on"
        )
    return data


def _within(file: BinaryIO, length: int) -> int:
    """Return the end of a file where much is to be read: asking for it may be a request."""
    return 1 << 62 if length <= PUFFIN.unasked_bytes else file.seek(0, 2)


def _tail(file: BinaryIO, path: str, size: int, *, allow_second_read: bool = True) -> bytes | None:
    """Return the end of a file with its footer, by one read or two.

    Without `allow_second_read` None if it would take two.
    """
    start = max(0, size - PUFFIN.tail_bytes)
    tail = read_range(file, path, start, size - start)
    if len(tail) < _END:
        return tail
    needed = _payload_size(tail) + _END + len(MAGIC)
    if not len(tail) < needed <= size:
        return tail
    return read_range(file, path, size - needed, needed) if allow_second_read else None


def _payload(stored: bytes, flags: bytes, path: str, limits: Limits) -> bytes:
    if flags[0] & ~_COMPRESSED or any(flags[1:]):
        raise UnsupportedError(f"{path} has unknown Puffin flags {flags.hex()}")
    if not flags[0]:
        return stored
    try:
        return unlz4(stored, limits, f"The footer of {path}")
    except BROKEN as cause:
        raise CorruptFileError(f"The footer of {path} can't be decompressed: {cause}") from cause


def _blob(described: Mapping[str, Any], end: int) -> BlobMetadata:
    blob = BlobMetadata(
        _text(described["type"]),
        tuple(map(_int, described["fields"])),
        _int(described["snapshot-id"]),
        _int(described["sequence-number"]),
        _int(described["offset"]),
        _int(described["length"]),
        _optional_text(described.get("compression-codec")),
        _texts(described.get("properties")),
    )
    if blob.offset < len(MAGIC) or blob.length < 0 or blob.offset + blob.length > end:
        raise ValueError(f"a blob of {blob.length} bytes at byte {blob.offset} is not within it")
    return blob


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.80} is no JSON object")
    return value


def _texts(value: Any) -> Mapping[str, str]:
    return {key: _text(text) for key, text in _object(value if value is not None else {}).items()}


def _int(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r:.80} is no whole number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no text")
    return value


def _optional_text(value: Any) -> str | None:
    return None if value is None else _text(value)
