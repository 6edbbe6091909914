"""OPTIONS of CREATE TABLE: a table's properties, each by two names (Spark: CatalogV2Util)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.types import AtomicType, BinaryType, DataType

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.expressions import without_variables
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.sql.statements.create_table import CreateTable, is_path
from iceberg_spark.spark.sql.statements.properties import Option

OPTION = "option."
"""What the names of properties begin with that were options (Spark: TableCatalog.OPTION_PREFIX)."""


def with_options(spark: SparkSession, statement: CreateTable) -> CreateTable:
    """Return a statement with its options among the properties, before which they come.

    The option `path` is the location. Raises InvalidInputError, Spark's own errors for faults.
    """
    texts = _texts(spark, statement.options)
    places = [text for key, text in texts.items() if is_path(key)]
    options = {key: text for key, text in texts.items() if not is_path(key)}
    marked = {f"{OPTION}{key}": text for key, text in options.items()}
    return replace(
        statement,
        properties={**statement.properties, **options, **marked},
        location=places[0] if places else statement.location,
        options={},
    )


def _texts(spark: SparkSession, options: Mapping[str, Option]) -> dict[str, str]:
    expressions = {key: option.text for key, option in options.items() if option.is_expression}
    return {key: option.text for key, option in options.items()} | _evaluate(spark, expressions)


def _evaluate(spark: SparkSession, expressions: Mapping[str, str]) -> dict[str, str]:
    """Return what expressions are worth as texts, by one query of constants."""
    if not expressions:
        return {}
    names = {f"_{index}": key for index, key in enumerate(expressions)}
    terms = ", ".join(f"{expressions[key]} AS {name}" for name, key in names.items())
    frame = run_sql(spark, f"SELECT {without_variables(terms)}")
    for field in frame.schema.fields:
        if not _has_text(field.dataType):
            raise _refused(names[field.name], expressions)
    row = frame.select([frame[name].cast("string").alias(name) for name in names]).toArrow()
    texts = {key: row.column(name)[0].as_py() for name, key in names.items()}
    for key, text in texts.items():
        if text is None:
            raise _refused(key, expressions)
    return texts


def _has_text(kind: DataType) -> bool:
    return isinstance(kind, AtomicType) and not isinstance(kind, BinaryType)


def _refused(key: str, expressions: Mapping[str, str]) -> InvalidInputError:
    return InvalidInputError(
        f"Option '{key}' must be a text, a number, a flag or a time, not {expressions[key]}"
    )
