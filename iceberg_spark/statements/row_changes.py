"""INSERT, DELETE, UPDATE and TRUNCATE by the table's verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from iceberg_spark.api.row_verbs import RowVerbs
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    MissingFieldsError,
    NoSuchColumnError,
    NotEnoughColumnsError,
    TooManyColumnsError,
)
from iceberg_spark.row_level.conditions import is_of_one_row, names_in
from iceberg_spark.save.write_options import TABLE_FILE_OPTIONS
from iceberg_spark.spark.adapt.types import from_spark, type_text
from iceberg_spark.spark.row_level.conditions import explaining_overwrite
from iceberg_spark.spark.row_level.inner_fields import check_inner_names, with_inner_names
from iceberg_spark.spark.row_level.target_rows import row_type
from iceberg_spark.spark.session.error_conditions import (
    CANNOT_FIND_DATA,
    NON_PARTITION_COLUMN,
    STATIC_PARTITION_COLUMN,
    with_condition,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.qualified_columns import OuterScope
from iceberg_spark.spark.sql.query import Query, plan_query
from iceberg_spark.spark.sql.row_filter import parse_row_filter
from iceberg_spark.spark.sql.statements.rows import (
    Delete,
    Insert,
    Truncate,
    Update,
)
from iceberg_spark.spark.sql.subquery_views import outer_scope, with_subquery_views
from iceberg_spark.spec.arguments import known_options
from iceberg_spark.spec.runtime_names import SNAPSHOT_PROPERTY
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.statements.answers import nothing
from iceberg_spark.statements.matched_columns import (
    assigned_column,
    check_columns_by_name,
    check_listed_once,
    once,
    rows_with_defaults,
    selected_with_defaults,
    target_relation,
    values_of,
)
from iceberg_spark.statements.partition_values import check_once, check_types, with_values
from iceberg_spark.statements.write_target import WriteTarget, resolve_write_target

_MODE = "spark.sql.sources.partitionOverwriteMode"
_EVOLVES = "use INSERT WITH SCHEMA EVOLUTION INTO"
_SAID_BY_THE_STATEMENT = {
    "overwrite-mode": f"set {_MODE}",
    "merge-schema": _EVOLVES,
    "mergeschema": _EVOLVES,
}


def truncate(spark: SparkSession, statement: Truncate) -> DataFrame:
    """Take all rows out of a table."""
    destination = resolve_write_target(spark, statement.table)
    with destination.verbs() as verbs:
        verbs.delete("true", branch=destination.branch, snapshot_properties=destination.properties)
    return nothing(spark)


def insert(spark: SparkSession, statement: Insert) -> DataFrame:
    """Insert a query's rows into a table, by position or by name.

    Raises InvalidSchemaError if the columns do not fit.
    """
    prepare_insert(spark, statement)()
    return nothing(spark)


def prepare_insert(spark: SparkSession, statement: Insert) -> Callable[[], None]:
    """Return a function that writes the rows of an insert, whose query is analyzed here.

    The query reads the versions of tables from before all writes that follow. Raises
    InvalidSchemaError if the columns do not fit.
    """
    return partial(_write, spark, _planned(spark, statement))


@dataclass(frozen=True, slots=True)
class _PlannedInsert:
    """An insert whose rows are planned; `fixed` are the values of PARTITION."""

    statement: Insert
    destination: WriteTarget
    rows: DataFrame
    fixed: Mapping[str, str]


def _planned(spark: SparkSession, statement: Insert) -> _PlannedInsert:
    _check_options(statement.options)
    destination = resolve_write_target(spark, statement.table, statement.options)
    fixed = _partition_values(spark, destination, statement)
    rows = _query(spark, destination, statement, fixed).frame(spark)
    if statement.schema_evolution:
        destination = destination.with_columns(from_spark(rows.schema))
    matched = _matched(destination, statement, rows, fixed)
    return _PlannedInsert(statement, destination, matched, fixed)


def _write(spark: SparkSession, planned: _PlannedInsert) -> None:
    destination, statement = planned.destination, planned.statement
    with destination.verbs(appends=not statement.overwrites) as verbs:
        if statement.overwrites:
            _overwrite(spark, verbs, planned)
        else:
            verbs.append(
                planned.rows,
                branch=destination.branch,
                snapshot_properties=destination.properties,
                case_sensitive=destination.case_sensitive,
            )


def _check_options(options: Mapping[str, str]) -> None:
    """Refuse options of PySpark's writers that repeat parts of a statement, and unknown ones.

    Raises InvalidOptionError.
    """
    for name in options:
        if name.lower() in _SAID_BY_THE_STATEMENT:
            raise InvalidOptionError(
                f"Option '{name}' is not for INSERT: {_SAID_BY_THE_STATEMENT[name.lower()]}"
            )
    known_options(options, ("branch", *TABLE_FILE_OPTIONS), (SNAPSHOT_PROPERTY,))


def planned_query(spark: SparkSession, statement: Insert) -> Query:
    """Return the query of an insert, its columns not yet matched with the table's.

    Raises NoSuchTableError.
    """
    destination = resolve_write_target(spark, statement.table, statement.options)
    return _query(spark, destination, statement, _partition_values(spark, destination, statement))


def _query(
    spark: SparkSession, destination: WriteTarget, statement: Insert, fixed: Mapping[str, str]
) -> Query:
    """Return the query with the columns' defaults in place of DEFAULT in VALUES or SELECT.

    In SELECT a column with the name `default` takes precedence over the keyword, as in Spark.
    """
    columns, dialect = _columns(destination, statement, fixed), session_dialect(spark)
    case = destination.case_sensitive
    query = rows_with_defaults(
        statement.query, columns, destination.schema, dialect, case_sensitive=case
    )
    selected = selected_with_defaults(
        query, columns, destination.schema, dialect, case_sensitive=case
    )
    planned = plan_query(spark, query, context=destination.context)
    if selected == query or _is_resolved(planned, spark):
        return planned
    return plan_query(spark, selected, context=destination.context)


def _is_resolved(query: Query, spark: SparkSession) -> bool:
    try:
        return bool(query.frame(spark).columns)
    except AnalysisException:
        return False


def _columns(destination: WriteTarget, statement: Insert, fixed: Mapping[str, str]) -> list[str]:
    """Return the columns that the query's are for, in its order."""
    every = [field.name for field in destination.schema.fields if field.name not in fixed]
    return list(statement.columns) or every


def _overwrite(spark: SparkSession, verbs: RowVerbs, planned: _PlannedInsert) -> None:
    """Replace rows by REPLACE WHERE, in partitions that get rows (dynamic), or by static values."""
    destination, rows = planned.destination, planned.rows
    where = planned.statement.replace_where
    if where is None and str(spark.conf.get(_MODE, "static")).lower() == "dynamic":
        verbs.dynamic_partition_overwrite(
            rows,
            branch=destination.branch,
            snapshot_properties=destination.properties,
            case_sensitive=destination.case_sensitive,
        )
        return
    with nullcontext() if where is None else explaining_overwrite(destination.schema, where, spark):
        verbs.overwrite(
            rows,
            with_values(spark, destination.table.schema(), planned.fixed)
            if where is None
            else parse_row_filter(spark, where),
            branch=destination.branch,
            snapshot_properties=destination.properties,
            case_sensitive=destination.case_sensitive,
        )


def _matched(
    destination: WriteTarget, statement: Insert, rows: DataFrame, fixed: Mapping[str, str]
) -> DataFrame:
    """Return the rows under the names of the table's columns; `fixed` are in none of them."""
    _check_fixed_alone(destination, rows.columns if statement.by_name else statement.columns, fixed)
    if statement.by_name:
        for name, text in fixed.items():
            rows = rows.withColumn(name, expression(text))
        every = [field.name for field in destination.schema.fields]
        check_columns_by_name(rows.columns, every, partial(_spelt, destination))
        return _stored(destination, rows)
    check_listed_once(statement.columns, partial(_spelt, destination))
    names = _columns(destination, statement, fixed)
    if len(names) != len(rows.columns):
        kind = TooManyColumnsError if len(rows.columns) > len(names) else NotEnoughColumnsError
        raise kind(
            f"The query has {len(rows.columns)} columns ({', '.join(rows.columns)}), and "
            f"{len(names)} are needed: {', '.join(names)}"
        )
    renamed = rows.toDF(*names)
    try:
        renamed = with_inner_names(renamed, _fields(destination, names))
    except MissingFieldsError as error:
        if statement.columns:  # Spark then finds columns by name, and their fields by position
            with_condition(error, CANNOT_FIND_DATA)
        raise
    if fixed:
        renamed = renamed.withColumns({name: expression(text) for name, text in fixed.items()})
    return _stored(destination, renamed)


def _check_fixed_alone(
    destination: WriteTarget, names: Sequence[str], fixed: Mapping[str, str]
) -> None:
    """Refuse values for a column that has one by PARTITION (Spark: the same)."""
    fixed_names = {_spelt(destination, name) for name in fixed}
    twice = next((name for name in names if _spelt(destination, name) in fixed_names), None)
    if twice is not None:
        error = InvalidInputError(
            f"Column '{twice}' has its value by PARTITION (...), and the query gives it another: "
            "leave one of them out"
        )
        raise with_condition(error, STATIC_PARTITION_COLUMN)


def _stored(destination: WriteTarget, rows: DataFrame) -> DataFrame:
    """Return rows cast to the table's types as Spark's ANSI store assignment does.

    Fields inside of columns are found by name, and none may be missing or too many.
    """
    fields = _fields(destination, rows.columns)
    check_inner_names(rows, fields)
    return rows.to(StructType(fields))


def _fields(destination: WriteTarget, names: Sequence[str]) -> list[StructField]:
    """Return the table's columns with these names. Raises InvalidSchemaError for unknown names."""
    table_names = _by_name(destination)
    kinds = {field.name: field for field in row_type(destination.schema).fields}
    for name in names:
        if _spelt(destination, name) not in table_names:
            raise NoSuchColumnError(f"The table has no column '{name}'; it has: {', '.join(kinds)}")
    return [kinds[table_names[_spelt(destination, name)]] for name in names]


def _by_name(destination: WriteTarget) -> dict[str, str]:
    """Return the names of the table's columns by how the session looks them up."""
    return {_spelt(destination, field.name): field.name for field in destination.schema.fields}


def _spelt(destination: WriteTarget, name: str) -> str:
    return name if destination.case_sensitive else name.lower()


def _partition_values(
    spark: SparkSession, destination: WriteTarget, statement: Insert
) -> dict[str, str]:
    """Return the values of PARTITION (...), by the table's own names of the columns.

    They are cast to the column's type, as Spark does with literals there (`day = '2024-01-01'`).
    """
    table, table_names = destination.table, _by_name(destination)
    parts = {
        table.schema().find_column_name(part.source_id)
        for part in table.spec().fields
        if isinstance(part.transform, IdentityTransform)
    }
    if not statement.partition:
        return {}
    kinds = {field.name: field.dataType for field in row_type(destination.schema).fields}
    casts, typed = {}, {}
    check_once([_spelt(destination, name) for name, _ in statement.partition])
    for name, text in statement.partition:
        column = table_names.get(_spelt(destination, name))
        if column is None or column not in parts:
            error = InvalidInputError(
                f"PARTITION ({name}): the table is partitioned by {table.spec()}; only columns "
                "that it is partitioned by as they are can be named"
            )
            raise with_condition(error, NON_PARTITION_COLUMN)
        if text is not None:
            kind = kinds[column]
            casts[column] = f"CAST({text} AS {type_text(kind)})"
            typed[column] = (text, kind)
    check_types(spark, typed)
    return casts


def delete(spark: SparkSession, statement: Delete) -> DataFrame:
    """Delete the rows for which the condition is true."""
    destination = resolve_write_target(spark, statement.table)
    outer = outer_scope(spark, [statement.condition], [target_relation(statement, destination)])
    with with_subquery_views(spark, [statement.condition], outer, destination.context) as (
        condition,
    ):
        alias = _alias(statement, outer, [condition])
        with destination.verbs(as_seen=not is_of_one_row([condition])) as verbs:
            verbs.delete(
                condition,
                branch=destination.branch,
                snapshot_properties=destination.properties,
                case_sensitive=destination.case_sensitive,
                alias=alias,
            )
    return nothing(spark)


def update(spark: SparkSession, statement: Update) -> DataFrame:
    """Set columns of the rows for which the condition is true."""
    destination = resolve_write_target(spark, statement.table)
    columns = [assigned_column(path, statement, destination) for path, _ in statement.values]
    texts = values_of(columns, [text for _, text in statement.values], destination)
    expressions = [statement.condition, *texts]
    outer = outer_scope(spark, expressions, [target_relation(statement, destination)])
    inner = with_subquery_views(spark, expressions, outer, destination.context)
    as_seen = not is_of_one_row(expressions)
    with inner as (condition, *values), destination.verbs(as_seen=as_seen) as verbs:
        verbs.update(
            dict(once(columns, values)),
            condition,
            branch=destination.branch,
            snapshot_properties=destination.properties,
            case_sensitive=destination.case_sensitive,
            alias=_alias(statement, outer, [condition, *values]),
        )
    return nothing(spark)


def _alias(statement: Delete | Update, outer: OuterScope, texts: Sequence[str]) -> str | None:
    """Return the name of the table in expressions; None without one, which prunes more files."""
    name = outer.name(0, statement.alias or statement.table[-1])
    return name if names_in([f"{name}.", f"{name}`."], texts) else None
