"""The order of rows by several keys, computed by sorting one number per row.

Each key becomes a small number, and all numbers of a row are packed as bits of one; its last bits
are the row's index. Numbers are sorted some ten times as fast as rows are compared key by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Words: TypeAlias = npt.NDArray[np.uint64]
_WORD_BITS = 64
_FEW = 8
"""Texts are numbered where so many rows have one of them, on average."""


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """An array to sort by: texts by their bytes, integers, and types stored as these."""

    values: Any
    descending: bool
    nulls_first: bool


def packed_places(keys: Sequence[Key]) -> npt.NDArray[np.int64] | None:
    """Return the indices of rows in sorted order, equal rows in their original order.

    None if there are too many bits, or keys of other types.
    """
    rows = len(keys[0].values) if keys else 0
    left = _WORD_BITS - rows.bit_length()
    word = np.zeros(rows, np.uint64)
    for key in keys:
        numbered = _numbered(key) if rows else None
        if numbered is None:
            return None
        codes, count = numbered
        bits = (count - 1).bit_length()
        left -= bits
        if left < 0:
            return None
        word = (word << np.uint64(bits)) | codes
    own = np.uint64(rows.bit_length())
    word = (word << own) | np.arange(rows, dtype=np.uint64)
    word.sort()
    places: npt.NDArray[np.int64] = (word & np.uint64((1 << int(own)) - 1)).astype(np.int64)
    return places


def _numbered(key: Key) -> tuple[Words, int] | None:
    """Return a number for each row, in the order of the key, and the number of possible numbers."""
    kind = key.values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        numbered = _of_texts(key.values)
    elif pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        numbered = None if pa.types.is_uint64(kind) else _of_numbers(key.values)
    else:
        numbered = None
    if numbered is None:
        return None
    codes, count = numbered
    if count >= 1 << (_WORD_BITS - 1):
        return None
    if key.descending:
        codes = np.uint64(count - 1) - codes
    if not key.values.null_count:
        return codes, count
    null = key.values.is_null().to_numpy(zero_copy_only=False)
    if key.nulls_first:
        return np.where(null, np.uint64(0), codes + np.uint64(1)), count + 1
    return np.where(null, np.uint64(count), codes), count + 1


def _of_numbers(values: Any) -> tuple[Words, int]:
    plain = values.view(pa.int32()) if pa.types.is_date32(values.type) else values
    integers = plain.cast(pa.int64())
    ends = pc.min_max(integers)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None:
        return np.zeros(len(values), np.uint64), 1
    numbers = pc.fill_null(integers, low).to_numpy(zero_copy_only=False)
    # The difference may exceed a signed integer: it wraps to the right unsigned one.
    least = np.array(low, np.int64).view(np.uint64)
    return numbers.view(np.uint64) - least, high - low + 1


def _of_texts(values: Any) -> tuple[Words, int] | None:
    encoded = values.dictionary_encode()
    texts = encoded.dictionary
    if len(texts) * _FEW > len(values):
        return None
    ranks = np.zeros(max(len(texts), 1), np.uint64)
    ranks[pc.sort_indices(texts).to_numpy()] = np.arange(len(texts), dtype=np.uint64)
    return ranks[pc.fill_null(encoded.indices, 0).to_numpy()], max(len(texts), 1)
