"""A 64-bit hash of every row of some key columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.lazy import LazyModule

pl = LazyModule("polars")

Words = npt.NDArray[np.uint64]

_SEED = 0x1CEB


def hash_rows(frame: Any) -> Words:
    """Return a hash for each row of a Polars frame; equal rows have equal hashes."""
    words: Words = frame.hash_rows(_SEED).to_numpy()
    return words


def polars_frame(columns: Sequence[pa.Array]) -> Any:
    """Return columns as a Polars frame, without a copy."""
    return pl.DataFrame([pl.Series(str(i), pl.from_arrow(c)) for i, c in enumerate(columns)])
