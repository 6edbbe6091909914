"""Keys of several whole numbers as one: 3 of 0 to 9 and 25 of 20 to 29 are 35 of 0 to 99."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers: TypeAlias = npt.NDArray[np.int64]

_LARGEST = 2**62
"""Of the numbers, of how many there may be, and of what they are made from: nothing overflows."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The values of a column of keys: `count` of them at most, from `least` on."""

    name: str
    least: int
    count: int


@dataclass(frozen=True, slots=True)
class PackedKeys:
    """How keys are made into numbers; each number is of one key."""

    ranges: tuple[KeyRange, ...]

    def in_range(self, own: Mapping[str, str], *, beside: str | None) -> list[str]:
        """Return SQL conditions, all true where a row has a number: of all columns but one.

        `own` has the row's columns by the names of those of the keys.
        """
        return [
            f"{own[one.name]} between {one.least}L and {one.least + one.count - 1}L"
            for one in self.ranges
            if one.name != beside
        ]

    def number(self, own: Mapping[str, str]) -> str:
        """Return the SQL of a row's number, a bigint; NULL where a column is."""
        first, *others = self.ranges
        text = f"(cast({own[first.name]} as bigint) - {first.least}L)"
        for one in others:
            text = f"({text} * {one.count}L + (cast({own[one.name]} as bigint) - {one.least}L))"
        return text


def packed_keys(columns: Mapping[str, Any]) -> tuple[PackedKeys, Numbers] | None:
    """Return how keys, columns of int32 and int64, are made into numbers, and these.

    None for keys with other columns, with NULLs, or of ranges that are too wide together.
    """
    ranges = []
    for name, values in columns.items():
        if values.type not in (pa.int32(), pa.int64()) or values.null_count or not len(values):
            return None
        ends = pc.min_max(values)
        least, most = ends["min"].as_py(), ends["max"].as_py()
        if max(-least, most) > _LARGEST:
            return None
        ranges.append(KeyRange(name, least, most - least + 1))
    if prod(one.count for one in ranges) > _LARGEST:
        return None
    numbers = np.zeros(len(next(iter(columns.values()))), np.int64)
    for one in ranges:
        values = columns[one.name].to_numpy(zero_copy_only=False).astype(np.int64)
        numbers = numbers * one.count + (values - one.least)
    return PackedKeys(tuple(ranges)), numbers
