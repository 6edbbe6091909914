"""The parts of encoded variants: keys of metadata, fields of objects, items of arrays.

Bytes are untrusted: lengths are compared with the data. Source: Parquet's "Variant Encoding".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from iceberg_spark.errors import CorruptFileError

_OBJECT, _ARRAY = 2, 3
_VERSION = 1


def keys_of(metadata: bytes) -> list[str]:
    """Return the keys of a variant's metadata, in their order.

    Raises CorruptFileError for bytes that are not metadata of version 1.
    """
    if not metadata or metadata[0] & 0x0F != _VERSION:
        raise CorruptFileError("A variant has metadata of an unknown version")
    width = (metadata[0] >> 6) + 1
    count = _number(metadata, 1, width)
    offsets, start = _offsets(metadata, 1 + width, count, width)
    try:
        return [metadata[start + first : start + end].decode() for first, end in pairwise(offsets)]
    except UnicodeDecodeError as cause:
        raise CorruptFileError("A variant has a key that is not UTF-8") from cause


def length_of_metadata(data: bytes) -> int:
    """Return how many of the bytes are the metadata that they begin with.

    Raises CorruptFileError for bytes that begin with no metadata of version 1.
    """
    if not data or data[0] & 0x0F != _VERSION:
        raise CorruptFileError("A variant has metadata of an unknown version")
    width = (data[0] >> 6) + 1
    count = _number(data, 1, width)
    offsets, start = _offsets(data, 1 + width, count, width)
    return start + offsets[-1]


def key_at(keys: Sequence[str], index: int) -> str:
    """Return the key of a field. Raises CorruptFileError if the metadata lacks it."""
    if index >= len(keys):
        raise CorruptFileError("A variant's field has no key in its metadata")
    return keys[index]


def is_object(value: bytes) -> bool:
    """Return whether an encoded value is an object."""
    return bool(value) and value[0] & 3 == _OBJECT


def fields_of(value: bytes) -> list[tuple[int, bytes]]:
    """Return an object's fields in their order: the index of the key, and the encoded value.

    Raises CorruptFileError for bytes that are not an object.
    """
    if not is_object(value):
        raise CorruptFileError("A variant's bytes are not an object")
    head = value[0] >> 2
    offset_width, id_width, large = (head & 3) + 1, (head >> 2 & 3) + 1, head >> 4 & 1
    size = 4 if large else 1
    count = _number(value, 1, size)
    offset = 1 + size
    _check(value, offset + count * id_width)
    ids = [_number(value, offset + index * id_width, id_width) for index in range(count)]
    offsets, start = _offsets(value, offset + count * id_width, count, offset_width, ordered=False)
    # Values may be in another order than their keys: each ends where the next one begins.
    ends = dict(pairwise(sorted(offsets)))
    return [
        (key, value[start + first : start + ends.get(first, offsets[-1])])
        for key, first in zip(ids, offsets, strict=False)
    ]


def field_at(value: bytes, key_index: int) -> bytes | None:
    """Return the encoded field of an object by its key's index, None unless exactly one has it.

    Like `fields_of`, but for one field of an object of many. Raises CorruptFileError.
    """
    if not is_object(value):
        raise CorruptFileError("A variant's bytes are not an object")
    head = value[0] >> 2
    offset_width, id_width, size = (head & 3) + 1, (head >> 2 & 3) + 1, 4 if head >> 4 & 1 else 1
    count = _number(value, 1, size)
    first = 1 + size + count * id_width
    start = first + (count + 1) * offset_width
    _check(value, start)
    ids = _numbers(value, 1 + size, count, id_width)
    (positions,) = np.nonzero(ids == key_index)
    offsets = _numbers(value, first, count + 1, offset_width)
    if len(positions) != 1 or offsets.max() > len(value) - start:
        return None
    begin = offsets[positions[0]]
    later = offsets[offsets > begin]
    return value[start + begin : start + later.min()] if len(later) else b""


def _numbers(data: bytes, offset: int, count: int, width: int) -> Any:
    """Return numbers of `width` bytes each; the bytes exist."""
    parts = np.frombuffer(data, np.uint8, count * width, offset).reshape(count, width)
    return parts.astype(np.int64) @ (1 << 8 * np.arange(width))


def _offsets(
    data: bytes, offset: int, count: int, width: int, *, ordered: bool = True
) -> tuple[list[int], int]:
    """Return `count` + 1 offsets and the position to which they are relative."""
    start = offset + (count + 1) * width
    _check(data, start)
    offsets = [_number(data, offset + index * width, width) for index in range(count + 1)]
    if max(offsets) > len(data) - start or (ordered and offsets != sorted(offsets)):
        raise CorruptFileError("A variant's parts are outside of it")
    return offsets, start


def _number(data: bytes, offset: int, width: int) -> int:
    _check(data, offset + width)
    return int.from_bytes(data[offset : offset + width], "little")


def _check(data: bytes, end: int) -> None:
    if end > len(data):
        raise CorruptFileError("A variant ends before its last part")
