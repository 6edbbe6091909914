"""Distinct numbers."""

from typing import Any

import numpy as np
import pytest

from iceberg_spark.arrow.arrays import distinct


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("numbers", [[], [7], [3, 1, 3, 2, 1], [0, 0], [2**31 - 1, 0, 2**31 - 1]])
def test_numbers_are_sorted_and_there_once(numbers: list[int], kind: Any) -> None:
    given = np.array(numbers, kind)
    found = distinct(given)
    assert found.tolist() == sorted(set(numbers))
    assert found.dtype == kind
    assert given.tolist() == numbers
