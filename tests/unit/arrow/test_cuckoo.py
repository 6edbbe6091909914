"""Rows have one of two slots each."""

import numpy as np
import pytest

from iceberg_spark.arrow.cuckoo import EMPTY, cuckoo_slots


@pytest.mark.parametrize("count", [0, 1, 2, 25, 1_000, 100_000])
def test_each_row_is_in_one_of_its_slots(count: int) -> None:
    drawn = np.random.default_rng(count)
    size = max(64, 1 << (int(count * 2.5) - 1).bit_length())
    one, other = drawn.integers(0, size, (2, count))
    slots = cuckoo_slots(one, other, size)
    assert slots is not None and len(slots) == size
    rows = np.arange(count)
    assert ((slots[one] == rows) | (slots[other] == rows)).all()
    assert (slots == EMPTY).sum() == size - count


def test_rows_move_on_to_their_other_slot() -> None:
    slots = cuckoo_slots(np.array([0, 0, 1]), np.array([1, 2, 0]), 3)
    assert slots is not None and sorted(slots.tolist()) == [0, 1, 2]


def test_three_rows_of_the_same_two_slots_find_no_places() -> None:
    assert cuckoo_slots(np.array([4, 4, 7]), np.array([7, 7, 4]), 64) is None
