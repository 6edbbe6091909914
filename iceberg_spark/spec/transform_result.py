"""Source and result types of the transforms (specification, "Partition Transforms")."""

from __future__ import annotations

from typing import assert_never

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
)
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
