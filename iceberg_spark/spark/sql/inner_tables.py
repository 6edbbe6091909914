"""Iceberg tables in subqueries of conditions and values: temporary views while a command runs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from sqlglot.tokenizer_core import TokenType

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.catalyst.classic_queries import frame_of
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.named_relation import folding, named_relation
from iceberg_spark.spark.sql.own_names import Around, Naming
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.qualifiers import Name, edited
from iceberg_spark.spark.sql.query import SparksTable, plan_query
from iceberg_spark.spark.sql.references_iceberg import references_iceberg
from iceberg_spark.spark.sql.relations import Relation
from iceberg_spark.spark.sql.statement_context import StatementContext
from iceberg_spark.spark.sql.statements.cursor import tokens_of
from iceberg_spark.spark.sql.unreadable_text import UnreadableTextError

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
    context: StatementContext | None = None,
) -> Iterator[list[str]]:
    """Yield expressions in which the Iceberg tables of subqueries are temporary views.

    The views have the versions that `context` has loaded, else the newest, the same in all
    expressions. They are dropped after the block. Columns are qualified with the short names of
    the relations `around`. A text with neither is unchanged.
    """
    context = StatementContext(spark) if context is None else context
    with ExitStack() as views:
        yield [_replaced(context, text, views, _BEFORE, around) for text in expressions]


@contextmanager
def with_inner_query(spark: SparkSession, query: str) -> Iterator[str]:
    """Yield a query whose Iceberg tables are temporary views while the block runs."""
    with ExitStack() as views:
        yield _replaced(StatementContext(spark), query, views, "")


def _replaced(
    context: StatementContext, text: str, views: ExitStack, before: str, around: Around = _NOTHING
) -> str:
    spark = context.spark
    if not _has_subquery(text) or not references_iceberg(spark, text):
        naming = _naming(spark, text, around)
        if naming is None:
            return text
        edits = naming.own_names().edits
        statement = f"{_BEFORE}{text}"
        return edited(statement, len(_BEFORE), len(statement), sorted(edits))
    try:
        query = plan_query(spark, f"{before}{text}", around=around, context=context)
    except UnreadableTextError:
        simple = _with_simple_subqueries(context, text, views) if before else text
        if simple == text:
            raise
        return _replaced(context, simple, views, before, around)
    pieces, position = [], len(before)
    for part in query.parts:
        if isinstance(part, SparksTable):
            continue
        reference = part.reference
        pieces += [
            query.between(position, reference.start),
            _view(frame_of(part.rows(spark), spark), views),
            query.between(reference.end, reference.alias_at),
            query.alias(reference),
        ]
        position = reference.alias_at
    return "".join([*pieces, query.between(position, len(query.text))])


def _with_simple_subqueries(context: StatementContext, text: str, views: ExitStack) -> str:
    """Return an expression in which subqueries that only Spark's parser reads are temporary views.

    Spark keeps their rows while the command runs: its analyzer would resolve the tables of a view
    again at each use, at another version. Subqueries that refer to columns around them stay.
    """
    pieces, position = [], 0
    for start, end in _subqueries(text, session_dialect(context.spark)):
        try:
            rows = plan_query(context.spark, text[start:end], context=context).frame(context.spark)
        except AnalysisException:
            continue
        view = _view(rows.localCheckpoint(eager=False), views)
        pieces += [text[position:start], f"SELECT * FROM {view}"]  # noqa: S608
        position = end
    return "".join([*pieces, text[position:]])


def _subqueries(text: str, dialect: Dialect) -> Iterator[tuple[int, int]]:
    """Yield start and end of each subquery of an expression that is in no other one."""
    tokens, depth, opened = tokens_of(text, dialect), 0, None
    for token, following in pairwise(tokens):
        begins = following.text.lower() in (*_SUBQUERIES, "with", "values")
        if token.token_type is TokenType.L_PAREN:
            if opened is None and begins:
                opened = depth, int(following.start)
            depth += 1
        if following.token_type is TokenType.R_PAREN:
            depth -= 1
            if opened is not None and opened[0] == depth:
                yield opened[1], int(following.start)
                opened = None


def _view(rows: DataFrame, views: ExitStack) -> str:
    """Return the name of a temporary view of rows, which is dropped with `views`."""
    name = f"iceberg_spark_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(name)
    views.callback(rows.sparkSession.catalog.dropTempView, name)
    return name


def _has_subquery(text: str) -> bool:
    return any(word in text.lower() for word in _SUBQUERIES)


def _naming(spark: SparkSession, text: str, around: Around) -> Naming | None:
    """Return how an expression names tables; None if it names none of the relations around."""
    if not around.relations:
        return None
    dialect, fold = session_dialect(spark), folding(is_case_sensitive(spark))
    if not around.concerns(text, dialect, fold):
        return None
    try:
        parsed = ParsedQuery.of(f"{_BEFORE}{text}", dialect)
    except UnreadableTextError:
        if _has_subquery(text):
            return None  # its subqueries may be for Spark's parser
        raise
    relation_of = partial(named_relation, spark, fold=fold)
    inside = [relation_of(reference) for reference in parsed.references]
    relations = (*inside, *around.relations)
    full_names = [relation.full_name for relation in relations if relation.is_ours]
    return Naming(parsed, relation_of, around, fold, full_names)
