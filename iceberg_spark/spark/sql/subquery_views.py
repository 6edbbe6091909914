"""Temporary views for the Iceberg tables in subqueries of conditions and values of a command."""

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
from iceberg_spark.spark.row_level.kept_rows import checkpoint
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.named_relation import folding, named_relation
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.qualified_columns import OuterScope, QualifierResolver
from iceberg_spark.spark.sql.qualifiers import Name, apply_edits
from iceberg_spark.spark.sql.query import SparksTable, plan_query
from iceberg_spark.spark.sql.references_iceberg import references_iceberg
from iceberg_spark.spark.sql.relations import Relation
from iceberg_spark.spark.sql.statement_context import StatementContext
from iceberg_spark.spark.sql.statements.cursor import tokens_of
from iceberg_spark.spark.sql.unreadable_text import UnreadableTextError

_BEFORE = "SELECT 1 WHERE "
_SUBQUERIES = ("select", "from", "table")
_NO_OUTER_SCOPE = OuterScope()


def outer_scope(
    spark: SparkSession, expressions: Sequence[str], relations: Sequence[Relation]
) -> OuterScope:
    """Return the outer relations of a command's expressions, under names that all of them can use.

    Raises InvalidInputError if the table of a column cannot be determined.
    """
    outer = OuterScope(tuple(relations))
    ambiguous_names: set[Name] = set()
    for text in expressions:
        resolver = _resolver(spark, text, outer)
        ambiguous_names |= resolver.ambiguous_names() if resolver is not None else set()
    full_names = {relation.full_name for relation in relations}
    return OuterScope(outer.relations, frozenset(ambiguous_names & full_names))


@contextmanager
def with_subquery_views(
    spark: SparkSession,
    expressions: Sequence[str],
    outer: OuterScope = _NO_OUTER_SCOPE,
    context: StatementContext | None = None,
) -> Iterator[list[str]]:
    """Yield expressions in which the Iceberg tables of subqueries are temporary views.

    The views have the versions that `context` has loaded, else the newest, the same in all
    expressions. They are dropped after the block. Columns are qualified with the short names of
    the `outer` relations. A text with neither is unchanged.
    """
    context = StatementContext(spark) if context is None else context
    with ExitStack() as views:
        yield [_replace_tables(context, text, views, _BEFORE, outer) for text in expressions]


@contextmanager
def with_query_views(spark: SparkSession, query: str) -> Iterator[str]:
    """Yield a query whose Iceberg tables are temporary views while the block runs."""
    with ExitStack() as views:
        yield _replace_tables(StatementContext(spark), query, views, "")


def _replace_tables(
    context: StatementContext,
    text: str,
    views: ExitStack,
    before: str,
    outer: OuterScope = _NO_OUTER_SCOPE,
) -> str:
    spark = context.spark
    if not _has_subquery(text) or not references_iceberg(spark, text):
        resolver = _resolver(spark, text, outer)
        if resolver is None:
            return text
        edits = resolver.resolve().edits
        statement = f"{_BEFORE}{text}"
        return apply_edits(statement, len(_BEFORE), len(statement), sorted(edits))
    try:
        query = plan_query(spark, f"{before}{text}", outer=outer, context=context)
    except UnreadableTextError:
        simple = _replace_subqueries(context, text, views) if before else text
        if simple == text:
            raise
        return _replace_tables(context, simple, views, before, outer)
    pieces, position = [], len(before)
    for part in query.parts:
        if isinstance(part, SparksTable):
            continue
        reference = part.reference
        pieces += [
            query.between(position, reference.start),
            _create_view(frame_of(part.rows(spark), spark), views),
            query.between(reference.end, reference.alias_at),
            query.alias(reference),
        ]
        position = reference.alias_at
    return "".join([*pieces, query.between(position, len(query.text))])


def _replace_subqueries(context: StatementContext, text: str, views: ExitStack) -> str:
    """Return an expression in which subqueries that only Spark's parser reads are temporary views.

    Spark keeps their rows while the command runs: its analyzer would resolve the tables of a view
    again at each use, at another version. Subqueries that refer to columns of the outer query stay.
    """
    pieces, position = [], 0
    for start, end in _subqueries(text, session_dialect(context.spark)):
        try:
            rows = plan_query(context.spark, text[start:end], context=context).frame(context.spark)
        except AnalysisException:
            continue
        view = _create_view(checkpoint(rows, eager=False), views)
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


def _create_view(rows: DataFrame, views: ExitStack) -> str:
    """Return the name of a temporary view of rows, which is dropped with `views`."""
    name = f"iceberg_spark_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(name)
    views.callback(rows.sparkSession.catalog.dropTempView, name)
    return name


def _has_subquery(text: str) -> bool:
    return any(word in text.lower() for word in _SUBQUERIES)


def _resolver(spark: SparkSession, text: str, outer: OuterScope) -> QualifierResolver | None:
    """Return a resolver for an expression; None if it names none of the outer relations."""
    if not outer.relations:
        return None
    dialect, fold = session_dialect(spark), folding(is_case_sensitive(spark))
    if not outer.concerns(text, dialect, fold):
        return None
    try:
        parsed = ParsedQuery.of(f"{_BEFORE}{text}", dialect)
    except UnreadableTextError:
        if _has_subquery(text):
            return None  # its subqueries may be for Spark's parser
        raise
    relation_of = partial(named_relation, spark, fold=fold)
    inside = [relation_of(reference) for reference in parsed.references]
    relations = (*inside, *outer.relations)
    full_names = [relation.full_name for relation in relations if relation.is_iceberg]
    return QualifierResolver(parsed, relation_of, outer, fold, full_names)
