"""Hashes of rows as Spark's SQL function `hash` has them: Murmur3 of 32 bits, seed 42.

Source: `org.apache.spark.sql.catalyst.expressions.HashExpression` and `Murmur3_x86_32`; the bytes
behind the last whole word are mixed in one by one, as signed numbers. A NULL changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Hashes: TypeAlias = npt.NDArray[np.uint32]

_SEED = 42
_LONG_DIGITS = 18  # of decimals that Spark holds as longs


def can_hash(kind: pa.DataType) -> bool:
    """Return whether the hashes of a column of this type are known here."""
    types = pa.types
    if types.is_decimal(kind):
        return bool(kind.precision <= _LONG_DIGITS)
    known = (types.is_boolean, types.is_date32, types.is_string, types.is_binary)
    return kind in {pa.int32(), pa.int64(), pa.timestamp("us"), pa.timestamp("us", "UTC")} or any(
        one(kind) for one in known
    )


def row_hashes(columns: Sequence[Any]) -> Hashes:
    """Return the hash of each row of some columns, of types that `can_hash` names."""
    hashes = np.full(len(columns[0]), _SEED, np.uint32)
    for column in columns:
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        mixed = _mixed(array, hashes)
        hashes = np.where(array.is_valid().to_numpy(zero_copy_only=False), mixed, hashes)
    return hashes


def _mixed(array: Any, seeds: Hashes) -> Hashes:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _of_bytes(array, seeds)
    if pa.types.is_decimal(kind):
        words = np.frombuffer(array.buffers()[1], np.uint64)  # two a value, the low one first
        return _of_longs(words[2 * array.offset :: 2][: len(array)], seeds)
    if pa.types.is_boolean(kind) or pa.types.is_date32(kind) or kind == pa.int32():
        return _of_ints(_numbers(array, pa.int32()).view(np.uint32), seeds)
    return _of_longs(_numbers(array, pa.int64()).view(np.uint64), seeds)


def _numbers(array: Any, kind: pa.DataType) -> npt.NDArray[Any]:
    numbers: npt.NDArray[Any] = pc.fill_null(pc.cast(array, kind), 0).to_numpy(zero_copy_only=False)
    return numbers


def _of_ints(values: Hashes, seeds: Hashes) -> Hashes:
    return _finished(_with_word(seeds, values), np.uint32(4))


def _of_longs(values: npt.NDArray[np.uint64], seeds: Hashes) -> Hashes:
    low = values.astype(np.uint32)
    high = (values >> np.uint64(32)).astype(np.uint32)
    return _finished(_with_word(_with_word(seeds, low), high), np.uint32(8))


def _of_bytes(array: Any, seeds: Hashes) -> Hashes:
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1]
    starts = offsets[:-1].astype(np.int64)
    lengths = np.diff(offsets).astype(np.int64)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    hashes = seeds.copy()
    for block in range(int(lengths.max(initial=0)) // 4):
        rows = np.flatnonzero(lengths >= 4 * block + 4)
        words = np.zeros(len(rows), np.uint32)
        for byte in range(4):
            taken = data[starts[rows] + (4 * block + byte)].astype(np.uint32)
            words |= taken << np.uint32(8 * byte)
        hashes[rows] = _with_word(hashes[rows], words)
    for byte in range(3):
        rows = np.flatnonzero(lengths % 4 > byte)
        places = starts[rows] + lengths[rows] // 4 * 4 + byte
        words = data[places].astype(np.int8).astype(np.int32).view(np.uint32)
        hashes[rows] = _with_word(hashes[rows], words)
    return _finished(hashes, lengths.astype(np.uint32))


def _with_word(hashes: Hashes, words: Hashes) -> Hashes:
    mixed = _turned(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _turned(hashes ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _turned(words: Hashes, bits: int) -> Hashes:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))


def _finished(hashes: Hashes, length: Any) -> Hashes:
    hashes = hashes ^ length
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))
