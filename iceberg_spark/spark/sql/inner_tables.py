"""Tables of ours inside conditions and values: views stand in for them while a verb runs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from pyspark.sql import SparkSession

from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.adapt.quoted import quoted
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.mentions import mentions_ours
from iceberg_spark.spark.sql.qualifiers import Name, prefixes
from iceberg_spark.spark.sql.query import SparksTable, plan_query
from iceberg_spark.spark.sql.text_edits import edited

_BEFORE = "SELECT 1 WHERE "
_SUBQUERIES = ("select", "from", "table")


@contextmanager
def with_inner_tables(
    spark: SparkSession, expressions: Sequence[str], tables: Sequence[Name] = ()
) -> Iterator[list[str]]:
    """Give expressions in which tables of ours, named by subqueries, are views of the session.

    The views are of the versions that are newest now, and go with the block. `tables` are whole
    names that columns may stand behind, and lose. Texts without any are given as they are.
    """
    dialect = session_dialect(spark) if tables else SPARK
    with ExitStack() as views:
        given = [_replaced(spark, text, views, _BEFORE) for text in expressions]
        yield [edited(one, 0, len(one), prefixes(one, tables, dialect)) for one in given]


@contextmanager
def with_inner_query(spark: SparkSession, query: str) -> Iterator[str]:
    """Give a query whose tables of ours are views of the session while the block runs."""
    with ExitStack() as views:
        yield _replaced(spark, query, views, "")


def _replaced(spark: SparkSession, text: str, views: ExitStack, before: str) -> str:
    if not any(word in text.lower() for word in _SUBQUERIES) or not mentions_ours(spark, text):
        return text
    query = plan_query(spark, f"{before}{text}")
    pieces, at = [], len(before)
    for part in query.parts:
        if isinstance(part, SparksTable):
            continue
        one = part.reference
        view = f"iceberg_spark_{uuid.uuid4().hex}"
        part.frame(spark).createOrReplaceTempView(view)
        views.callback(spark.catalog.dropTempView, view)
        pieces += [
            query.between(at, one.start),
            view,
            query.between(one.end, one.alias_at),
            "" if one.alias else f" AS {quoted(one.parts[-1])}",
        ]
        at = one.alias_at
    return "".join([*pieces, query.between(at, len(query.text))])
