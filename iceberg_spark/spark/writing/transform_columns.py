"""Partition and sort transforms as Spark expressions (specification, "Partition Transforms")."""

from __future__ import annotations

from typing import assert_never, cast

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf

from iceberg_spark.arrow.arrays import with_offsets
from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema
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
    result_type,
)
from iceberg_spark.write.cast_columns import cast_step

_DAY_MICROS = 86_400_000_000
_HOUR_MICROS = 3_600_000_000
_ZERO_SEED = -1693959553
"""Spark's `hash` of this int is 0, and the seed chains: what follows is hashed with seed 0."""
_HASHED_AS_LONGS = (t.IntegerType, t.LongType, t.DateType, t.TimestamptzType)
_INTEGERS = (t.IntegerType, t.LongType)
_NAMED = 100  # bytes that a folder name shows in hexadecimal; of longer ones it shows a digest


def transform_column(transform: Transform, kind: t.IcebergType, column: Column) -> Column:
    """Return a column that distinguishes and orders a transform's results; null for null.

    Values of truncate[w] of whole numbers are counted in w, months by 16 a year. Bucket is the
    specification's hash by Spark SQL alone where that is exact, else by a vectorised function.
    """
    match transform:
        case IdentityTransform():
            return column
        case VoidTransform():
            return sf.lit(None)
        case BucketTransform(num_buckets=buckets):
            return _bucket(buckets, kind, column)
        case TruncateTransform(width=width):
            return _truncate(width, kind, column)
        case YearTransform() | MonthTransform() | DayTransform():
            return _calendar(transform, _date(kind, column))
        case HourTransform():
            return _hour(kind, column)
        case UnknownTransform():
            raise UnsupportedError(f"Transform '{transform}' is unknown")
        case _:
            assert_never(transform)


def _bucket(buckets: int, kind: t.IcebergType, column: Column) -> Column:
    if not isinstance(kind, _HASHED_AS_LONGS):
        return _by_arrow(BucketTransform(buckets), kind, column)
    hashed = sf.hash(sf.lit(_ZERO_SEED), _as_long(kind, column))
    bucket = sf.pmod(hashed.bitwiseAND(sf.lit(0x7FFFFFFF)), sf.lit(buckets))
    return sf.when(column.isNotNull(), bucket)


def _truncate(width: int, kind: t.IcebergType, column: Column) -> Column:
    if isinstance(kind, _INTEGERS):
        return _floor_div(column.cast("bigint"), width)
    if isinstance(kind, t.DecimalType):
        return _by_arrow(TruncateTransform(width), kind, column)
    return sf.substring(column, 1, width)


def _calendar(transform: YearTransform | MonthTransform | DayTransform, date: Column) -> Column:
    match transform:
        case YearTransform():
            return sf.year(date) - sf.lit(1970)
        case MonthTransform():  # bits, since ANSI arithmetic looks for overflow at every step
            return sf.shiftleft(sf.year(date), 4).bitwiseOR(sf.month(date))
        case DayTransform():
            return sf.unix_date(date)


def folder_column(transform: Transform, kind: t.IcebergType, column: Column) -> Column:
    """Return a column that may name folders: different for different results, on any store.

    Spark puts null and '' into one folder and escapes by its own rules, so that text, bytes and
    all else that is no whole number is written in hexadecimal behind a letter.
    """
    result = transform_column(transform, kind, column)
    match result_type(transform, kind):
        case t.IntegerType() | t.LongType():
            return result
        case t.DateType():
            return sf.unix_date(result) if isinstance(transform, IdentityTransform) else result
        case t.TimestamptzType():
            return sf.unix_micros(result)
        case t.BooleanType():
            return result.cast("int")
        case t.BinaryType():
            return _hexadecimal(result)
        case _:
            return _hexadecimal(result.cast("string").cast("binary"))


def _hexadecimal(data: Column) -> Column:
    """Return non-null text without any character that file systems treat in their own way."""
    shown = sf.concat(sf.lit("v"), sf.hex(data))
    digest = sf.concat(sf.lit("d"), sf.sha2(data, 256))
    named = sf.when(sf.octet_length(data) <= _NAMED, shown).otherwise(digest)
    return sf.coalesce(named, sf.lit("n"))


def _as_long(kind: t.IcebergType, column: Column) -> Column:
    match kind:
        case t.DateType():
            return sf.unix_date(column).cast("bigint")
        case t.TimestamptzType():
            return sf.unix_micros(column)
        case _:
            return column.cast("bigint")


def _floor_div(column: Column, width: int) -> Column:
    """Divide whole numbers and round down; never beyond 64 bits: below zero, ~(~column / width)."""
    sign = sf.shiftright(column, 63)
    quotient = sf.call_function("div", column.bitwiseXOR(sign), sf.lit(width).cast("bigint"))
    return quotient.bitwiseXOR(sign)


def _date(kind: t.IcebergType, column: Column) -> Column:
    """Return the day of a date or timestamp, of an instant the day in UTC."""
    match kind:
        case t.TimestamptzType():
            days = _floor_div(sf.unix_micros(column), _DAY_MICROS)
            return sf.date_from_unix_date(days.cast("int"))
        case t.TimestampType():
            return column.cast("date")
        case _:
            return column


def _hour(kind: t.IcebergType, column: Column) -> Column:
    if isinstance(kind, t.TimestamptzType):
        return _floor_div(sf.unix_micros(column), _HOUR_MICROS)
    return sf.unix_date(column.cast("date")).cast("bigint") * sf.lit(24) + sf.hour(column)


def _by_arrow(transform: Transform, kind: t.IcebergType, column: Column) -> Column:
    """Return the transform of a column by a vectorised function in the Python workers."""
    result = t.NestedField(1, "result", result_type(transform, kind))

    def apply(array: pa.Array) -> pa.Array:
        step = cast_step(array.type, kind, str(transform))
        values = with_offsets(array)
        return apply_transform(transform, kind, values if step is None else step(values))

    # PySpark's overloads know iterators only; a plain array is as good.
    function = arrow_udf(  # type: ignore[call-overload]
        apply, to_spark(Schema(result)).fields[0].dataType
    )
    return cast(Column, function(column))
