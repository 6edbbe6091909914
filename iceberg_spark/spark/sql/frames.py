"""DataFrames and values in the braces of a text, as in `spark.sql(text, df=df)`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from string import Formatter
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession

from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.spark.catalyst.column_texts import column_text
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.arguments import sql_literal

Frames: TypeAlias = Mapping[str, Any]
"""DataFrames by the names that they have in a text."""


def with_frames(
    spark: SparkSession, text: str, values: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return a text in which DataFrames have generated names and other values are literals.

    Raises InvalidInputError for a name without a value, UnsupportedError for `{df.column}`.
    """
    pieces: list[str] = []
    names: dict[str, str] = {}
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as cause:
        raise InvalidInputError(f"The braces of the text can't be read: {cause}") from cause
    for plain, name, how, _ in parsed:
        pieces.append(plain)
        if name is None:
            continue
        if name not in values:
            is_field = name.partition(".")[0].partition("[")[0] in values
            kind = UnsupportedError if is_field and name else InvalidInputError
            raise kind(
                f"{{{name}}}: given are {', '.join(values)}; a column is written by its name"
            )
        if isinstance(values[name], DataFrame):
            pieces.append(names.setdefault(name, f"iceberg_spark_{uuid.uuid4().hex}"))
        else:
            pieces.append(_text(spark, values[name], how or ""))
    return "".join(pieces), {names[name]: values[name] for name in names}


@contextmanager
def frames_as_views(spark: SparkSession, frames: Frames) -> Iterator[None]:
    """Register DataFrames as views of the session while the block runs."""
    with ExitStack() as views:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
            views.callback(spark.catalog.dropTempView, name)
        yield


def _text(spark: SparkSession, value: Any, how: str) -> str:
    """Return a value as SQL: the name of a column, a tuple's values in brackets, or a literal.

    A number with a format (`{x:.2f}`) is formatted, as in PySpark.
    """
    match value:
        case Column():
            return column_text(spark, value)
        case tuple():
            return f"({', '.join(_literal(spark, item) for item in value)})"
        case int() | float() if how:
            return format(value, how)
        case _:
            return format(_literal(spark, value), how)


def _literal(spark: SparkSession, value: Any) -> str:
    frame = run_sql(spark, "SELECT :value AS c", {"value": value})
    kind = frame.schema.fields[0].dataType
    return sql_literal(kind, frame.toArrow().column(0)[0], session_dialect(spark))
