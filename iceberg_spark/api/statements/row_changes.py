"""INSERT, DELETE, UPDATE, MERGE and TRUNCATE by the table's verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from iceberg_spark.api.merge import MergeBuilder
from iceberg_spark.api.row_verbs import RowVerbs
from iceberg_spark.api.statements.answers import nothing
from iceberg_spark.api.statements.given_defaults import rows_with_defaults, value_or_default
from iceberg_spark.api.statements.landing import Landing, landing
from iceberg_spark.api.statements.partition_values import check_once, check_types, with_values
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.row_level.conditions import is_of_one_row, names_in
from iceberg_spark.spark.adapt.type_text import type_text
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.row_level.inner_fields import check_inner_names, with_inner_names
from iceberg_spark.spark.row_level.target_rows import row_type
from iceberg_spark.spark.session.engine import DISTRIBUTIONS, Distribution
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.current_namespace import whole_name
from iceberg_spark.spark.sql.evolving_columns import Assigned, evolving_columns, star_values
from iceberg_spark.spark.sql.inner_tables import seen_around, with_inner_tables
from iceberg_spark.spark.sql.named_relation import (
    folding,
    relation_of_frame,
    relation_of_schema,
)
from iceberg_spark.spark.sql.own_names import Around
from iceberg_spark.spark.sql.qualifiers import Name
from iceberg_spark.spark.sql.query import plan_query
from iceberg_spark.spark.sql.relations import Relation
from iceberg_spark.spark.sql.statements.rows import (
    Delete,
    Insert,
    Merge,
    Truncate,
    Update,
    WhenClause,
)
from iceberg_spark.spec.option_values import choice_option, known_options, options_under
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform

_DISTRIBUTION, _SUMMARY = "distribution-mode", "snapshot-property."
_MODE = "spark.sql.sources.partitionOverwriteMode"


def truncate(spark: SparkSession, statement: Truncate) -> DataFrame:
    """Take all rows out of a table."""
    goes = landing(spark, statement.table)
    with goes.verbs() as verbs:
        verbs.delete("true", branch=goes.branch, snapshot_properties=goes.properties)
    return nothing(spark)


def insert(spark: SparkSession, statement: Insert) -> DataFrame:
    """Put a query's rows into a table, by position or by name.

    Raises InvalidSchemaError where the columns don't fit.
    """
    goes, distribution = _told(landing(spark, statement.table), statement.options)
    fixed = _partition_values(spark, goes, statement)
    query = _query(spark, goes, statement, fixed)
    rows = plan_query(spark, query, seen=goes.seen).frame(spark)
    if statement.schema_evolution:
        goes = goes.with_columns(from_spark(rows.schema))
    matched = _matched(goes, statement, rows, fixed)
    with goes.verbs(appends=not statement.overwrites) as verbs:
        if statement.overwrites:
            _overwrite(spark, verbs, goes, statement, matched, fixed, distribution)
        else:
            verbs.append(
                matched,
                branch=goes.branch,
                snapshot_properties=goes.properties,
                case_sensitive=goes.case_sensitive,
                distribution_mode=distribution,
            )
    return nothing(spark)


def _told(goes: Landing, options: Mapping[str, str]) -> tuple[Landing, Distribution | None]:
    """Return where rows go with what a write's options say of the snapshot, and of their order.

    Raises InvalidOptionError for other options: SQL writes as the table's properties say.
    """
    given = known_options(options, (_DISTRIBUTION,), (_SUMMARY,))
    properties = {**options_under(options, _SUMMARY), **goes.properties}
    distribution: Any = choice_option(given, _DISTRIBUTION, DISTRIBUTIONS)
    return replace(goes, properties=properties), distribution


def _query(spark: SparkSession, goes: Landing, statement: Insert, fixed: Mapping[str, str]) -> str:
    """Return the query with the defaults that VALUES ask for."""
    return rows_with_defaults(
        statement.query,
        _columns(goes, statement, fixed),
        goes.schema,
        session_dialect(spark),
        case_sensitive=goes.case_sensitive,
    )


def _columns(goes: Landing, statement: Insert, fixed: Mapping[str, str]) -> list[str]:
    """Return the columns that the query's are for, in its order."""
    every = [field.name for field in goes.schema.fields if field.name not in fixed]
    return list(statement.columns) or every


def _overwrite(
    spark: SparkSession,
    verbs: RowVerbs,
    goes: Landing,
    statement: Insert,
    rows: DataFrame,
    fixed: Mapping[str, str],
    distribution: Distribution | None,
) -> None:
    """Replace what REPLACE WHERE says, partitions that get rows (dynamic), or the static values."""
    given = goes.branch, goes.properties
    where = statement.replace_where
    if where is None and str(spark.conf.get(_MODE, "static")).lower() == "dynamic":
        verbs.dynamic_partition_overwrite(
            rows,
            branch=given[0],
            snapshot_properties=given[1],
            case_sensitive=goes.case_sensitive,
            distribution_mode=distribution,
        )
        return
    verbs.overwrite(
        rows,
        with_values(spark, goes.table.schema(), fixed) if where is None else where,
        branch=given[0],
        snapshot_properties=given[1],
        case_sensitive=goes.case_sensitive,
        distribution_mode=distribution,
    )


def _matched(
    goes: Landing, statement: Insert, rows: DataFrame, fixed: Mapping[str, str]
) -> DataFrame:
    """Return the rows under the names of the table's columns; `fixed` are in none of them."""
    _check_fixed_alone(goes, rows.columns if statement.by_name else statement.columns, fixed)
    if statement.by_name:
        for name, text in fixed.items():
            rows = rows.withColumn(name, sf.expr(text))
        return _stored(goes, rows)
    names = _columns(goes, statement, fixed)
    if len(names) != len(rows.columns):
        raise InvalidSchemaError(
            f"The query has {len(rows.columns)} columns ({', '.join(rows.columns)}), and "
            f"{len(names)} are needed: {', '.join(names)}"
        )
    made = rows.toDF(*names)
    made = with_inner_names(made, _fields(goes, names))
    if fixed:
        made = made.withColumns({name: sf.expr(text) for name, text in fixed.items()})
    return _stored(goes, made)


def _check_fixed_alone(goes: Landing, names: Sequence[str], fixed: Mapping[str, str]) -> None:
    """Refuse values for a column that has one by PARTITION (Spark: the same)."""
    known = {_spelt(goes, name) for name in fixed}
    twice = next((name for name in names if _spelt(goes, name) in known), None)
    if twice is not None:
        raise InvalidInputError(
            f"Column '{twice}' has its value by PARTITION (...), and the query gives it another: "
            "leave one of them out"
        )


def _stored(goes: Landing, rows: DataFrame) -> DataFrame:
    """Return rows cast to the table's types as Spark's ANSI store assignment does.

    Fields inside of columns are found by name, and none may be missing or too many.
    """
    wanted = _fields(goes, rows.columns)
    check_inner_names(rows, wanted)
    return rows.to(StructType(wanted))


def _fields(goes: Landing, names: Sequence[str]) -> list[StructField]:
    """Return the table's columns of these names. Raises InvalidSchemaError where it has none."""
    known = _by_name(goes)
    kinds = {field.name: field for field in row_type(goes.schema).fields}
    for name in names:
        if _spelt(goes, name) not in known:
            raise InvalidSchemaError(
                f"The table has no column '{name}'; it has: {', '.join(kinds)}"
            )
    return [kinds[known[_spelt(goes, name)]] for name in names]


def _by_name(goes: Landing) -> dict[str, str]:
    """Return the names of the table's columns by how the session looks them up."""
    return {_spelt(goes, field.name): field.name for field in goes.schema.fields}


def _spelt(goes: Landing, name: str) -> str:
    return name if goes.case_sensitive else name.lower()


def _partition_values(spark: SparkSession, goes: Landing, statement: Insert) -> dict[str, str]:
    """Return the values of PARTITION (...), by the table's own names of the columns.

    They are cast to the column's type, as Spark does with literals there (`day = '2024-01-01'`).
    """
    table, known = goes.table, _by_name(goes)
    parts = {
        table.schema().find_column_name(part.source_id)
        for part in table.spec().fields
        if isinstance(part.transform, IdentityTransform)
    }
    if not statement.partition:
        return {}
    kinds = {field.name: field.dataType for field in row_type(goes.schema).fields}
    found, typed = {}, {}
    check_once([_spelt(goes, name) for name, _ in statement.partition])
    for name, text in statement.partition:
        column = known.get(_spelt(goes, name))
        if column is None or column not in parts:
            raise InvalidInputError(
                f"PARTITION ({name}): the table is partitioned by {table.spec()}; only columns "
                "that it is partitioned by as they are can be named"
            )
        if text is not None:
            kind = kinds[column]
            found[column] = f"CAST({text} AS {type_text(kind)})"
            typed[column] = (text, kind)
    check_types(spark, typed)
    return found


def delete(spark: SparkSession, statement: Delete) -> DataFrame:
    """Delete the rows for which the condition is true."""
    goes = landing(spark, statement.table)
    around = seen_around(spark, [statement.condition], [_target(statement, goes)])
    with with_inner_tables(spark, [statement.condition], around, goes.seen) as (condition,):
        alias = _alias(statement, around, [condition])
        with goes.verbs(as_seen=not is_of_one_row([condition])) as verbs:
            verbs.delete(
                condition,
                branch=goes.branch,
                snapshot_properties=goes.properties,
                case_sensitive=goes.case_sensitive,
                alias=alias,
            )
    return nothing(spark)


def update(spark: SparkSession, statement: Update) -> DataFrame:
    """Set columns of the rows for which the condition is true."""
    goes = landing(spark, statement.table)
    columns = [_column(path, statement, goes) for path, _ in statement.values]
    texts = _values(columns, [text for _, text in statement.values], goes)
    given = [statement.condition, *texts]
    around = seen_around(spark, given, [_target(statement, goes)])
    inner = with_inner_tables(spark, given, around, goes.seen)
    as_seen = not is_of_one_row(given)
    with inner as (condition, *values), goes.verbs(as_seen=as_seen) as verbs:
        verbs.update(
            dict(_once(columns, values)),
            condition,
            branch=goes.branch,
            snapshot_properties=goes.properties,
            case_sensitive=goes.case_sensitive,
            alias=_alias(statement, around, [condition, *values]),
        )
    return nothing(spark)


def merge(spark: SparkSession, statement: Merge) -> DataFrame:
    """Carry out a MERGE. Raises InvalidInputError for a row that several source rows match."""
    goes = landing(spark, statement.table)
    everything = f"SELECT * FROM {statement.source}"  # noqa: S608 (the user's own text)
    source = plan_query(spark, everything, seen=goes.seen).frame(spark)
    if statement.schema_evolution:
        given = from_spark(source.schema)
        goes = goes.with_columns(_evolving(spark, statement, goes, given))
        case = goes.case_sensitive
        stars = star_values(given, goes.schema, statement.source_alias, case_sensitive=case)
        statement = _with_stars(statement, stars)
    texts = [statement.on]
    for clause in statement.clauses:
        columns = [_column(path, statement, goes) for path in clause.columns or ()]
        texts += [clause.condition or "true", *_values(columns, clause.values, goes)]
    beside = _source(spark, statement, source, goes)
    around = seen_around(spark, texts, [_target(statement, goes), beside])
    inner = with_inner_tables(spark, texts, around, goes.seen)
    with inner as (on, *said), goes.verbs(as_seen=True) as verbs:
        builder = verbs.merge(
            source,
            on,
            branch=goes.branch,
            snapshot_properties=goes.properties,
            case_sensitive=goes.case_sensitive,
            aliases=(
                around.name(0, statement.alias or statement.table[-1]),
                around.name(1, statement.source_alias),
            ),
        )
        left = iter(said)
        for clause in statement.clauses:
            stated = next(left)
            condition = None if clause.condition is None else stated
            values = [next(left) for _ in clause.values]
            columns = [_column(path, statement, goes) for path in clause.columns or ()]
            builder = _with_clause(builder, clause, condition, dict(_once(columns, values)))
        builder.execute()
    return nothing(spark)


def _evolving(spark: SparkSession, statement: Merge, goes: Landing, source: Schema) -> Schema:
    """Return the columns of the source that the table is to have."""
    alone = (statement.table[-1:], statement.table) if statement.alias is None else ()
    whole = () if statement.source_name is None else (statement.source_name,)
    clauses = [one for one in statement.clauses if one.kind != "by_source" and one.does != "delete"]
    assigned = Assigned(
        any(one.columns is None for one in clauses),
        [pair for one in clauses for pair in zip(one.columns or (), one.values, strict=False)],
        target=alone or ((statement.alias or "",),),
        source=((statement.source_alias,), *whole),
    )
    dialect = session_dialect(spark)
    return evolving_columns(source, assigned, dialect, case_sensitive=goes.case_sensitive)


def _with_stars(statement: Merge, values: Mapping[str, str] | None) -> Merge:
    """Return a merge whose `*` is what the source has of the table's columns."""
    if values is None:
        return statement
    columns, texts = tuple((name,) for name in values), tuple(values.values())
    clauses = tuple(
        replace(one, columns=columns, values=texts)
        if one.columns is None and one.does != "delete" and one.kind != "by_source"
        else one
        for one in statement.clauses
    )
    return replace(statement, clauses=clauses)


def _with_clause(
    builder: MergeBuilder,
    clause: WhenClause,
    condition: str | None,
    given: Mapping[str, str],
) -> MergeBuilder:
    match clause.kind, clause.does, clause.columns:
        case "matched", "delete", _:
            return builder.when_matched_delete(condition)
        case "matched", _, None:
            return builder.when_matched_update_all(condition)
        case "matched", _, _:
            return builder.when_matched_update(given, condition)
        case "not_matched", _, None:
            return builder.when_not_matched_insert_all(condition)
        case "not_matched", _, _:
            return builder.when_not_matched_insert(given, condition)
        case _, "delete", _:
            return builder.when_not_matched_by_source_delete(condition)
        case _, _, None:
            raise InvalidInputError("WHEN NOT MATCHED BY SOURCE has no source for UPDATE SET *")
        case _:
            return builder.when_not_matched_by_source_update(given, condition)


def _alias(statement: Delete | Update, around: Around, texts: Sequence[str]) -> str | None:
    """Return what expressions call the table; None where they don't, so that they prune more."""
    name = around.name(0, statement.alias or statement.table[-1])
    return name if names_in([f"{name}.", f"{name}`."], texts) else None


def _target(statement: Delete | Update | Merge, goes: Landing) -> Relation:
    """Return the table as expressions see it: without a whole name where it has an alias."""
    fold = folding(goes.case_sensitive)
    if statement.alias is not None:
        return relation_of_schema((), statement.alias, goes.schema, fold)
    return relation_of_schema(statement.table, statement.table[-1], goes.schema, fold)


def _source(spark: SparkSession, statement: Merge, rows: DataFrame, goes: Landing) -> Relation:
    named = statement.source_name
    whole = () if named is None else whole_name(spark, named)
    return relation_of_frame(whole, statement.source_alias, rows, folding(goes.case_sensitive))


def _column(path: Name, statement: Update | Merge, goes: Landing) -> str:
    """Return an assigned column without the table's name before it, as Spark resolves it."""
    table = statement.table if statement.alias is None else (statement.alias,)
    folded = [part.lower() for part in path]
    for at in range(len(table)):
        size = len(table) - at
        if len(path) > size and folded[:size] == [part.lower() for part in table[at:]]:
            rest = ".".join(path[size:])
            found = goes.schema.find_id(rest, case_sensitive=goes.case_sensitive)
            if found is not None:
                return rest
    return ".".join(path)


def _values(columns: Sequence[str], texts: Sequence[str], goes: Landing) -> list[str]:
    schema, case = goes.schema, goes.case_sensitive
    pairs = zip(columns, texts, strict=True)
    return [value_or_default(schema, column, text, case_sensitive=case) for column, text in pairs]


def _once(columns: Sequence[str], values: Sequence[str]) -> list[tuple[str, str]]:
    """Pair columns with values. Raises InvalidSchemaError for a column that is there twice."""
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InvalidSchemaError(f"Column '{twice}' gets a value twice")
    return list(zip(columns, values, strict=True))
