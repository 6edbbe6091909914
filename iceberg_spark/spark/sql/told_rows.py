"""A predicate as the text of an argument says it: `where` of a procedure."""

from __future__ import annotations

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.expr.parse import parse_sql, predicate
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.constants import worked_out


def told_rows(spark: SparkSession, text: str) -> Unbound:
    """Return the predicate of a text, read now: what `current_date()` is worth is the day's.

    Raises InvalidExpressionError for what is no predicate.
    """
    dialect = session_dialect(spark)
    node = parse_sql(text, dialect)
    try:
        if "\\" not in text:  # parts go to Spark as they were read here
            (node,) = worked_out([node], spark, now=True)
        return predicate(node, text, dialect)
    except RecursionError as cause:
        raise InvalidExpressionError(
            "The predicate is nested too deeply: use IN for long lists of values"
        ) from cause
