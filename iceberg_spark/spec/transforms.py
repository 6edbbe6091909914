"""Partition and sort transforms as values (specification: "Partition Transforms").

`expr.transform_value` applies them to one literal, `arrow.transforms` to columns. Class names are
PyIceberg's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class IdentityTransform:
    """The source value itself."""

    def __str__(self) -> str:
        return "identity"


@dataclass(frozen=True, slots=True)
class BucketTransform:
    """Murmur3 hash of the value, modulo the number of buckets."""

    num_buckets: int

    def __str__(self) -> str:
        return f"bucket[{self.num_buckets}]"


@dataclass(frozen=True, slots=True)
class TruncateTransform:
    """The value cut to a width: numbers down to a multiple, text and bytes to a prefix."""

    width: int

    def __str__(self) -> str:
        return f"truncate[{self.width}]"


@dataclass(frozen=True, slots=True)
class YearTransform:
    """Years from 1970."""

    def __str__(self) -> str:
        return "year"


@dataclass(frozen=True, slots=True)
class MonthTransform:
    """Months from 1970-01."""

    def __str__(self) -> str:
        return "month"


@dataclass(frozen=True, slots=True)
class DayTransform:
    """Days from 1970-01-01."""

    def __str__(self) -> str:
        return "day"


@dataclass(frozen=True, slots=True)
class HourTransform:
    """Hours from 1970-01-01 00:00:00."""

    def __str__(self) -> str:
        return "hour"


@dataclass(frozen=True, slots=True)
class VoidTransform:
    """Always null; stands for a dropped field."""

    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True, slots=True)
class UnknownTransform:
    """An unknown transform: its tables are read, not written."""

    text: str

    def __str__(self) -> str:
        return self.text


Transform: TypeAlias = (
    IdentityTransform
    | BucketTransform
    | TruncateTransform
    | YearTransform
    | MonthTransform
    | DayTransform
    | HourTransform
    | VoidTransform
    | UnknownTransform
)
TimeTransform: TypeAlias = YearTransform | MonthTransform | DayTransform | HourTransform
