"""Values as the bytes that Iceberg has for single values, a whole column at a time.

Source: specification, "Appendix D: Single-value serialization", binary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.arrow.distinct import distinct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Array: TypeAlias = Any  # pyarrow ships no types

_DECIMAL_BYTES = 16


def value_bytes(values: Array) -> Iterator[Bytes]:
    """Yield the bytes of all values but nulls and empty ones, a matrix for each length.

    Raises TypeError for nested values.
    """
    present = values.drop_null()
    kind = present.type
    if isinstance(kind, pa.ExtensionType):
        present, kind = present.storage, kind.storage_type
    if not len(present):
        return
    if pa.types.is_boolean(kind):
        yield _fixed(present.cast(pa.uint8()), 1)
    elif pa.types.is_decimal(kind):
        yield from _decimals(present.cast(pa.decimal128(kind.precision, kind.scale)))
    elif pa.types.is_fixed_size_binary(kind):
        yield _fixed(present, kind.byte_width)
    elif pa.types.is_binary(kind) or pa.types.is_string(kind):
        yield from _texts(present)
    elif pa.types.is_nested(kind) or kind.bit_width % 8:
        raise TypeError(f"{kind} has no single-value bytes")
    else:
        yield _fixed(present, kind.bit_width // 8)


def _fixed(values: Array, width: int) -> Bytes:
    """Return values of one width: the machine's order of bytes is the format's."""
    every = np.frombuffer(values.buffers()[1], np.uint8)
    start = values.offset * width
    return every[start : start + len(values) * width].reshape(-1, width)


def _texts(values: Array) -> Iterator[Bytes]:
    offsets = np.frombuffer(values.buffers()[1], np.int32)
    starts = offsets[values.offset : values.offset + len(values) + 1].astype(np.int64)
    data = values.buffers()[2]
    if data is None:
        return
    every = np.frombuffer(data, np.uint8)
    lengths = np.diff(starts)
    for length in distinct(lengths[lengths > 0]).tolist():
        where = starts[:-1][lengths == length]
        if len(where) == len(lengths):
            yield every[starts[0] : starts[-1]].reshape(-1, length)
        else:
            yield every[where[:, None] + np.arange(length)]


def _decimals(values: Array) -> Iterator[Bytes]:
    """Yield unscaled values, big-endian, in as few bytes as possible including the sign."""
    unscaled = _fixed(values, _DECIMAL_BYTES)[:, ::-1]
    sign = unscaled[:, 0] >> 7
    filled = unscaled == np.where(sign, np.uint8(255), np.uint8(0))[:, None]
    first = np.argmin(filled, axis=1)
    first[filled.all(axis=1)] = _DECIMAL_BYTES - 1
    same_sign = unscaled[np.arange(len(unscaled)), first] >> 7 == sign
    first = np.where(same_sign, first, np.maximum(first - 1, 0))
    for start in np.flatnonzero(np.bincount(first)).tolist():
        yield np.ascontiguousarray(unscaled[first == start, start:])
