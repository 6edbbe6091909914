"""What a view that is to be made gives, by Spark's analysis of its text."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.sql.query import plan_query
from iceberg_spark.spark.sql.view_names import ViewNames
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class AnalysedView:
    """The columns that a view's text gives, and the Spark that says so."""

    schema: Schema
    spark_version: str


def analysed_view(
    spark: SparkSession, catalog: Catalog, identifier: str, text: str, namespace: tuple[str, ...]
) -> AnalysedView:
    """Return what a text gives as the view of this name.

    Raises InvalidInputError (no query, or one that reads the view itself), NoSuchTableError, and
    Spark's errors.
    """
    path = (f"{catalog.name}.{identifier}",)
    names = ViewNames(catalog, catalog.name, namespace, path)
    frame = plan_query(spark, text, names).frame(spark)
    return AnalysedView(from_spark(frame.schema), spark.version)
