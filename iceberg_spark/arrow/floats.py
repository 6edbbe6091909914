"""Floats in Arrow's arrays by the rules of `spec.floats`: identity, total order, comparison."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_NUMBER_BITS = 0x7FFFFFFFFFFFFFFF  # all but the sign


def identity_bits(floats: Any) -> Any:
    """Return 64-bit numbers that are equal where values are the same; nulls stay.

    They are the bits of the values as doubles, with those of one NaN: seen as doubles again
    they are the values.
    """
    doubles = floats.cast(pa.float64())
    nan = pc.is_nan(doubles)
    if pc.any(nan, min_count=0).as_py():
        doubles = pc.if_else(nan, pa.scalar(math.nan), doubles)
    return doubles.view(pa.int64())


def total_order(floats: Any) -> Any:
    """Return 64-bit numbers in the total order of the values; nulls stay."""
    bits = identity_bits(floats)
    return pc.if_else(pc.less(bits, 0), pc.bit_wise_xor(bits, _NUMBER_BITS), bits)


def comparison_order(floats: Any) -> Any:
    """Return 64-bit numbers that compare as the values do in predicates; nulls stay."""
    return total_order(pc.add(floats.cast(pa.float64()), 0.0))  # -0.0 + 0.0 is 0.0


def extremes(floats: Any) -> tuple[float, float] | None:
    """Return the least and the greatest number by the total order, None if there is none."""
    ends = pc.min_max(floats)  # ignores NaN, and treats -0.0 and 0.0 as equal
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None or math.isnan(low):
        return None
    if low == 0 or high == 0:
        values = floats.drop_null().to_numpy(zero_copy_only=False)
        zeros = np.signbit(values[values == 0])
        low = (-0.0 if zeros.any() else 0.0) if low == 0 else low
        high = (-0.0 if zeros.all() else 0.0) if high == 0 else high
    return low, high
