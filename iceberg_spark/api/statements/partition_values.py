"""Values of PARTITION (...), of INSERT and of SHOW PARTITIONS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from iceberg_spark.api.statements.answers import values_of
from iceberg_spark.errors import InvalidInputError


def check_once(names: Sequence[str]) -> None:
    """Refuse a name that is given twice, as Spark does. Raises InvalidInputError."""
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"PARTITION ({name}): the name is given twice")


def check_types(spark: SparkSession, given: Mapping[str, tuple[str, DataType]]) -> None:
    """Refuse values, by their names with a type each, that are none of the type.

    As in Spark their texts count, and ANSI's rules hold whatever the session says: CAST alone
    would take 3.7 for 3, and without ANSI a word for NULL. Raises InvalidInputError.
    """
    names = list(given)
    misfits = [
        f"({text}) IS NOT NULL AND try_cast(CAST(({text}) AS STRING) AS {kind.simpleString()}) "
        "IS NULL"
        for text, kind in given.values()
    ]
    for name, misfit in zip(names, values_of(spark, misfits), strict=True):
        if misfit:
            text, kind = given[name]
            raise InvalidInputError(f"PARTITION ({name}): {text} is no {kind.simpleString()}")
