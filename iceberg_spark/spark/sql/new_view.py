"""The columns of a view to create, by Spark's analysis of its query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType
from sqlglot import exp

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.session.session_dialect import OWN_FUNCTIONS, session_dialect
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.query import columns_in_view, plan_query
from iceberg_spark.spark.sql.statement_context import StatementContext
from iceberg_spark.spark.sql.view_columns import ViewNames
from iceberg_spark.spark.sql.view_dialects import check_names, trino_text
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


def text_for_trino(
    spark: SparkSession,
    catalog: Catalog,
    identifier: str,
    text: str,
    namespace: tuple[str, ...],
    columns: Sequence[str],
    trino_catalog: str,
) -> str:
    """Return the text of a view for Trino, which calls the view's catalog `trino_catalog`.

    Raises UnsupportedError with the reason if it can't be carried over exactly.
    """
    names = ViewNames(catalog, catalog.name, namespace, (f"{catalog.name}.{identifier}",))

    def trino_name(parts: tuple[str, ...]) -> tuple[str, ...]:
        first, *rest = names.full_name(parts, spark)
        if first != catalog.name or len(rest) != 2:
            raise UnsupportedError(
                f"{'.'.join(parts)} is not in a namespace of one level of catalog {catalog.name}"
            )
        check_names(rest)
        return (trino_catalog, *rest)

    columns_of = partial(columns_in_view, spark, names, StatementContext(spark))
    return trino_text(text, session_dialect(spark), columns_of, trino_name, columns)


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
