"""Iceberg tables in subqueries of conditions and values: temporary views while a command runs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from pyspark.sql import SparkSession

from iceberg_spark.spark.catalyst.classic_queries import frame_of
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.mentions import mentions_ours
from iceberg_spark.spark.sql.named_relation import folding, named_relation
from iceberg_spark.spark.sql.own_names import Around, Naming
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.qualifiers import Name, edited
from iceberg_spark.spark.sql.query import SparksTable, plan_query
from iceberg_spark.spark.sql.relations import Relation
from iceberg_spark.spark.sql.seen import Seen

_BEFORE = "SELECT 1 WHERE "
_SUBQUERIES = ("select", "from", "table")
_NOTHING = Around()


def seen_around(
    spark: SparkSession, expressions: Sequence[str], relations: Sequence[Relation]
) -> Around:
    """Return the outer relations of a command's expressions, under names that all of them can use.

    Raises InvalidInputError if the table of a column cannot be determined.
    """
    around = Around(tuple(relations))
    needed: set[Name] = set()
    for text in expressions:
        naming = _naming(spark, text, around)
        needed |= naming.needed() if naming is not None else set()
    full_names = {relation.full_name for relation in relations}
    return Around(around.relations, frozenset(needed & full_names))


@contextmanager
def with_inner_tables(
    spark: SparkSession,
    expressions: Sequence[str],
    around: Around = _NOTHING,
    seen: Seen | None = None,
) -> Iterator[list[str]]:
    """Yield expressions in which the Iceberg tables of subqueries are temporary views.

    The views show the versions that were `seen` before, else the newest, the same in all
    expressions. They are dropped after the block. Columns are qualified with the short names of
    the relations `around`. A text with neither is unchanged.
    """
    seen = Seen(spark) if seen is None else seen
    with ExitStack() as views:
        yield [_replaced(seen, text, views, _BEFORE, around) for text in expressions]


@contextmanager
def with_inner_query(spark: SparkSession, query: str) -> Iterator[str]:
    """Yield a query whose Iceberg tables are temporary views while the block runs."""
    with ExitStack() as views:
        yield _replaced(Seen(spark), query, views, "")


def _replaced(
    seen: Seen, text: str, views: ExitStack, before: str, around: Around = _NOTHING
) -> str:
    spark = seen.spark
    if not _has_subquery(text) or not mentions_ours(spark, text):
        naming = _naming(spark, text, around)
        if naming is None:
            return text
        edits = naming.own_names().edits
        statement = f"{_BEFORE}{text}"
        return edited(statement, len(_BEFORE), len(statement), sorted(edits))
    query = plan_query(spark, f"{before}{text}", around=around, seen=seen)
    pieces, position = [], len(before)
    for part in query.parts:
        if isinstance(part, SparksTable):
            continue
        reference = part.reference
        view = f"iceberg_spark_{uuid.uuid4().hex}"
        frame_of(part.rows(spark), spark).createOrReplaceTempView(view)
        views.callback(spark.catalog.dropTempView, view)
        pieces += [
            query.between(position, reference.start),
            view,
            query.between(reference.end, reference.alias_at),
            query.alias(reference),
        ]
        position = reference.alias_at
    return "".join([*pieces, query.between(position, len(query.text))])


def _has_subquery(text: str) -> bool:
    return any(word in text.lower() for word in _SUBQUERIES)


def _naming(spark: SparkSession, text: str, around: Around) -> Naming | None:
    """Return how an expression names tables; None if it names none of the relations around."""
    if not around.relations:
        return None
    dialect, fold = session_dialect(spark), folding(is_case_sensitive(spark))
    if not around.concerns(text, dialect, fold):
        return None
    parsed = ParsedQuery.of(f"{_BEFORE}{text}", dialect)
    relation_of = partial(named_relation, spark, fold=fold)
    inside = [relation_of(reference) for reference in parsed.references]
    relations = (*inside, *around.relations)
    full_names = [relation.full_name for relation in relations if relation.is_ours]
    return Naming(parsed, relation_of, around, fold, full_names)
