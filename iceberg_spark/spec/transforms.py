"""Partition and sort transforms as values (specification: "Partition Transforms").

`expr.transform_value` applies them to one literal, `arrow.transforms` to columns. Class names are
PyIceberg's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.types import (
    PRIMITIVES,
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)


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


_TIMESTAMPS = (TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType)
_DAYS = (DateType, *_TIMESTAMPS)
_TRUNCATED = (IntegerType, LongType, DecimalType, StringType, BinaryType)
_ACCEPTED: dict[type, tuple[type, ...]] = {
    IdentityTransform: tuple(
        kind for kind in PRIMITIVES if kind not in (GeometryType, GeographyType)
    ),
    BucketTransform: (*_TRUNCATED, *_DAYS, TimeType, UUIDType, FixedType),
    TruncateTransform: _TRUNCATED,
    YearTransform: _DAYS,
    MonthTransform: _DAYS,
    DayTransform: _DAYS,
    HourTransform: _TIMESTAMPS,
}


def can_transform(transform: Transform, source: IcebergType) -> bool:
    """Return whether a transform accepts a type; void accepts all, an unknown transform may."""
    accepted = _ACCEPTED.get(type(transform))
    return accepted is None or isinstance(source, accepted)


def check_transform(transform: Transform, source: IcebergType, column: str) -> None:
    """Raise InvalidSchemaError naming the column when the transform does not take its type."""
    if not can_transform(transform, source):
        takes = ", ".join(_name(kind) for kind in _ACCEPTED[type(transform)])
        raise InvalidSchemaError(
            f"Transform {transform} can't be used on column '{column}' of type {source}; "
            f"it takes: {takes}"
        )


def _name(kind: type) -> str:
    return str(getattr(kind, "name", kind.__name__.removesuffix("Type").lower()))


def result_type(transform: Transform, source: IcebergType) -> IcebergType:
    """Return the type of a transform's results; an unknown transform's are read as string."""
    match transform:
        case IdentityTransform() | TruncateTransform() | VoidTransform():
            return source
        case BucketTransform() | YearTransform() | MonthTransform() | HourTransform():
            return IntegerType()
        case DayTransform():
            return DateType()
        case UnknownTransform():
            return StringType()
        case _:
            assert_never(transform)
