"""Names that PySpark's methods take as one text: "cat.db.t", with or without backticks.

After USE, a name that begins with no catalog belongs to the namespace that USE chose.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.current_namespace import whole_name, whole_namespace
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of


def name_parts(spark: SparkSession, text: object) -> tuple[str, ...]:
    """Return the parts of a name, none if the text is not a name: Spark raises the error."""
    if not isinstance(text, str):
        return ()
    try:
        cursor = Cursor(text, tokens_of(text, session_dialect(spark)))
        parts = cursor.name()
    except InvalidInputError:
        return ()
    return parts if cursor.at_end else ()


def table_parts(spark: SparkSession, text: object, *, new: bool = False) -> tuple[str, ...]:
    """Return the parts of a table's full name; views do not take precedence over a `new` table."""
    return whole_name(spark, name_parts(spark, text), new=new)


def given_parts(spark: SparkSession, text: object, *, new: bool = False) -> tuple[str, ...]:
    """Return `table_parts`; a name that Spark cannot parse is split at its dots."""
    parts = table_parts(spark, text, new=new)
    if parts or not isinstance(text, str) or "`" in text:
        return parts
    return whole_name(spark, tuple(text.split(".")), new=new)


def namespace_parts(spark: SparkSession, text: object) -> tuple[str, ...]:
    """Return the parts of a namespace's full name; without a text, of the current namespace."""
    return whole_namespace(spark, name_parts(spark, text))
