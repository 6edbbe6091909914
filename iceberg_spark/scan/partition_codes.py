"""Equality of partition tuples on columns: every distinct tuple of a set gets a number.

Equal means: null equals null, floats by their identity (specification: "Scan Planning", note 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import from_numpy, identity_bits, to_numpy

Codes: TypeAlias = npt.NDArray[np.int64]

NOT_THERE = -1


@dataclass(frozen=True, slots=True)
class PartitionCodes:
    """The distinct tuples of a partition struct column, narrowed down field by field."""

    levels: tuple[tuple[Any, Codes], ...]  # distinct values of a field, sorted keys of its prefix

    def codes(self, partitions: Any) -> Codes:
        """Return each tuple's number, NOT_THERE for tuples outside the set."""
        codes = np.zeros(len(partitions), np.int64)
        for child, (values, keys) in zip(_children(partitions), self.levels, strict=True):
            index_in = pc.index_in(child, value_set=values)
            child_codes = pc.fill_null(index_in, NOT_THERE).to_numpy().astype(np.int64)
            key = np.where(
                (codes < 0) | (child_codes < 0),
                NOT_THERE,
                codes * (len(values) + 1) + child_codes + 1,
            )
            spot = np.searchsorted(keys, key)
            there = keys[np.minimum(spot, len(keys) - 1)] == key
            codes = np.where(there & (key >= 0), spot, NOT_THERE)
        return codes


def partition_codes(partitions: Any) -> tuple[PartitionCodes, Codes]:
    """Return the numbering of a non-empty struct column's distinct tuples and each row's number."""
    levels = []
    codes = np.zeros(len(partitions), np.int64)
    for child in _children(partitions):
        encoded = child.dictionary_encode(null_encoding="encode")
        key = codes * (len(encoded.dictionary) + 1) + encoded.indices.to_numpy() + 1
        keys, codes = np.unique(key, return_inverse=True)
        levels.append((encoded.dictionary, keys))
    return PartitionCodes(tuple(levels)), codes


def distinct(partitions: Any) -> tuple[Codes, Codes]:
    """Return the first row of each distinct tuple, and for every row the number of its tuple."""
    if len(partitions) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    codes = np.zeros(len(partitions), np.int64)
    for child in _children(partitions):
        encoded = child.dictionary_encode(null_encoding="encode")
        key = from_numpy(codes * len(encoded.dictionary) + to_numpy(encoded.indices))
        codes = to_numpy(key.dictionary_encode().indices).astype(np.int64)
    count = int(codes.max()) + 1
    first = np.empty(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first, codes


def _children(partitions: Any) -> list[Any]:
    """Return the fields' columns, comparable by value (nulls of the struct itself do not occur)."""
    return [
        identity_bits(child) if pa.types.is_floating(child.type) else child
        for child in partitions.flatten()
    ]
