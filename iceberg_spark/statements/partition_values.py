"""Values of PARTITION (...), of INSERT and of SHOW PARTITIONS."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from iceberg_spark.arrow.values import from_array
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.literals import DateLiteral, TimeLiteral, TimestampLiteral
from iceberg_spark.expr.nodes import (
    ALWAYS_TRUE,
    And,
    Comparison,
    IsNaN,
    IsNull,
    Op,
    Reference,
    Unbound,
)
from iceberg_spark.spark.adapt.types import type_text
from iceberg_spark.spark.session.error_conditions import CAST_INVALID_INPUT, with_condition
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema
from iceberg_spark.statements.answers import row_of, values_of
from iceberg_spark.write.align_columns import AlignOptions, align_batches

_LOCAL = (t.TimestampType, t.TimestampNanoType)
_ZONED = (t.TimestamptzType, t.TimestamptzNanoType)
_NANO = (t.TimestampNanoType, t.TimestamptzNanoType)


def check_once(names: Sequence[str]) -> None:
    """Refuse duplicate names, as Spark does. Raises InvalidInputError."""
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"PARTITION ({name}): the name is given twice")


def check_types(spark: SparkSession, typed_texts: Mapping[str, tuple[str, DataType]]) -> None:
    """Refuse values that do not convert to the type with the same name.

    As in Spark, their texts are cast by ANSI's rules in every session. CAST alone would turn 3.7
    into 3, and without ANSI mode a word into NULL. Raises InvalidInputError.
    """
    names = list(typed_texts)
    misfits = [
        f"({text}) IS NOT NULL AND try_cast(CAST(({text}) AS STRING) AS {type_text(kind)}) IS NULL"
        for text, kind in typed_texts.values()
    ]
    for name, misfit in zip(names, values_of(spark, misfits), strict=True):
        if misfit:
            text, kind = typed_texts[name]
            error = InvalidInputError(f"PARTITION ({name}): {text} is no {kind.simpleString()}")
            raise with_condition(error, CAST_INVALID_INPUT)


def with_values(spark: SparkSession, schema: Schema, texts: Mapping[str, str]) -> Unbound:
    """Return the predicate that columns equal the values of expressions of their types.

    Spark evaluates them first, so no setting of a session changes the comparison.
    """
    if not texts:
        return ALWAYS_TRUE
    kinds = Schema(*(field for field in schema.fields if field.name in texts))
    constants = row_of(spark, {field.name: texts[field.name] for field in kinds.fields})
    (row,) = align_batches(kinds, constants.to_batches(), AlignOptions())
    return And(
        tuple(
            _with_value(field.name, field.field_type, *from_array(field.field_type, column))
            for field, column in zip(kinds.fields, row.columns, strict=True)
        )
    )


def _with_value(name: str, kind: t.IcebergType, value: object) -> Unbound:
    """Return the predicate that a column has a canonical value."""
    column = Reference(name)
    match value:
        case None:
            return IsNull(column)
        case float() if math.isnan(value):
            return IsNaN(column)
        case int() if isinstance(kind, t.DateType):
            return Comparison(Op.EQ, column, DateLiteral(value))
        case int() if isinstance(kind, t.TimeType):
            return Comparison(Op.EQ, column, TimeLiteral(value * 1000))
        case int() if isinstance(kind, (*_LOCAL, *_ZONED)):
            nanos = value if isinstance(kind, _NANO) else value * 1000
            zone = "UTC" if isinstance(kind, _ZONED) else None
            return Comparison(Op.EQ, column, TimestampLiteral(nanos, zone, zone is None))
        case _:
            return Comparison(Op.EQ, column, value)
