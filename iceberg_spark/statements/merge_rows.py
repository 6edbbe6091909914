"""MERGE by the table's verb."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.merge import MergeBuilder
from iceberg_spark.errors import InvalidExpressionError, InvalidInputError, InvalidSchemaError
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.row_level.fixed_clock import BARE, clock
from iceberg_spark.spark.session.error_conditions import AMBIGUOUS_REFERENCE, with_condition
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.current_namespace import whole_name
from iceberg_spark.spark.sql.evolving_columns import Assigned, evolving_columns, star_values
from iceberg_spark.spark.sql.named_relation import folding, relation_of_frame
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.query import Query, SparksTable, plan_query
from iceberg_spark.spark.sql.relations import Relation
from iceberg_spark.spark.sql.statements.rows import Merge, WhenClause
from iceberg_spark.spark.sql.struct_coercion import StructCoercion, coerces_structs
from iceberg_spark.spark.sql.subquery_views import outer_scope, with_subquery_views
from iceberg_spark.spark.sql.unreadable_text import UnreadableTextError
from iceberg_spark.spec.schema import Schema
from iceberg_spark.statements.answers import nothing
from iceberg_spark.statements.matched_columns import (
    assigned_column,
    once,
    target_relation,
    values_of,
)
from iceberg_spark.statements.write_target import WriteTarget, resolve_write_target


def merge(spark: SparkSession, statement: Merge) -> DataFrame:
    """Carry out a MERGE. Raises InvalidInputError for a row that several source rows match."""
    destination = resolve_write_target(spark, statement.table)
    moment = time.time_ns() // 1000
    source, ambiguous = _rows_of(spark, statement, destination, moment)
    if statement.schema_evolution:
        source_schema = from_spark(source.schema)
        destination = destination.with_columns(
            _evolving(spark, statement, destination, source_schema)
        )
    statement = _with_values_of_stars(spark, statement, source, destination)
    statement = _at_one_moment(
        statement, clock((*destination.schema.column_names, *source.columns), moment)
    )
    texts = [statement.on]
    for clause in statement.clauses:
        columns = [assigned_column(path, statement, destination) for path in clause.columns or ()]
        texts += [clause.condition or "true", *values_of(columns, clause.values, destination)]
    source_relation = _source(spark, statement, source, destination)
    outer = outer_scope(spark, texts, [target_relation(statement, destination), source_relation])
    inner = with_subquery_views(spark, texts, outer, destination.context)
    with inner as (on, *expressions), destination.verbs(as_seen=True) as verbs:
        builder = verbs.merge(
            source,
            on,
            branch=destination.branch,
            snapshot_properties=destination.properties,
            case_sensitive=destination.case_sensitive,
            aliases=(
                outer.name(0, statement.alias or statement.table[-1]),
                outer.name(1, statement.source_alias),
            ),
        )
        left = iter(expressions)
        for clause in statement.clauses:
            stated = next(left)
            condition = None if clause.condition is None else stated
            values = [next(left) for _ in clause.values]
            columns = [
                assigned_column(path, statement, destination) for path in clause.columns or ()
            ]
            builder = _with_clause(builder, clause, condition, dict(once(columns, values)))
        with _ambiguous_columns(ambiguous):
            builder.execute()
    return nothing(spark)


@contextmanager
def _ambiguous_columns(names: Collection[str]) -> Iterator[None]:
    """Give an error about a column that the source has twice Spark's condition for it.

    These columns have other names while the merge runs, so that the names resolve to no column.
    """
    try:
        yield
    except (InvalidExpressionError, InvalidSchemaError) as error:
        if any(f"`{name}` cannot be" in str(error) or f"'{name}'" in str(error) for name in names):
            with_condition(error, AMBIGUOUS_REFERENCE)
        raise


def _rows_of(
    spark: SparkSession, statement: Merge, destination: WriteTarget, moment: int
) -> tuple[DataFrame, list[str]]:
    """Return the source, and the names that several of its columns have.

    Its clock functions return the same time as those of the clauses. Columns with the same name are
    ambiguous, so they get names that no clause uses. With schema evolution they keep their name,
    and the merge is refused.
    """
    everything = f"SELECT * FROM {statement.source}"  # noqa: S608 (the user's own text)
    query = plan_query(spark, everything, context=destination.context)
    stamped = clock((), moment, _queried(spark, query, everything))(everything)
    if stamped != everything:
        query = plan_query(spark, stamped, context=destination.context)
    rows = query.frame(spark)
    fold = str if destination.case_sensitive else str.lower
    times = Counter(map(fold, rows.columns))
    if statement.schema_evolution or len(times) == len(rows.columns):
        return rows, []
    names = [
        name if times[fold(name)] == 1 else f"{name} (column {position})"
        for position, name in enumerate(rows.columns, 1)
    ]
    return rows.toDF(*names), [name for name in rows.columns if times[fold(name)] > 1]


def _queried(spark: SparkSession, query: Query, text: str) -> Collection[str]:
    """Return names of clocks without parentheses that may be columns.

    These are all for tables of Spark, and for a text that only Spark's parser reads.
    """
    try:
        parsed = ParsedQuery.of(text, session_dialect(spark))
    except UnreadableTextError:
        return BARE
    if len(parsed.references) > len(query.parts):
        return BARE
    parts = [part for part in query.parts if not isinstance(part, SparksTable)]
    columns = {name for part in parts for name in part.columns.column_names}
    return columns | parsed.tree.identifiers  # aliases may be names of clocks, too


def _at_one_moment(statement: Merge, stamped: Callable[[str], str]) -> Merge:
    clauses = tuple(
        replace(
            clause,
            condition=clause.condition and stamped(clause.condition),
            values=tuple(map(stamped, clause.values)),
        )
        for clause in statement.clauses
    )
    return replace(statement, on=stamped(statement.on), clauses=clauses)


def _evolving(
    spark: SparkSession, statement: Merge, destination: WriteTarget, source: Schema
) -> Schema:
    """Return the columns of the source that the table is to have."""
    alone = (statement.table[-1:], statement.table) if statement.alias is None else ()
    full_name = () if statement.source_name is None else (statement.source_name,)
    clauses = [
        clause
        for clause in statement.clauses
        if clause.kind != "by_source" and clause.does != "delete"
    ]
    assigned = Assigned(
        any(clause.columns is None for clause in clauses),
        [
            pair
            for clause in clauses
            for pair in zip(clause.columns or (), clause.values, strict=False)
        ],
        target=alone or ((statement.alias or "",),),
        source=((statement.source_alias,), *full_name),
    )
    dialect = session_dialect(spark)
    return evolving_columns(source, assigned, dialect, case_sensitive=destination.case_sensitive)


def _with_values_of_stars(
    spark: SparkSession, statement: Merge, source: DataFrame, destination: WriteTarget
) -> Merge:
    """Return a merge whose `*` sets those columns and fields of the table that the source has.

    `*` stays if the source has all of them.
    """
    evolves, coerces = statement.schema_evolution, coerces_structs(spark)
    if not (evolves or coerces):
        return statement
    source_schema, case, alias = (
        from_spark(source.schema),
        destination.case_sensitive,
        statement.source_alias,
    )
    stars = (
        star_values(source_schema, destination.schema, alias, case_sensitive=case)
        if evolves
        else None
    )
    values = {"update": stars, "insert": stars}
    if coerces:
        target = statement.alias or statement.table[-1]
        structs = StructCoercion(source_schema, destination.schema, alias, target, case, evolves)
        values = {"update": structs.updates() or stars, "insert": structs.inserts() or stars}
    clauses = tuple(_with_star(clause, values.get(clause.does)) for clause in statement.clauses)
    return replace(statement, clauses=clauses)


def _with_star(clause: WhenClause, values: Mapping[str, str] | None) -> WhenClause:
    if values is None or clause.columns is not None or clause.kind == "by_source":
        return clause
    names = tuple((name,) for name in values)
    return replace(clause, columns=names, values=tuple(values.values()))


def _with_clause(
    builder: MergeBuilder,
    clause: WhenClause,
    condition: str | None,
    assignments: Mapping[str, str],
) -> MergeBuilder:
    match clause.kind, clause.does, clause.columns:
        case "matched", "delete", _:
            return builder.when_matched_delete(condition)
        case "matched", _, None:
            return builder.when_matched_update_all(condition)
        case "matched", _, _:
            return builder.when_matched_update(assignments, condition)
        case "not_matched", _, None:
            return builder.when_not_matched_insert_all(condition)
        case "not_matched", _, _:
            return builder.when_not_matched_insert(assignments, condition)
        case _, "delete", _:
            return builder.when_not_matched_by_source_delete(condition)
        case _, _, None:
            raise InvalidInputError("WHEN NOT MATCHED BY SOURCE has no source for UPDATE SET *")
        case _:
            return builder.when_not_matched_by_source_update(assignments, condition)


def _source(
    spark: SparkSession, statement: Merge, rows: DataFrame, destination: WriteTarget
) -> Relation:
    named = statement.source_name
    full_name = () if named is None else whole_name(spark, named)
    return relation_of_frame(
        full_name, statement.source_alias, rows, folding(destination.case_sensitive)
    )
