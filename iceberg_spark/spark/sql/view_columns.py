"""The rows of a view under its own column names and types, by position (Java: ResolveViews)."""

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
"""Digits of integer types, as Spark counts them (DecimalType.forType)."""
_ATOMIC_PAIRS = {
    (s.DateType, s.TimestampType), (s.DateType, s.TimestampNTZType),
    (s.TimestampNTZType, s.TimestampType), (s.TimestampType, s.TimestampNTZType),
    (s.TimestampType, s.LongType), (s.LongType, s.TimestampType),
}  # fmt: skip


def as_view(frame: DataFrame, schema: Schema, view: str) -> DataFrame:
    """Return the rows of a view's query with the view's columns; extra columns are dropped.

    Raises InvalidSchemaError if the query has too few columns, or types that do not fit.
    """
    view_fields, fields = to_spark(schema).fields, frame.schema.fields
    if len(fields) < len(view_fields):
        raise InvalidSchemaError(
            f"View {view} has {len(view_fields)} columns, and its text gives {len(fields)} now"
        )
    names = [f"c{number}" for number in range(len(fields))]
    pairs = zip(names, fields, view_fields, strict=False)
    columns = [_column(f.col(name), here, there, view) for name, here, there in pairs]
    return frame.toDF(*names).select(*columns)


def _column(column: Column, source: s.StructField, target: s.StructField, view: str) -> Column:
    kind = _nullable(target.dataType)
    if not can_widen(source.dataType, kind):
        raise InvalidSchemaError(
            f"Column {target.name} of view {view} is {kind.simpleString()}, and its text gives "
            f"{source.dataType.simpleString()} now: create the view again"
        )
    same = _nullable(source.dataType) == kind
    return (column if same else column.cast(kind)).alias(target.name, metadata=target.metadata)


def can_widen(source: s.DataType, target: s.DataType) -> bool:
    """Return whether every value of the source type has the target type (Spark: Cast.canUpCast)."""
    match source, target:
        case _ if source == target or isinstance(source, s.NullType):
            return True
        case s.ArrayType(), s.ArrayType():
            return can_widen(source.elementType, target.elementType)
        case s.MapType(), s.MapType():
            key = can_widen(source.keyType, target.keyType)
            return key and can_widen(source.valueType, target.valueType)
        case s.StructType(), s.StructType():
            pairs = zip(source.fields, target.fields, strict=False)
            fits = all(
                can_widen(source_field.dataType, target_field.dataType)
                for source_field, target_field in pairs
            )
            return len(source.fields) == len(target.fields) and fits
        case s.AtomicType(), s.StringType():
            return not isinstance(source, s.VariantType)
        case _:
            return _is_wider(source, target)


def _is_wider(source: s.DataType, target: s.DataType) -> bool:
    if isinstance(target, s.DecimalType):
        digits = _digits(source)
        if digits is None:
            return False
        before, behind = digits
        return target.precision - target.scale >= before and target.scale >= behind
    if isinstance(source, s.DecimalType):
        most = _INTEGERS.get(type(target))
        return most is not None and source.scale == 0 and source.precision < most
    if isinstance(source, _WIDENING) and isinstance(target, _WIDENING):
        return _WIDENING.index(type(source)) <= _WIDENING.index(type(target))
    return (type(source), type(target)) in _ATOMIC_PAIRS


def _digits(kind: s.DataType) -> tuple[int, int] | None:
    """Return the number of digits before and after the decimal point."""
    if isinstance(kind, s.DecimalType):
        return kind.precision - kind.scale, kind.scale
    most = _INTEGERS.get(type(kind))
    return None if most is None else (most, 0)


def _nullable(kind: s.DataType) -> s.DataType:
    """Return a type without nullability and comments."""
    match kind:
        case s.StructType():
            return s.StructType([s.StructField(x.name, _nullable(x.dataType)) for x in kind.fields])
        case s.ArrayType():
            return s.ArrayType(_nullable(kind.elementType))
        case s.MapType():
            return s.MapType(_nullable(kind.keyType), _nullable(kind.valueType))
        case _:
            return kind
