"""Names that PySpark's methods take as one text: "cat.db.t", with backticks or without.

After USE a name that begins with no catalog is one of what that chose.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.current_namespace import whole_name, whole_namespace
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


def table_parts(spark: SparkSession, text: object, *, new: bool = False) -> tuple[str, ...]:
    """Return the parts of a table's whole name; of a `new` table no view stands before it."""
    return whole_name(spark, name_parts(spark, text), new=new)


def given_parts(spark: SparkSession, text: object, *, new: bool = False) -> tuple[str, ...]:
    """Return `table_parts`, of a name that Spark can't read as well: its parts as they lie."""
    parts = table_parts(spark, text, new=new)
    if parts or not isinstance(text, str) or "`" in text:
        return parts
    return whole_name(spark, tuple(text.split(".")), new=new)


def namespace_parts(spark: SparkSession, text: object) -> tuple[str, ...]:
    """Return the parts of a namespace's whole name; without a text what USE chose."""
    return whole_namespace(spark, name_parts(spark, text))
