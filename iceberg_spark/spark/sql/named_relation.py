"""What a session says of a table that a text names: its whole name and its columns."""

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
from iceberg_spark.spec.quoted_name import quoted
from iceberg_spark.spec.reserved import METADATA_COLUMN_NAMES
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import StructType

Fold = Callable[[str], str]


def folding(case_sensitive: bool) -> Fold:
    """Return what makes names one that the session takes for one."""
    return str if case_sensitive else str.lower


def relation_of_ours(
    spark: SparkSession, reference: TableReference, schema: Schema, fold: Fold
) -> Relation:
    """Return a table or view of ours as a query reads it."""
    whole = () if reference.alias is not None else whole_name(spark, reference.parts)
    return relation_of_schema(whole, reference.alias or reference.parts[-1], schema, fold)


def relation_of_schema(whole: Name, own: str, schema: Schema, fold: Fold) -> Relation:
    """Return a table of ours that is called `own`, with its metadata columns."""

    def columns() -> Columns:
        named = {field.name: isinstance(field.field_type, StructType) for field in schema.fields}
        hidden = dict.fromkeys(METADATA_COLUMN_NAMES, False)
        return {fold(name): is_struct for name, is_struct in {**hidden, **named}.items()}

    return Relation(fold(own), tuple(map(fold, whole)), True, columns)


def relation_of_frame(whole: Name, own: str, frame: DataFrame, fold: Fold) -> Relation:
    """Return a frame that stands for a table, a view or a query, and is called `own`."""
    known = whole if len(whole) > 1 else ()
    return Relation(fold(own), tuple(map(fold, known)), True, lambda: _columns(frame.schema, fold))


def named_relation(spark: SparkSession, reference: TableReference, fold: Fold) -> Relation:
    """Return a table that may be one of ours, of Spark's, or a temporary view.

    Of a table of ours the columns aren't looked up.
    """
    if reference.alias is not None:
        whole: Name = ()
        own = fold(reference.alias)
    else:
        whole = tuple(map(fold, _possible_name(spark, reference.parts)))
        own = fold(reference.parts[-1])
    parts = whole_name(spark, reference.parts)
    if is_iceberg_table(spark, parts):
        return Relation(own, whole, True)

    @cache
    def columns() -> Columns | None:
        try:
            return _columns(spark.table(".".join(map(quoted, reference.parts))).schema, fold)
        except PySparkException:  # what is wrong with it the query will say
            return None

    return Relation(own, whole, False, columns)


def _columns(kind: SparksStruct, fold: Fold) -> Columns:
    return {fold(one.name): isinstance(one.dataType, SparksStruct) for one in kind.fields}


def _possible_name(spark: SparkSession, parts: Name) -> Name:
    """Return the whole name of a table; of a temporary view the one that a table would have."""
    whole = whole_name(spark, parts)
    if len(whole) > 2 or is_iceberg_table(spark, whole) or current_namespace(spark) is not None:
        return whole
    with original_methods():
        catalog = spark.catalog.currentCatalog()
        return (catalog, *((spark.catalog.currentDatabase(),) if len(whole) == 1 else ()), *whole)
