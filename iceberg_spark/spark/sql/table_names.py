"""Names that PySpark's methods take as one text: "cat.db.t", with backticks or without."""

from __future__ import annotations

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of


def name_parts(spark: SparkSession, text: object) -> tuple[str, ...]:
    """Return the parts of a name, none where it is no such text: Spark says what is wrong."""
    if not isinstance(text, str):
        return ()
    try:
        cursor = Cursor(text, tokens_of(text, session_dialect(spark)))
        parts = cursor.name()
    except InvalidInputError:
        return ()
    return parts if cursor.at_end else ()
