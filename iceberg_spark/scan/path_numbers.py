"""Numbers of the distinct paths that deletes refer to, for whole columns of paths.

Arrow's `index_in` hashes its value set again on each call, which for 200,000 deletion vectors took
half of the planning. Here hashes are computed once, and matches are compared as texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow import polars_threads
from iceberg_spark.lazy import LazyModule
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.partition_codes import NOT_THERE

pl = LazyModule("polars")

Rows = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class PathNumbers:
    """Distinct paths, each numbered by its place; `hashes` ascend, `order` has their places.

    Without hashes, of few paths or after a fork, Arrow looks them up.
    """

    paths: Any
    hashes: Hashes | None = None
    order: Rows | None = None

    def of(self, paths: Any) -> Rows:
        """Return the number of each path, NOT_THERE for others and null."""
        if self.hashes is None or self.order is None:
            return _codes(pc.index_in(paths, value_set=self.paths))
        array = paths.combine_chunks() if isinstance(paths, pa.ChunkedArray) else paths
        codes = np.full(len(array), NOT_THERE, np.int64)
        hashes = _hashes(array)
        indices = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        met = np.flatnonzero(self.hashes[indices] == hashes)
        candidates = self.order[indices[met]]
        same = pc.equal(array.take(pa.array(met)), self.paths.take(pa.array(candidates)))
        mask = pc.fill_null(same, False).to_numpy(zero_copy_only=False)
        codes[met[mask]] = candidates[mask]
        return codes


def path_numbers(paths: Any) -> tuple[PathNumbers, Rows]:
    """Number the distinct paths of a column; returns the number of each row, NOT_THERE for null."""
    valid = paths.is_valid()
    present = paths if not paths.null_count else paths.filter(valid)
    if len(present) < PLANNING.hashed_paths or polars_threads.are_lost():
        return _by_arrow(paths)
    hashes = _hashes(present)
    order = np.argsort(hashes)
    ascending = hashes[order]
    if np.any(ascending[1:] == ascending[:-1]):  # a repeated path, or a hash collision
        return _by_arrow(paths)
    codes = np.full(len(paths), NOT_THERE, np.int64)
    codes[valid.to_numpy(zero_copy_only=False)] = np.arange(len(present))
    return PathNumbers(present, ascending, order), codes


def _by_arrow(paths: Any) -> tuple[PathNumbers, Rows]:
    encoded = paths.dictionary_encode()
    return PathNumbers(encoded.dictionary), _codes(encoded.indices)


def _hashes(paths: Any) -> Hashes:
    hashes: Hashes = pl.from_arrow(paths).hash().to_numpy()
    return hashes


def _codes(places: Any) -> Rows:
    codes: Rows = pc.fill_null(places, NOT_THERE).to_numpy().astype(np.int64)
    return codes
