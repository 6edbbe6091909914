"""Identity and order of Python floats.

Three rules. *Identity* compares the values of partitions and keys: NaN equals NaN, -0.0 differs
from 0.0 (Java: StructLikeWrapper). The *total order* is that of bounds and sort orders: -0.0 before
0.0, NaN after every number (specification, "Sorting"). *Comparison* is that of predicates: the
total order, but -0.0 equals 0.0 (Spark). `arrow.floats` implements them for arrays.
"""

from __future__ import annotations

import math
import struct
from typing import Any


def is_nan(value: object) -> bool:
    """Return whether a value of any type is NaN."""
    return isinstance(value, float) and math.isnan(value)


def identity(value: object) -> object:
    """Return a hashable that equals only that of the same value; non-floats are unchanged."""
    if not isinstance(value, float):
        return value
    return struct.pack("<d", math.nan if math.isnan(value) else value)


def total_order(value: float) -> tuple[bool, float, float]:
    """Return a key to sort floats by."""
    if math.isnan(value):
        return True, 0.0, 0.0
    return False, value, math.copysign(1.0, value)


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1 for two values of one type, as predicates compare them."""
    if is_nan(left) or is_nan(right):
        return is_nan(left) - is_nan(right)
    return int(left > right) - int(left < right)
