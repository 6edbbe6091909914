"""`spark.sql` and `spark.table` of an enabled session, which also take Iceberg tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.pyspark_hooks.spark_errors import has_condition
from iceberg_spark.spark.catalyst.classic_queries import syntax_error
from iceberg_spark.spark.session.own_methods import original_methods, uses_original_methods
from iceberg_spark.spark.session.session_cache import session_cache
from iceberg_spark.spark.sql.catalog_errors import errors_of_catalogs
from iceberg_spark.spark.sql.spark_queries import is_sparks_statement, register_catalogs
from iceberg_spark.spark.sql.table_names import given_parts
from iceberg_spark.spark.sql.unreadable_text import UnreadableTextError
from iceberg_spark.spark.sql.variables import with_variables
from iceberg_spark.statements.session_state import may_name_iceberg_tables
from iceberg_spark.statements.sql import sql_with
from iceberg_spark.statements.target import names_table

Method: TypeAlias = Callable[..., DataFrame]

_EXTENSION = re.compile(r"\s*(CALL|ALTER)\b", re.IGNORECASE)
"""Heads of statements of Iceberg's that Spark's grammar lacks."""
_SYNTAX = "PARSE_SYNTAX_ERROR"
"""Spark's condition for these; with another one, its parser read the statement up to a fault."""


def hooked_sql(own: Method) -> Method:
    """Return a `SparkSession.sql` that runs statements on Iceberg tables; `own` is PySpark's."""

    def run(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:  # noqa: N803 - PySpark's name
        if uses_original_methods() or not isinstance(sqlQuery, str):
            return own(self, sqlQuery, args, **kwargs)
        with session_cache(self):
            with original_methods(), _sparks_syntax_errors(self, sqlQuery, kwargs):
                text = with_variables(self, sqlQuery)
                if may_name_iceberg_tables(self, text, args) and not _is_run_by_spark(self, text):
                    return sql_with(self, text, args, kwargs)
            with errors_of_catalogs(self):
                return own(self, sqlQuery, args, **kwargs)

    return run


def hooked_table(own: Method) -> Method:
    """Return `SparkSession.table` that reads Iceberg tables, by Spark where it resolves them."""

    def table(self: SparkSession, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        if uses_original_methods():
            return own(self, tableName)
        name = given_parts(self, tableName)
        is_place = "/" in name[-1]
        if names_table(self, name) and (is_place or not register_catalogs(self, tableName)):
            return self.read.table(tableName)
        with errors_of_catalogs(self):
            return own(self, tableName)

    return table


@contextmanager
def _sparks_syntax_errors(
    spark: SparkSession, text: str, formatted: Mapping[str, Any]
) -> Iterator[None]:
    """Raise Spark's own error, with its position, for a statement that Spark cannot parse.

    Statements that Iceberg adds to Spark's grammar keep this library's errors. Spark's parser also
    refuses statements with words in the right places, such as a MERGE whose clauses are never met.
    Text with `{fields}`, whose values are `formatted`, is not SQL yet.
    """
    try:
        yield
    except InvalidInputError as error:
        is_open = isinstance(error, UnreadableTextError) or not has_condition(error)
        of_parser = syntax_error(spark, text) if is_open and not formatted else None
        is_extension = _EXTENSION.match(text) is not None
        if of_parser is None or (is_extension and of_parser.getCondition() == _SYNTAX):
            raise
        raise of_parser from None


def _is_run_by_spark(spark: SparkSession, text: str) -> bool:
    return register_catalogs(spark, text) and is_sparks_statement(spark, text)
