"""Arguments of procedures, evaluated by Spark and cast to their parameters' types as Spark does.

Source: Spark's ProcedureArgumentCoercion, by ANSI's rules. Unlike there, these rules also hold
without ANSI mode: a value outside its type would become NULL, and NULL means the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from iceberg_spark.errors import InvalidTypeError
from iceberg_spark.spark.session.error_conditions import (
    ARGUMENT_TYPE,
    CAST_INVALID_INPUT,
    CAST_OVERFLOW,
    with_condition,
)
from iceberg_spark.spark.session.expressions import without_variables
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spec.quoted_name import quote

TEXT, NUMBER, COUNT, FLAG = StringType(), LongType(), IntegerType(), BooleanType()
MOMENT = TimestampType()
TEXTS, NUMBERS = ArrayType(TEXT), ArrayType(NUMBER)
PAIRS = MapType(TEXT, TEXT)


def cast_values(
    spark: SparkSession, texts: Mapping[str, str], kinds: Mapping[str, DataType]
) -> dict[str, Any]:
    """Return what arguments are worth, each of its parameter's type, by one query of constants.

    Raises InvalidTypeError for a value of another type, Spark's own errors for faults in texts.
    """
    if not texts:
        return {}
    named = ", ".join(f"{text} AS {quote(name)}" for name, text in texts.items())
    arguments = run_sql(spark, f"SELECT {without_variables(named)}")
    argument_types = {name: kinds[name] for name in texts}
    for field in arguments.schema.fields:
        if not _becomes(field.dataType, argument_types[field.name]):
            wrong = _wrong(field.name, texts[field.name], argument_types[field.name])
            raise with_condition(wrong, ARGUMENT_TYPE)
    row = _cast(arguments, argument_types).toArrow()
    values = {name: _value(row.column(name)[0]) for name in texts}
    for name in texts:
        if values[name] is None and not row.column(_null(name))[0].as_py():
            is_text = isinstance(arguments.schema[name].dataType, StringType)
            wrong = _wrong(name, texts[name], argument_types[name])
            raise with_condition(wrong, CAST_INVALID_INPUT if is_text else CAST_OVERFLOW)
    return values


def _value(scalar: pa.Scalar) -> Any:
    """Return a value of Python; of a moment its ms, for Python's calendar ends at 9999."""
    if not pa.types.is_timestamp(scalar.type) or not scalar.is_valid:
        return scalar.as_py()
    micros = scalar.cast(pa.timestamp("us", scalar.type.tz)).cast(pa.int64()).as_py()
    return micros // 1000


def _cast(arguments: DataFrame, argument_types: Mapping[str, DataType]) -> DataFrame:
    columns = []
    for name, kind in argument_types.items():
        column = arguments[name]
        is_cast = arguments.schema[name].dataType.simpleString() != kind.simpleString()
        columns.append(column.try_cast(kind).alias(name) if is_cast else column)
        columns.append(column.isNull().alias(_null(name)))
    return arguments.select(columns)


def _null(name: str) -> str:
    return f"{name} is null"


def _becomes(from_type: DataType, to_type: DataType) -> bool:
    """Return whether Spark casts an argument unasked (Spark: AnsiTypeCoercion.implicitCast)."""
    match from_type, to_type:
        case ArrayType(), ArrayType():
            return _stored_as(from_type.elementType, to_type.elementType)
        case MapType(), MapType():
            keys = _stored_as(from_type.keyType, to_type.keyType)
            return keys and _stored_as(from_type.valueType, to_type.valueType)
        case StringType(), AtomicType():
            return True
        case _:
            return _stored_as(from_type, to_type)


def _stored_as(from_type: DataType, to_type: DataType) -> bool:
    """Return whether a column would take it (Spark: Cast.canANSIStoreAssign)."""
    match from_type, to_type:
        case (NullType(), _) | (AtomicType(), StringType()) | (NumericType(), NumericType()):
            return True
        case (DateType() | TimestampNTZType(), TimestampType()):
            return True
        case _:
            return from_type.simpleString() == to_type.simpleString()


def _wrong(name: str, text: str, kind: DataType) -> InvalidTypeError:
    return InvalidTypeError(f"Argument '{name}' must be of type {kind.simpleString()}: {text}")
