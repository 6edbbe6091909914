"""What is the same among floats, and what comes first."""

import math
import struct

from iceberg_spark.spec.values import compare, identity, is_nan, total_order

OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
ASCENDING = [-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan]


def test_nan_is_one_value_and_zeros_are_two() -> None:
    assert identity(OTHER_NAN) == identity(math.nan)
    assert len({identity(value) for value in [*ASCENDING, OTHER_NAN]}) == len(ASCENDING)


def test_what_is_no_float_is_itself() -> None:
    assert identity("x") == "x"
    assert not is_nan("nan")
    assert not is_nan(None)


def test_floats_are_sorted_by_their_total_order() -> None:
    assert repr(sorted(ASCENDING[4:] + ASCENDING[:4], key=total_order)) == repr(ASCENDING)


def test_predicates_take_zeros_for_equal_and_nan_for_the_largest() -> None:
    for at, left in enumerate(ASCENDING):
        for by, right in enumerate(ASCENDING):
            expected = 0 if left == right == 0 else (at > by) - (at < by)
            assert compare(left, right) == expected
    assert compare(OTHER_NAN, math.nan) == 0
