"""Integers and dates as bits: bit n of the words is set where n is one of the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.spark.deletes.limits import KEYS
from iceberg_spark.spark.deletes.position_bitmaps import Words


@dataclass(frozen=True, slots=True, eq=False)
class IntegerBits:
    """Bits of 64 times `first_word` and the integers after it; `has_null`: one value is NULL."""

    first_word: int
    words: Words
    has_null: bool


def integer_bits(column: Any) -> IntegerBits | None:
    """Return integers or dates as bits; None if too few of the bits would be set.

    `integer_bits(pa.array([64, 66]))` has `first_word` 1 and one word, 0b101.
    """
    has_null = column.null_count > 0
    column = column.drop_null() if has_null else column
    if not len(column):
        return None
    column = column.cast(pa.int32()) if pa.types.is_date(column.type) else column
    integers = column.to_numpy(zero_copy_only=False).astype(np.int64)
    first_word, last_word = int(integers.min()) >> 6, int(integers.max()) >> 6
    if 8 * (last_word - first_word) > KEYS.bitmap_bytes_per_key * len(integers) + 4096:
        return None
    words = PositionSet.from_positions(integers - (first_word << 6)).range_words()
    return IntegerBits(first_word, words, has_null)
