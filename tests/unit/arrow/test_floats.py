"""The rules of floats over arrays are those over Python's values."""

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_spark.arrow.arrays import comparison_order, extremes, identity_bits, total_order
from iceberg_spark.spec import values as canonical

OTHER_NAN = np.array([0xFFF8000000000001], np.uint64).view(np.float64)[0].item()
SPECIAL = [-math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan, OTHER_NAN]
values = st.lists(st.one_of(st.sampled_from(SPECIAL), st.floats(width=32)), max_size=12)
kinds = st.sampled_from([pa.float32(), pa.float64()])


@given(values, kinds)
def test_identity_bits_are_equal_where_values_are_the_same(given: list[float], kind) -> None:
    bits = identity_bits(pa.array(given, kind)).to_pylist()
    expected = [canonical.identity(value) for value in given]
    assert [[one == other for other in bits] for one in bits] == [
        [one == other for other in expected] for one in expected
    ]


@given(values, kinds)
def test_identity_bits_are_the_values_seen_as_doubles(given: list[float], kind) -> None:
    again = identity_bits(pa.array(given, kind)).view(pa.float64()).to_pylist()
    assert list(map(canonical.identity, again)) == list(map(canonical.identity, given))


@given(values, kinds)
def test_the_total_order_is_that_of_values(given: list[float], kind) -> None:
    pairs = zip(given, total_order(pa.array(given, kind)).to_pylist(), strict=True)
    ordered = [value for value, _ in sorted(pairs, key=lambda pair: pair[1])]
    assert all(
        canonical.total_order(one) <= canonical.total_order(other)
        for one, other in pairwise(ordered)
    )


@given(values, kinds)
def test_numbers_compare_as_predicates_compare_values(given: list[float], kind) -> None:
    numbers = comparison_order(pa.array(given, kind)).to_pylist()
    for left, number in zip(given, numbers, strict=True):
        for right, other in zip(given, numbers, strict=True):
            assert canonical.compare(left, right) == (number > other) - (number < other)


@given(values, kinds)
def test_extremes_are_the_ends_of_the_total_order_without_nan(given: list[float], kind) -> None:
    numbers = sorted((value for value in given if not math.isnan(value)), key=canonical.total_order)
    expected = (numbers[0], numbers[-1]) if numbers else None
    assert repr(extremes(pa.array([*given, None], kind))) == repr(expected)


@pytest.mark.parametrize("of", [identity_bits, total_order, comparison_order])
def test_nulls_stay(of) -> None:
    assert of(pa.array([1.0, None], pa.float32())).is_null().to_pylist() == [False, True]
