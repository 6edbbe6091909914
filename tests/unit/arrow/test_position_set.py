"""Sets of positions mean what Python's sets mean, however close their positions lie."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_spark.arrow import position_set
from iceberg_spark.arrow.position_set import NO_POSITIONS, PositionSet

close = st.lists(st.integers(0, 400), max_size=300)
far = st.lists(st.integers(0, 2**63 - 1), max_size=20)
numbers = st.one_of(close, far, st.builds(lambda one, other: one + other, close, far))


def made(values: list[int]) -> PositionSet:
    return PositionSet.from_positions(np.array(values, np.int64))


def listed(found: PositionSet) -> list[int]:
    return found.positions().tolist()


@given(numbers)
def test_positions_come_back_ascending_each_once(values: list[int]) -> None:
    found = made(values)
    assert listed(found) == sorted(set(values))
    assert found.count == len(set(values))
    assert found.is_empty == (not values)
    assert np.all(found.words != 0) and np.all(found.places[1:] > found.places[:-1])


@given(st.lists(numbers, max_size=5))
def test_a_union_has_the_positions_of_all(parts: list[list[int]]) -> None:
    union = PositionSet.union(made(each) for each in parts)
    assert listed(union) == sorted({one for each in parts for one in each})


@given(numbers, numbers)
def test_without_leaves_out_what_the_other_has(one: list[int], other: list[int]) -> None:
    assert listed(made(one).without(made(other))) == sorted(set(one) - set(other))


@given(numbers, st.integers(0, 500))
def test_below_leaves_out_what_is_not_less(values: list[int], end: int) -> None:
    assert listed(made(values).below(end)) == sorted({one for one in values if one < end})


@given(numbers, st.integers(0, 500), st.integers(0, 300))
def test_a_mask_has_a_row_for_each_position_of_a_range(
    values: list[int], start: int, length: int
) -> None:
    mask = made(values).mask(start, length)
    expected = [start + at in values for at in range(length)]
    assert mask is None if not any(expected) else mask.tolist() == expected


@given(close)
def test_words_for_spark_are_those_of_all_places_up_to_the_last(values: list[int]) -> None:
    words = made(values).range_words()
    assert words.dtype == np.int64
    assert len(words) == (max(values) // 64 + 1 if values else 0)
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == sorted(set(values))


def test_words_that_are_zero_are_left_out() -> None:
    found = PositionSet.from_words(np.array([1, 2, 5]), np.array([1, 0, 2**63], np.uint64))
    assert listed(found) == [64, 383]
    assert found.places.tolist() == [1, 5]


def test_positions_of_many_words_are_laid_out_in_parts() -> None:
    values = np.arange(0, 64 * 200_000, 64)
    assert np.array_equal(PositionSet.from_positions(values).positions(), values)


def test_a_negative_position_is_none() -> None:
    with pytest.raises(ValueError, match="-3"):
        made([5, -3])


def test_a_set_takes_16_bytes_a_position_at_the_worst_and_2_bits_a_row_at_the_best() -> None:
    far_apart = PositionSet.from_positions(np.arange(0, 10**9, 10**5))
    every = PositionSet.from_positions(np.arange(1_000_000))
    assert far_apart.size - NO_POSITIONS.size == 16 * 10_000
    assert every.size - NO_POSITIONS.size == 2 * 1_000_000 // 8


def test_a_set_travels() -> None:
    assert listed(pickle.loads(pickle.dumps(made([3, 70])))) == [3, 70]


def test_bits_are_counted_without_numpys_own_function(monkeypatch: pytest.MonkeyPatch) -> None:
    words = np.array([0, 1, 1 << 63, 2**64 - 1, 0x5555555555555555, 12345], np.uint64)
    known = position_set.bit_counts(words).tolist()
    monkeypatch.setattr(position_set, "_BITWISE_COUNT", None)
    assert position_set.bit_counts(words).tolist() == known == [0, 1, 1, 64, 32, 6]
