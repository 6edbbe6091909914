"""Partition and sort transforms over whole Arrow columns.

Hashes and prefixes are pyiceberg-core's. Its calendar is not used: it gives the wrong day for
nanoseconds before 1970, null for years beyond 262,143, and wraps hours beyond 32 bits around.
"""

from __future__ import annotations

from decimal import Context
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg_core import transform as core

from iceberg_spark.errors import InvalidInputError, UnsupportedError
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
    can_transform,
)
from iceberg_spark.spec.types import DecimalType, IcebergType

_EXACT = Context(prec=80)  # the default context rounds at 28 digits
_DECIMAL_BYTES = 16
_HOUR = {"us": 3_600_000_000, "ns": 3_600_000_000_000}


def check_transform(transform: Transform, source_type: IcebergType) -> None:
    """Raise UnsupportedError if a column of that type can't be transformed so.

    Source: specification, "Partition Transforms".
    """
    if isinstance(transform, UnknownTransform):
        raise UnsupportedError(
            f"Transform '{transform}' is unknown: tables with it are read, not written"
        )
    if not can_transform(transform, source_type):
        raise UnsupportedError(f"Transform '{transform}' can't be applied to type {source_type}")


def apply_transform(transform: Transform, source_type: IcebergType, array: pa.Array) -> pa.Array:
    """Return the transform of a column, null where the column is null.

    The array has the Arrow type of the Iceberg type (`arrow.schema`); `large_`, view and
    dictionary arrays are decoded. The result is int32 for bucket, year, month and hour, date32
    for day, the source's type otherwise. Raises UnsupportedError for a transform that is unknown
    or does not take the type, InvalidInputError for a value whose transform does not fit the
    result type. Source: specification, "Partition Transforms" and "Appendix B".
    """
    check_transform(transform, source_type)
    column = _plain(array)
    match transform:
        case IdentityTransform():
            return column
        case VoidTransform():
            return pa.nulls(len(column), column.type)
        case BucketTransform(num_buckets=buckets):
            return core.bucket(column, buckets)
        case TruncateTransform(width=width):
            return _truncate(source_type, column, width)
        case YearTransform():
            return _since_epoch(column, "Y")
        case MonthTransform():
            return _since_epoch(column, "M")
        case DayTransform():
            return _since_epoch(column, "D")
        case HourTransform():
            return _since_epoch(column, "h")
        case UnknownTransform():
            raise UnsupportedError(f"Transform '{transform}' is unknown")
        case _:
            assert_never(transform)


def _plain(array: pa.Array) -> pa.Array:
    """Decode layouts that the kernels do not support: extensions, dictionaries, views, decimals."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _plain(array.dictionary_decode())
    if pa.types.is_string_view(kind):
        return array.cast(pa.string())
    if pa.types.is_binary_view(kind):
        return array.cast(pa.binary())
    if pa.types.is_decimal(kind):
        return _aligned(array.cast(pa.decimal128(kind.precision, kind.scale)))
    return array


def _aligned(decimals: pa.Array) -> pa.Array:
    """Return decimals at an address that is a multiple of 16, as the kernels require.

    Java aligns by 8 only, and pyiceberg-core panics on that.
    """
    data = decimals.buffers()[1]
    if data is None or data.address % _DECIMAL_BYTES == 0:
        return decimals
    return decimals.take(pa.array(np.arange(len(decimals))))


def _truncate(source_type: IcebergType, column: pa.Array, width: int) -> pa.Array:
    if isinstance(source_type, DecimalType):
        return _truncated_decimals(column, width)
    return core.truncate(column, width)


def _truncated_decimals(column: pa.Array, width: int) -> pa.Array:
    """Truncate towards minus infinity, which may need one digit more than the type has."""
    cut = core.truncate(column, width)
    kind = column.type
    least = pc.min(cut).as_py()
    if least is not None and least <= -_EXACT.scaleb(1, kind.precision - kind.scale):
        raise InvalidInputError(
            f"truncate[{width}] of {pc.min(column).as_py()} is {least}, which does not fit "
            f"decimal({kind.precision}, {kind.scale}); widen the column"
        )
    return cut


def _since_epoch(column: pa.Array, unit: str) -> pa.Array:
    """Return full years, months, days or hours since 1970, rounded towards the past."""
    dated = pa.types.is_date(column.type)
    numbers = column.view(pa.int32() if dated else pa.int64())
    filled = pc.fill_null(numbers, 0) if column.null_count else numbers
    ticks = filled.to_numpy(zero_copy_only=False).astype(np.int64)
    if not dated:
        ticks = ticks // (_HOUR[column.type.unit] * (1 if unit == "h" else 24))
    if unit in ("Y", "M"):
        ticks = ticks.view("datetime64[D]").astype(f"datetime64[{unit}]").view(np.int64)
    if len(ticks) and not -(2**31) <= ticks.min() <= ticks.max() < 2**31:
        raise InvalidInputError(
            "An hour of a timestamp does not fit 32 bits, so it can't be a partition value; the "
            f"column's values run from {pc.min(numbers)} to {pc.max(numbers)} {column.type.unit}"
        )
    mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    counts = pa.array(ticks.astype(np.int32), mask=mask)
    return counts.cast(pa.date32()) if unit == "D" else counts
