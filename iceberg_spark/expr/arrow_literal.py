"""Canonical values and primitive types in Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import pyarrow as pa

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec.types import (
    PRIMITIVES,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
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
    UnknownType,
    UUIDType,
)

_ARROW_TYPES: dict[type, pa.DataType] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: pa.timestamp("us", tz="UTC"),
    TimestampNanoType: pa.timestamp("ns"),
    TimestamptzNanoType: pa.timestamp("ns", tz="UTC"),
    StringType: pa.string(),
    UUIDType: pa.binary(16),
    BinaryType: pa.binary(),
    UnknownType: pa.null(),
    GeometryType: pa.binary(),
    GeographyType: pa.binary(),
}


def arrow_type(kind: IcebergType) -> pa.DataType:
    """Return the Arrow type of a primitive column; a UUID is fixed_size_binary(16).

    Raises UnsupportedError for nested types and variant.
    """
    match kind:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case FixedType(length=length):
            return pa.binary(length)
        case _ if isinstance(kind, PRIMITIVES):
            return _ARROW_TYPES[type(kind)]
        case _:
            raise UnsupportedError(f"Type {kind} is not stored as one Arrow column of a primitive")


def scalar(value: Any, kind: IcebergType) -> pa.Scalar:
    """Return a canonical value (or None) as an Arrow scalar of `arrow_type(kind)`."""
    return pa.scalar(value.bytes if isinstance(value, UUID) else value, arrow_type(kind))


def array(values: Iterable[Any], kind: IcebergType) -> pa.Array:
    """Return canonical values as an Arrow array of `arrow_type(kind)`."""
    plain = [value.bytes if isinstance(value, UUID) else value for value in values]
    return pa.array(plain, arrow_type(kind))
