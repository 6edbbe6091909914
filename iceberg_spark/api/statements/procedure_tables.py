"""Tables as arguments of procedures name them (Java: BaseProcedure.toIdentifier)."""

from __future__ import annotations

from pyspark.sql import SparkSession

from iceberg_spark.api.statements.target import Name, Target, is_location, target
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.session_catalogs import has_spark_catalog, is_ours
from iceberg_spark.spark.sql.current_namespace import current_namespace
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of

_SPARKS = "spark_catalog"


def named_table(spark: SparkSession, catalog: str, text: str) -> Target:
    """Return the table or branch that a text names in the catalog of a procedure.

    A name without a namespace is in the namespace that USE chose, if that is in this catalog.
    Raises InvalidInputError for a table of another catalog.
    """
    if not text:
        raise InvalidInputError("A procedure's table has an empty name")
    name = (text,) if "/" in text and "`" not in text else _parts(text)
    return target(spark, name if is_location(name) else _whole_name(spark, catalog, name))


def _parts(text: str) -> Name:
    if "`" not in text:
        return tuple(part.strip() for part in text.split("."))
    cursor = Cursor(text, tokens_of(text))
    name = cursor.name()
    cursor.done()
    return name


def _whole_name(spark: SparkSession, catalog: str, name: Name) -> Name:
    current = current_namespace(spark)
    if len(name) == 1:
        return (*current, *name) if current and current[0] == catalog else (catalog, *name)
    if name[0] == catalog:
        return name
    if len(name) > 2 and _is_catalog(spark, name[0]):
        raise InvalidInputError(
            f"{'.'.join(name)} is in catalog '{name[0]}', the procedure that is called in "
            f"'{catalog}': say CALL {name[0]}.system. ..."
        )
    return (catalog, *name)


def _is_catalog(spark: SparkSession, name: str) -> bool:
    return name == _SPARKS or is_ours(spark, name) or has_spark_catalog(spark, name)
