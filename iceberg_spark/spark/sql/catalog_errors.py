"""Errors that Spark raises because of one of this library's catalogs, as this library's errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_spark.catalog.table_name import missing_table
from iceberg_spark.errors import IcebergError, NoSuchNamespaceError, NoSuchTableError
from iceberg_spark.spark.catalyst.spark_catalog import original_error
from iceberg_spark.spark.sql.current_namespace import is_iceberg_table, whole_name
from iceberg_spark.spark.sql.query import TableAddress, load_table_or_view
from iceberg_spark.spark.sql.statement_context import StatementContext
from iceberg_spark.spec.quoted_name import quoted_parts

_CONDITION, _NAME = "TABLE_OR_VIEW_NOT_FOUND", "relationName"
_POSITION = re.compile(r"line \d+ pos \d+")


@contextmanager
def errors_of_catalogs(spark: SparkSession) -> Iterator[None]:
    """Raise this library's error where one of its catalogs made Spark's analyzer fail."""
    try:
        yield
    except PySparkException as error:
        original = original_error(error) or missing_table_error(spark, error)
        if original is None:
            raise
        raise original from None


def missing_table_error(spark: SparkSession, error: PySparkException) -> IcebergError | None:
    """Return the error for a table that Spark did not find, None if its catalog is not Iceberg's.

    Its text names the location where the catalog expects the table, a similar name, and the
    position in the statement.
    """
    if error.getCondition() != _CONDITION:
        return None
    name = quoted_parts((error.getMessageParameters() or {}).get(_NAME, ""))
    full_name = whole_name(spark, name or ())
    if not is_iceberg_table(spark, full_name):
        return None
    context = StatementContext(spark)
    address = TableAddress(*context.resolve(".".join(full_name)))
    try:
        load_table_or_view(address, context)
    except (NoSuchTableError, NoSuchNamespaceError) as cause:
        missing = missing_table(address.catalog, address.identifier, cause)
        position = _POSITION.search(str(error))
        return missing if position is None else NoSuchTableError(f"{missing} ({position[0]})")
    except IcebergError as other:
        return other
    return None
