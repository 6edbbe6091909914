"""A 64-bit hash of every row of some key columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow import polars_threads
from iceberg_spark.lazy import LazyModule

pl = LazyModule("polars")

Words = npt.NDArray[np.uint64]

_SEED = 0x1CEB


def hash_rows(frame: Any, seed: int = _SEED) -> Words:
    """Return a hash for each row of a Polars frame; equal rows have equal hashes."""
    words: Words = frame.hash_rows(seed).to_numpy()
    return words


def polars_frame(columns: Sequence[pa.Array]) -> Any:
    """Return columns as a Polars frame, without a copy. Raises UnsupportedError after a fork."""
    polars_threads.require("Keys of rows")
    return pl.DataFrame([pl.Series(str(i), pl.from_arrow(c)) for i, c in enumerate(columns)])


_NULL_HASH = np.uint64(0x5DEECE66D5DEECE6)
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


def key_hashes(columns: Sequence[pa.Array]) -> Words:
    """Return a hash for each row of canonical key columns (`key_columns.key_column`).

    A single column of 64-bit numbers gets the finisher of splitmix64, which maps no two numbers
    to one hash. Source of its constants: Steele, Lea and Flood, 2014.
    """
    if len(columns) > 1 or columns[0].type != pa.int64():
        return hash_rows(polars_frame(columns))
    (column,) = columns
    filled = pc.fill_null(column, 0) if column.null_count else column
    words: Words = filled.to_numpy(zero_copy_only=False).view(np.uint64).copy()
    for shift, factor in _MIX:
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    if column.null_count:
        words[column.is_null().to_numpy(zero_copy_only=False)] = _NULL_HASH
    return words
