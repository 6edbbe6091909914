"""Places for rows in a table of slots, where each row is in one of two slots: cuckoo hashing.

Source: Pagh and Rodler, 2004; all rows move at once here, one slot a round.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

EMPTY = -1
_ROUNDS = 200


def cuckoo_slots(
    one: npt.NDArray[np.int64], other: npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.int32] | None:
    """Return for each of `size` slots the number of the row in it, or EMPTY.

    `one` and `other` are the slots that each row may have. None where no places were found: with
    less than 0.4 rows a slot that is rare, unless several rows have the same two slots.
    """
    choices = np.stack([one, other])
    chosen = np.zeros(len(one), np.int8)
    slots = np.full(size, EMPTY, np.int32)
    waiting = np.arange(len(one), dtype=np.int32)
    for _ in range(_ROUNDS):
        if not len(waiting):
            return slots
        wanted = choices[chosen[waiting], waiting]
        before = slots[wanted]
        slots[wanted] = waiting  # of several rows the last one stays
        stays = slots[wanted] == waiting
        gone = before[stays]
        waiting = np.concatenate([waiting[~stays], gone[gone != EMPTY]])
        chosen[waiting] ^= 1
    return None
