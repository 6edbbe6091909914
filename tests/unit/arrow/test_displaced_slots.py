"""Each row is in the slot that its bucket's number gives, and none is twice."""

from typing import Any

import numpy as np
import pytest

from iceberg_spark.arrow.displaced_slots import EMPTY, displaced_slots


@pytest.mark.parametrize("count", [0, 1, 2, 25, 1_000, 100_000])
def test_each_row_is_in_a_slot_of_its_own(count: int) -> None:
    drawn = np.random.default_rng(count)
    size, buckets = int(count * 1.25) + 1, max(1, count // 4)
    hashes = drawn.integers(0, 2**62, count)

    def slots_of(rows: Any, number: int) -> Any:
        mixed = (hashes[rows].astype(np.uint64) ^ np.uint64(number)) * np.uint64(0x9E3779B97F4A7C15)
        return ((mixed >> np.uint64(20)) % np.uint64(size)).astype(np.int64)

    of = hashes % buckets
    found = displaced_slots(of, buckets, size, slots_of)
    assert found is not None
    every = np.arange(count)
    slots = [slots_of(every[row : row + 1], found.numbers[of[row]])[0] for row in range(count)]
    assert (found.rows[np.array(slots, np.int64)] == every).all()
    assert (found.rows == EMPTY).sum() == size - count


def test_rows_of_a_bucket_that_no_number_tells_apart_find_no_places() -> None:
    same = np.zeros(2, np.int64)
    assert displaced_slots(same, 1, 8, lambda rows, number: np.full(len(rows), number % 8)) is None


def test_a_bucket_of_many_rows_is_not_even_tried() -> None:
    same = np.zeros(65, np.int64)
    assert displaced_slots(same, 1, 100, lambda *_: 1 // 0) is None


def test_rows_beyond_the_slots_find_no_places() -> None:
    def slots_of(rows: Any, number: int) -> Any:
        return (rows + number) % 4

    assert displaced_slots(np.arange(5), 5, 4, slots_of) is None
