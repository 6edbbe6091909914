"""The `where` argument of a procedure as a predicate."""

from __future__ import annotations

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.expr.parse import parse_sql, predicate
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.constants import fold_constants


def parse_row_filter(spark: SparkSession, text: str) -> Unbound:
    """Parse the `where` argument of a procedure. `current_date()` is evaluated immediately.

    Raises InvalidExpressionError if the text is not a predicate.
    """
    dialect = session_dialect(spark)
    node = parse_sql(text, dialect)
    try:
        if "\\" not in text:  # Spark may read backslashes differently
            (node,) = fold_constants([node], spark, now=True)
        return predicate(node, text, dialect)
    except RecursionError as cause:
        raise InvalidExpressionError(
            "The predicate is nested too deeply: use IN for long lists of values"
        ) from cause
