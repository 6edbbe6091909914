"""The full name and columns of a table that a query names, as the session resolves it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparksStruct

from iceberg_spark.spark.session.own_methods import original_methods
from iceberg_spark.spark.sql.current_namespace import (
    current_namespace,
    is_iceberg_table,
    whole_name,
)
from iceberg_spark.spark.sql.qualifiers import Name
from iceberg_spark.spark.sql.references import TableReference
from iceberg_spark.spark.sql.relations import Columns, Relation
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.reserved import METADATA_COLUMN_NAMES
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import StructType

Fold = Callable[[str], str]


def folding(case_sensitive: bool) -> Fold:
    """Return a function that maps names to the same text if they are equal for the session."""
    return str if case_sensitive else str.lower


def iceberg_relation(
    spark: SparkSession, reference: TableReference, schema: Schema, fold: Fold
) -> Relation:
    """Return an Iceberg table or view as a relation of a query."""
    full_name = () if reference.alias is not None else whole_name(spark, reference.parts)
    return relation_of_schema(full_name, reference.alias or reference.parts[-1], schema, fold)


def relation_of_schema(full_name: Name, short_name: str, schema: Schema, fold: Fold) -> Relation:
    """Return an Iceberg table as a relation of that short name, with its metadata columns."""

    def columns() -> Columns:
        named = {field.name: isinstance(field.field_type, StructType) for field in schema.fields}
        hidden = dict.fromkeys(METADATA_COLUMN_NAMES, False)
        return {fold(name): is_struct for name, is_struct in {**hidden, **named}.items()}

    return Relation(fold(short_name), tuple(map(fold, full_name)), True, columns)


def relation_of_frame(full_name: Name, short_name: str, frame: DataFrame, fold: Fold) -> Relation:
    """Return a DataFrame of a table, a view or a query as a relation of that short name."""
    qualifier = full_name if len(full_name) > 1 else ()
    return Relation(
        fold(short_name), tuple(map(fold, qualifier)), True, lambda: _columns(frame.schema, fold)
    )


def named_relation(spark: SparkSession, reference: TableReference, fold: Fold) -> Relation:
    """Return an Iceberg table, a table of Spark, or a temporary view.

    The columns of an Iceberg table are not looked up.
    """
    if reference.alias is not None:
        full_name: Name = ()
        short_name = fold(reference.alias)
    else:
        full_name = tuple(map(fold, _possible_name(spark, reference.parts)))
        short_name = fold(reference.parts[-1])
    parts = whole_name(spark, reference.parts)
    if is_iceberg_table(spark, parts):
        return Relation(short_name, full_name, True)

    @cache
    def columns() -> Columns | None:
        try:
            return _columns(spark.table(".".join(map(quote, reference.parts))).schema, fold)
        except PySparkException:  # the query itself raises the error
            return None

    return Relation(short_name, full_name, False, columns)


def _columns(kind: SparksStruct, fold: Fold) -> Columns:
    return {fold(field.name): isinstance(field.dataType, SparksStruct) for field in kind.fields}


def _possible_name(spark: SparkSession, parts: Name) -> Name:
    """Return the full name of a table; for a temporary view, the one that a table would have."""
    full_name = whole_name(spark, parts)
    if (
        len(full_name) > 2
        or is_iceberg_table(spark, full_name)
        or current_namespace(spark) is not None
    ):
        return full_name
    with original_methods():
        catalog = spark.catalog.currentCatalog()
        return (
            catalog,
            *((spark.catalog.currentDatabase(),) if len(full_name) == 1 else ()),
            *full_name,
        )
