"""Places for rows in a table of slots, of which each row's hash and a number tell one.

Rows are put into buckets, and each bucket gets the first number by which its rows fall into slots
that nobody has. So who looks for a row looks at one slot. Source: Belazzougui, Botelho and
Dietzfelbinger, "Hash, displace, and compress", 2009; here all buckets of one size try together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Places: TypeAlias = npt.NDArray[np.int64]
EMPTY = -1
_TRIES = 2_000
_MOST = 64  # rows of a bucket: of so many, some have the same hash


@dataclass(frozen=True, slots=True, eq=False)
class DisplacedSlots:
    """A number for each bucket, and for each slot the row that is in it, EMPTY where none is."""

    numbers: npt.NDArray[np.int16]
    rows: npt.NDArray[np.int32]


def displaced_slots(
    buckets: Places, count: int, size: int, slots_of: Callable[[Places, int], Places]
) -> DisplacedSlots | None:
    """Return a slot for each row, none of them twice.

    `buckets` has each row's bucket, of `count`; `slots_of` gives the slots of some rows by a
    number, of `size`. None where no numbers were found: with 0.8 rows a slot and 4 a bucket that is
    rare, unless rows of one bucket have the same slots by every number.
    """
    members = np.bincount(buckets, minlength=count)
    if members.max(initial=0) > _MOST:
        return None
    order = np.argsort(buckets, kind="stable")
    starts = np.cumsum(members) - members
    work = _Placing(np.zeros(count, np.int16), np.full(size, EMPTY, np.int32), slots_of)
    for many in np.unique(members[members > 0])[::-1].tolist():
        chosen = np.flatnonzero(members == many)
        rows = order[starts[chosen][:, None] + np.arange(many)]
        if not work.place(chosen, rows):
            return None
    return DisplacedSlots(work.numbers, work.rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Placing:
    numbers: npt.NDArray[np.int16]
    rows: npt.NDArray[np.int32]
    slots_of: Callable[[Places, int], Places]

    def place(self, buckets: Places, rows: Places) -> bool:
        """Place the rows of buckets of one size, a line each; return whether all found places."""
        for number in range(_TRIES):
            if not len(buckets):
                return True
            slots = self.slots_of(rows.ravel(), number).reshape(rows.shape)
            placed = self._fitting(slots)
            self.rows[slots[placed]] = rows[placed]
            self.numbers[buckets[placed]] = number
            left = np.ones(len(buckets), np.bool_)
            left[placed] = False
            buckets, rows = buckets[left], rows[left]
        return not len(buckets)

    def _fitting(self, slots: Places) -> Places:
        """Return the lines whose slots are free, and no other line's that is among them."""
        in_order = np.sort(slots, axis=1)
        fits = (self.rows[slots] == EMPTY).all(axis=1)
        fits &= (in_order[:, 1:] != in_order[:, :-1]).all(axis=1)
        lines = np.flatnonzero(fits)
        owners = np.full(len(self.rows), EMPTY, np.int32)
        owners[slots[lines]] = lines[:, None]  # of several lines the last one stays
        won: Places = lines[(owners[slots[lines]] == lines[:, None]).all(axis=1)]
        return won
