"""A frame's rows sent to tasks and ordered as a table asks for (Java: SparkWriteUtil)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias, assert_never, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf

from iceberg_spark.arrow.arrays import with_offsets
from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.engine import Distribution
from iceberg_spark.spec import types as t
from iceberg_spark.spec.properties import WRITE_DISTRIBUTION_MODE, text_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import NullOrder, SortDirection, SortField
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
from iceberg_spark.spec.types import IcebergType
from iceberg_spark.write.cast_columns import cast_step
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.sorted_files import can_sort

_MODES: Mapping[str, Distribution] = {"none": "none", "hash": "hash", "range": "range"}
SourceOf: TypeAlias = Callable[[int], Column]
"""From a field id of the table to the frame's column."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What a write asks for: columns that tell partitions, for folders, a mode, and sort keys."""

    keys: tuple[Column, ...]
    mode: Distribution
    order: tuple[Column, ...]


def distribution(context: WriteContext, requested: str | None = None) -> Distribution:
    """Return how rows go to tasks: as asked, else as the table's property says, else by its form.

    A sorted table takes range, a partitioned one hash, as in Java's SparkWriteConf. Raises
    InvalidOptionError for an unknown mode.
    """
    if requested is not None and requested.lower() not in _MODES:
        raise InvalidOptionError(
            f"distribution-mode: '{requested}' is unknown; use one of {', '.join(_MODES)}"
        )
    named = requested
    if named is None and WRITE_DISTRIBUTION_MODE in context.properties:
        named = text_property(context.properties, WRITE_DISTRIBUTION_MODE)
    partitioned, ordered = not context.spec.is_unpartitioned, is_sortable(context)
    if named is None:
        return "range" if ordered else ("hash" if partitioned else "none")
    mode = _MODES[named.lower()]
    if mode == "hash" and not partitioned:
        return "none"
    return "none" if mode == "range" and not partitioned and not ordered else mode


def is_sortable(context: WriteContext) -> bool:
    """Return whether the table has a sort order and all its transforms are known."""
    return can_sort(context.sort_order, context.schema)


def arrangement(context: WriteContext, requested: str | None, source_of: SourceOf) -> Arrangement:
    """Return what a write asks for, over the frame's columns."""
    schema = context.schema
    keys = pack_keys(
        [
            _partition_key(
                part.transform, schema.find_type(part.source_id), source_of(part.source_id)
            )
            for part in context.spec.live_fields
        ]
    )
    order: tuple[Column, ...] = ()
    if is_sortable(context):
        order = tuple(_sort_key(key, schema, source_of) for key in context.sort_order.fields)
    return Arrangement(keys, distribution(context, requested), order)


def _partition_key(transform: Transform, kind: IcebergType, source: Column) -> PartitionKey:
    return PartitionKey(transform, kind, folder_column(transform, kind, source))


def _sort_key(key: SortField, schema: Schema, source_of: SourceOf) -> Column:
    kind = schema.find_type(key.source_id)
    column = transform_column(key.transform, kind, source_of(key.source_id))
    first = key.null_order is NullOrder.NULLS_FIRST
    if key.direction is SortDirection.ASC:
        return column.asc_nulls_first() if first else column.asc_nulls_last()
    return column.desc_nulls_first() if first else column.desc_nulls_last()


def arrange(
    frame: DataFrame, mode: Distribution, keys: Sequence[Column], order: Sequence[Column]
) -> DataFrame:
    """Return the frame distributed by `mode`, its tasks' rows sorted where there is an order.

    By hash, adaptive execution cuts what is too much for a task, as for Java's runtime.
    """
    clustering = [key.asc() for key in keys]
    if mode == "hash":
        frame = frame.hint("rebalance", *keys)
    elif mode == "range":
        frame = frame.repartitionByRange(*clustering, *order)
    return frame.sortWithinPartitions(*clustering, *order) if order else frame


_BITS = 63  # of a long that is never below zero
_INT = (-(2**31), 2**31 - 1)
_CALENDAR = {
    YearTransform: (-6_000_000, 6_000_000),  # of 32-bit days
    MonthTransform: (-96_000_000, 96_000_000),  # 16 a year
    DayTransform: _INT,
    HourTransform: (-2_600_000_000, 2_600_000_000),  # of 64-bit microseconds
}


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A partition field's folder column (`transform_columns.folder_column`)."""

    transform: Transform
    source: t.IcebergType
    column: Column


def pack_keys(keys: Sequence[PartitionKey]) -> tuple[Column, ...]:
    """Return one column that tells and orders the keys' combinations, or the keys' columns.

    They stay as they are where there is one, or where their values don't fit 63 bits together.
    Nulls come first.
    """
    columns = tuple(key.column for key in keys)
    ranges = [span for key in keys if (span := _span(key)) is not None]
    bits = [(last - first + 1).bit_length() for first, last in ranges]
    if len(keys) < 2 or len(ranges) < len(keys) or sum(bits) > _BITS:
        return columns
    numbers = [
        sf.coalesce(column.cast("bigint") - sf.lit(first - 1), sf.lit(0).cast("bigint"))
        for column, (first, _) in zip(columns, ranges, strict=True)
    ]
    pairs = zip(numbers[1:], bits[1:], strict=True)
    return (
        reduce(
            lambda all_, digit: sf.shiftleft(all_, digit[1]).bitwiseOR(digit[0]), pairs, numbers[0]
        ),
    )


def _span(key: PartitionKey) -> tuple[int, int] | None:
    """Return the least and greatest number that a key can be, None for one that is no number."""
    match key.transform, result_type(key.transform, key.source):
        case BucketTransform(num_buckets=buckets), _:
            return 0, buckets - 1
        case YearTransform() | MonthTransform() | DayTransform() | HourTransform(), _:
            return _CALENDAR[type(key.transform)]
        case _, t.BooleanType():
            return 0, 1
        case _, t.IntegerType() | t.DateType():
            return _INT
        case _:
            return None


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


KeysOf: TypeAlias = Callable[[SourceOf], Sequence[Column]]
"""From the table's columns to values by which rows are sorted, ascending, nulls first."""
_STEM = "sort key "


@dataclass(frozen=True, slots=True)
class Placement:
    """Rows go to `tasks` tasks by ranges of an order, and are sorted in each.

    The order is that of the write's context, or of `keys` computed from the rows. With
    `by_partition` rows belong to several partitions: ranges and order begin with these.
    """

    tasks: int
    by_partition: bool = False
    keys: KeysOf | None = None


def distribute_rows(
    frame: DataFrame,
    partition: Sequence[Column],
    arrangement: Arrangement,
    placement: Placement,
    source_of: SourceOf,
) -> DataFrame:
    """Return the frame with its rows placed; `partition` are columns of it that tell partitions.

    Computed keys are columns while rows are sorted: a sort would compute them at each comparison.
    """
    order, names = arrangement.order, list[str]()
    if placement.keys is not None:
        computed = placement.keys(source_of)
        names = [f"{_STEM}{number}" for number in range(len(computed))]
        named = [key.alias(name) for key, name in zip(computed, names, strict=True)]
        frame = frame.select("*", *named)
        order = tuple(sf.col(f"`{name}`").asc_nulls_first() for name in names)
    clustering = [column.asc() for column in partition]
    ranges = [*clustering, *order] if placement.by_partition else order
    if ranges:
        frame = frame.repartitionByRange(placement.tasks, *ranges)
    elif placement.by_partition:  # all into one partition, in no order: as few files as that takes
        frame = frame.coalesce(placement.tasks)
    if clustering or order:
        frame = frame.sortWithinPartitions(*clustering, *order)
    return frame.drop(*names) if names else frame
