"""A view's rows under its own columns' names and types, by their places (Java: ResolveViews)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as s

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spec.schema import Schema

_WIDENING = (
    s.ByteType, s.ShortType, s.IntegerType, s.LongType, s.FloatType, s.DoubleType,
)  # fmt: skip
_INTEGERS: dict[type[s.DataType], int] = {
    s.ByteType: 3,
    s.ShortType: 5,
    s.IntegerType: 10,
    s.LongType: 20,
}
"""Digits of integers, as Spark counts them (DecimalType.forType)."""
_ATOMIC_PAIRS = {
    (s.DateType, s.TimestampType), (s.DateType, s.TimestampNTZType),
    (s.TimestampNTZType, s.TimestampType), (s.TimestampType, s.TimestampNTZType),
    (s.TimestampType, s.LongType), (s.LongType, s.TimestampType),
}  # fmt: skip


def as_view(frame: DataFrame, schema: Schema, view: str) -> DataFrame:
    """Return the rows of a view's text as the view has them; columns behind its own are dropped.

    Raises InvalidSchemaError where the text gives too few columns, or values that don't fit.
    """
    wanted, given = to_spark(schema).fields, frame.schema.fields
    if len(given) < len(wanted):
        raise InvalidSchemaError(
            f"View {view} has {len(wanted)} columns, and its text gives {len(given)} now"
        )
    places = [f"c{number}" for number in range(len(given))]
    pairs = zip(places, given, wanted, strict=False)
    columns = [_column(f.col(place), here, there, view) for place, here, there in pairs]
    return frame.toDF(*places).select(*columns)


def _column(column: Column, given: s.StructField, wanted: s.StructField, view: str) -> Column:
    kind = _nullable(wanted.dataType)
    if not can_widen(given.dataType, kind):
        raise InvalidSchemaError(
            f"Column {wanted.name} of view {view} is {kind.simpleString()}, and its text gives "
            f"{given.dataType.simpleString()} now: create the view anew"
        )
    same = _nullable(given.dataType) == kind
    return (column if same else column.cast(kind)).alias(wanted.name, metadata=wanted.metadata)


def can_widen(given: s.DataType, wanted: s.DataType) -> bool:
    """Return whether every value of a type is one of the other (Spark: Cast.canUpCast)."""
    match given, wanted:
        case _ if given == wanted or isinstance(given, s.NullType):
            return True
        case s.ArrayType(), s.ArrayType():
            return can_widen(given.elementType, wanted.elementType)
        case s.MapType(), s.MapType():
            key = can_widen(given.keyType, wanted.keyType)
            return key and can_widen(given.valueType, wanted.valueType)
        case s.StructType(), s.StructType():
            pairs = zip(given.fields, wanted.fields, strict=False)
            fits = all(can_widen(one.dataType, other.dataType) for one, other in pairs)
            return len(given.fields) == len(wanted.fields) and fits
        case s.AtomicType(), s.StringType():
            return not isinstance(given, s.VariantType)
        case _:
            return _is_wider(given, wanted)


def _is_wider(given: s.DataType, wanted: s.DataType) -> bool:
    if isinstance(wanted, s.DecimalType):
        digits = _digits(given)
        if digits is None:
            return False
        before, behind = digits
        return wanted.precision - wanted.scale >= before and wanted.scale >= behind
    if isinstance(given, s.DecimalType):
        most = _INTEGERS.get(type(wanted))
        return most is not None and given.scale == 0 and given.precision < most
    if isinstance(given, _WIDENING) and isinstance(wanted, _WIDENING):
        return _WIDENING.index(type(given)) <= _WIDENING.index(type(wanted))
    return (type(given), type(wanted)) in _ATOMIC_PAIRS


def _digits(kind: s.DataType) -> tuple[int, int] | None:
    """Return how many digits stand before and behind the point."""
    if isinstance(kind, s.DecimalType):
        return kind.precision - kind.scale, kind.scale
    most = _INTEGERS.get(type(kind))
    return None if most is None else (most, 0)


def _nullable(kind: s.DataType) -> s.DataType:
    """Return a type without what it says about nulls and comments."""
    match kind:
        case s.StructType():
            return s.StructType([s.StructField(x.name, _nullable(x.dataType)) for x in kind.fields])
        case s.ArrayType():
            return s.ArrayType(_nullable(kind.elementType))
        case s.MapType():
            return s.MapType(_nullable(kind.keyType), _nullable(kind.valueType))
        case _:
            return kind
