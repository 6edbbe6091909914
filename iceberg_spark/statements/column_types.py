"""Types and defaults of columns as the session reads them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.expr.default_value import default_value
from iceberg_spark.expr.schema_ddl import type_from_ddl
from iceberg_spark.spark.session.error_conditions import (
    DEFAULT_TYPE,
    RANDOM_DEFAULT,
    SUBQUERY_DEFAULT,
    UNRESOLVED_DEFAULT,
    with_condition,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec.types import IcebergType, StructType, TimestamptzType
from iceberg_spark.statements.answers import values_of

_TIMESTAMP = "spark.sql.timestampType"
_PROBE = "__iceberg_spark_probe"
_SUBQUERY = re.compile(r"\(\s*(SELECT|WITH|VALUES|FROM)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ColumnDefault:
    """The default of a column as a statement has it; `type` is None for an unknown column."""

    column: str
    text: str
    type: IcebergType | None


def has_wall_clocks(spark: SparkSession) -> bool:
    """Return whether TIMESTAMP is TIMESTAMP_NTZ to a session."""
    return str(spark.conf.get(_TIMESTAMP)).upper() == "TIMESTAMP_NTZ"


def column_type(spark: SparkSession, text: str) -> str | IcebergType:
    """Return a column's type, as text if it does not depend on the session."""
    if "timestamp" not in text.lower() or not has_wall_clocks(spark):
        return text
    return type_from_ddl(text, wall_clocks=True)


def defaults_of(spark: SparkSession, defaults: Sequence[ColumnDefault]) -> list[Any]:
    """Return the values of defaults; two queries at most.

    Spark casts a default to the column's type: a date or a wall clock becomes an instant in the
    session's time zone. Raises InvalidSchemaError for a default that is not a constant of the
    column's type, and Spark's own errors.
    """
    for default in defaults:
        _check_constant(spark, default)
    values = values_of(spark, [default.text for default in defaults])
    late = [
        index
        for index, (value, default) in enumerate(zip(values, defaults, strict=True))
        if isinstance(default.type, TimestamptzType) and _is_wall_clock(value)
    ]
    casts = values_of(spark, [f"CAST(({defaults[index].text}) AS TIMESTAMP_LTZ)" for index in late])
    for index, value in zip(late, casts, strict=True):
        values[index] = value
    for default, value in zip(defaults, values, strict=True):
        _check_type(default, value)
    return values


def _check_constant(spark: SparkSession, default: ColumnDefault) -> None:
    """Refuse a subquery, a column's name and a random value. Raises InvalidSchemaError."""
    shown = f"DEFAULT {default.text} of column '{default.column}'"
    if _SUBQUERY.search(default.text):
        error = InvalidSchemaError(f"{shown} has a subquery: write a constant")
        raise with_condition(error, SUBQUERY_DEFAULT)
    condition = expression(f"({default.text}) IS NULL")
    left, right = spark.range(1).toDF(f"{_PROBE}_1"), spark.range(1).toDF(f"{_PROBE}_2")
    try:
        left.join(right, condition).isStreaming  # noqa: B018 - analyzes the plan
    except AnalysisException as error:
        if "INVALID_NON_DETERMINISTIC_EXPRESSIONS" in str(error):
            random = InvalidSchemaError(f"{shown} is not deterministic: write a constant")
            raise with_condition(random, RANDOM_DEFAULT) from None
        if "[UNRESOLVED_COLUMN" not in str(error):
            raise
        reason = str(error).partition(" SQLSTATE")[0].partition(" Did you mean")[0].strip()
        named = InvalidSchemaError(f"{shown} can't be resolved: {reason}")
        raise with_condition(named, UNRESOLVED_DEFAULT) from None


def _check_type(default: ColumnDefault, value: object) -> None:
    if default.type is None or isinstance(default.type, StructType):
        return
    try:
        default_value(default.column, default.type, value)
    except InvalidSchemaError as error:
        with_condition(error, DEFAULT_TYPE)
        raise


def _is_wall_clock(value: object) -> bool:
    return isinstance(value, dt.date | str) and getattr(value, "tzinfo", None) is None
