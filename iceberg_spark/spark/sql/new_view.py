"""The columns of a view to create, by Spark's analysis of its query."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType
from sqlglot import exp

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.session.session_dialect import OWN_FUNCTIONS, session_dialect
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.query import plan_query
from iceberg_spark.spark.sql.view_columns import ViewNames
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class AnalysedView:
    """The columns of a view's query, and the version of the Spark that analyzed it.

    `names` are their names in the query; fields of `schema` have other names, in the same order.
    """

    names: tuple[str, ...]
    schema: Schema
    spark_version: str


def analysed_view(
    spark: SparkSession, catalog: Catalog, identifier: str, text: str, namespace: tuple[str, ...]
) -> AnalysedView:
    """Analyze a query as the text of the view of this name.

    Raises InvalidInputError (not a query, one that reads the view itself, or one that calls a
    temporary function), NoSuchTableError, and Spark's errors.
    """
    path = (f"{catalog.name}.{identifier}",)
    within = ViewNames(catalog, catalog.name, namespace, path)
    frame = plan_query(spark, text, within).frame(spark)
    _refuse_temporary_functions(spark, text)
    names = tuple(frame.columns)
    columns = [
        StructField(f"_{index}", field.dataType, field.nullable, field.metadata)
        for index, field in enumerate(frame.schema.fields)
    ]  # the query may have two columns of one name
    return AnalysedView(names, from_spark(StructType(columns)), spark.version)


def _refuse_temporary_functions(spark: SparkSession, text: str) -> None:
    """Refuse functions that no other session has (Spark: INVALID_TEMP_OBJ_REFERENCE)."""
    root = ParsedQuery.of(text, session_dialect(spark)).tree.root
    called = {node.name for node in root.find_all(exp.Anonymous)}
    for name in sorted(called):
        try:
            function = spark.catalog.getFunction(name)
        except PySparkException:  # a function of a catalog
            continue
        if function.isTemporary and not (function.className or "").startswith(OWN_FUNCTIONS):
            raise InvalidInputError(
                f"The view's text calls {name}(), a temporary function, which other sessions do "
                "not have"
            )
