"""The type of a function's argument in a statement, resolved by Spark over the tables there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType
from sqlglot.tokenizer_core import Token

from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.errors import IcebergError, InvalidInputError
from iceberg_spark.spark.row_level.target_rows import empty_frame, row_type
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spark.session.session_catalogs import session_catalog
from iceberg_spark.spark.sql.current_namespace import is_iceberg_table, whole_name
from iceberg_spark.spark.sql.statements.cursor import Cursor
from iceberg_spark.spec.schema import Schema

_BEFORE_TABLES = ("FROM", "JOIN", "INTO", "UPDATE", "USING", "TABLE")
_NO_ALIAS = (
    "WHERE", "ON", "USING", "JOIN", "LEFT", "RIGHT", "INNER", "FULL", "CROSS", "SEMI", "ANTI",
    "NATURAL", "GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "HAVING", "LIMIT", "OFFSET",
    "UNION", "EXCEPT", "INTERSECT", "MINUS", "SET", "WHEN", "SELECT", "VALUES", "VERSION",
    "TIMESTAMP", "FOR", "LATERAL", "PIVOT", "UNPIVOT", "WINDOW", "TABLESAMPLE",
)  # fmt: skip


def argument_type(
    spark: SparkSession, text: str, tokens: Sequence[Token], argument: str
) -> DataType | None:
    """Return the type of an expression in a statement, None if it cannot be determined.

    Its columns are looked up in all Iceberg tables that the statement names. A column may also
    come from a subquery or a table of Spark, so callers check the values too.
    """
    tables: list[tuple[str, Schema]] = []
    for table in _tables(spark, text, tokens):
        if table not in tables:  # the same table twice would make its columns ambiguous
            tables.append(table)
    aliased = [empty_frame(schema, spark).alias(name) for name, schema in tables]
    scopes = (reduce(DataFrame.crossJoin, aliased, spark.range(1).select()), _merged(spark, tables))
    for scope in scopes:
        try:
            return scope.select(expression(argument).alias("c")).schema.fields[0].dataType
        except PySparkException:  # the statement itself raises the error
            continue
    return None


def _merged(spark: SparkSession, tables: Sequence[tuple[str, Schema]]) -> DataFrame:
    """Return an empty DataFrame of the columns that have the same type in all tables."""
    kinds: dict[str, set[DataType]] = {}
    for _, schema in tables:
        for field in row_type(schema).fields:
            kinds.setdefault(field.name, set()).add(field.dataType)
    alike = {name: next(iter(types)) for name, types in kinds.items() if len(types) == 1}
    return spark.createDataFrame([], StructType([StructField(*column) for column in alike.items()]))


def _tables(
    spark: SparkSession, text: str, tokens: Sequence[Token]
) -> Iterator[tuple[str, Schema]]:
    """Yield the schemas of Iceberg tables, with the names that qualify their columns."""
    for index, token in enumerate(tokens[:-1]):
        if token.text.upper() not in _BEFORE_TABLES:
            continue
        cursor = Cursor(text, tokens[index + 1 :])
        try:
            name = cursor.name()
        except InvalidInputError:  # a bracket follows
            continue
        schema = _schema(spark, name)
        if schema is not None:
            yield _alias(cursor) or name[-1], schema


def _alias(cursor: Cursor) -> str | None:
    cursor.takes("AS")
    if cursor.at_end or any(cursor.sees(word) for word in _NO_ALIAS):
        return None
    try:
        return cursor.identifier()
    except InvalidInputError:
        return None


def _schema(spark: SparkSession, name: tuple[str, ...]) -> Schema | None:
    full_name = whole_name(spark, name)
    is_location = len(full_name) == 1 and "/" in full_name[0]
    if not is_location and not is_iceberg_table(spark, full_name):
        return None
    above = (full_name[:-1],) if len(full_name) > 2 else ()
    for parts in (full_name, *above):  # a branch may follow the table's name
        table = ".".join(parts)
        try:
            catalog, identifier = resolve(
                table, with_settings(table, {}, partial(session_catalog, spark))
            )
            return catalog.load(identifier).metadata.schema
        except IcebergError:
            continue
    return None
