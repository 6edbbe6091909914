"""Columns of rows matched to a table's by name, SET, VALUES and DEFAULT included."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from pyspark.errors import AnalysisException, ArithmeticException

from iceberg_spark.errors import (
    ColumnAlreadyExistsError,
    InvalidExpressionError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchColumnError,
    TooManyColumnsError,
)
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.adapt.types import write_default_text
from iceberg_spark.spark.session.error_conditions import (
    AMBIGUOUS_COLUMN_NAME,
    CAST_OVERFLOW,
    COLUMN_ALREADY_EXISTS,
    DEFAULT_PLACEMENT,
    EXTRA_COLUMNS,
    INVALID_ASSIGNMENTS,
    NO_DEFAULT_VALUE,
    STORE_OVERFLOW,
    with_condition,
)
from iceberg_spark.spark.sql.named_relation import folding, relation_of_schema
from iceberg_spark.spark.sql.qualifiers import Name
from iceberg_spark.spark.sql.relations import Relation
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spark.sql.statements.rows import Delete, Merge, Update
from iceberg_spark.spec.nearest import did_you_mean, name_list
from iceberg_spark.spec.schema import Schema
from iceberg_spark.statements.write_target import WriteTarget


def check_columns_by_name(
    names: Sequence[str], table_names: Sequence[str], fold: Callable[[str], str]
) -> None:
    """Refuse rows with columns that the table does not have, or with one of a name twice.

    `fold` returns the form of a name in which the session compares names. Raises
    TooManyColumnsError, NoSuchColumnError, InvalidSchemaError, in the order of Spark's checks.
    """
    folded_names = {fold(name) for name in table_names}
    unknown = [name for name in names if fold(name) not in folded_names]
    there = f"it has: {name_list(table_names)}"
    if len(names) > len(table_names):
        shown = f"the table has no column {name_list(unknown)}; " if unknown else ""
        raise TooManyColumnsError(
            f"The rows have {len(names)} columns and the table has {len(table_names)}: "
            f"{shown}{there}"
        )
    twice = _repeated(names, fold)
    if twice is not None:
        ambiguous = InvalidSchemaError(f"The rows have more than one column '{twice}'; rename one")
        raise with_condition(ambiguous, AMBIGUOUS_COLUMN_NAME)
    if unknown:
        close = did_you_mean(unknown[0], table_names)
        extra = NoSuchColumnError(f"The table has no column '{unknown[0]}'{close}; {there}")
        raise with_condition(extra, EXTRA_COLUMNS)


def check_listed_once(names: Sequence[str], fold: Callable[[str], str]) -> None:
    """Refuse a list of columns with one of a name twice. Raises ColumnAlreadyExistsError."""
    twice = _repeated(names, fold)
    if twice is not None:
        error = ColumnAlreadyExistsError(f"INSERT lists column '{twice}' twice")
        raise with_condition(error, COLUMN_ALREADY_EXISTS)


def _repeated(names: Sequence[str], fold: Callable[[str], str]) -> str | None:
    counts = Counter(map(fold, names))
    return next((name for name in names if counts[fold(name)] > 1), None)


def target_relation(statement: Delete | Update | Merge, destination: WriteTarget) -> Relation:
    """Return the table as expressions name it: by its alias only, if it has one."""
    fold = folding(destination.case_sensitive)
    if statement.alias is not None:
        return relation_of_schema((), statement.alias, destination.schema, fold)
    return relation_of_schema(statement.table, statement.table[-1], destination.schema, fold)


def assigned_column(path: Name, statement: Update | Merge, destination: WriteTarget) -> str:
    """Return an assigned column without the table's name before it, as Spark resolves it."""
    table = statement.table if statement.alias is None else (statement.alias,)
    folded = [part.lower() for part in path]
    for start in range(len(table)):
        size = len(table) - start
        if len(path) > size and folded[:size] == [part.lower() for part in table[start:]]:
            if _has_column(destination, path[size]) and not _has_column(destination, path[0]):
                return ".".join(path[size:])
            if _has_column(destination, ".".join(path[size:])):
                return ".".join(path[size:])
    return ".".join(path)


def _has_column(destination: WriteTarget, name: str) -> bool:
    schema = destination.schema
    return schema.find_id(name, case_sensitive=destination.case_sensitive) is not None


def values_of(columns: Sequence[str], texts: Sequence[str], destination: WriteTarget) -> list[str]:
    """Return the values of assignments, the table's default in place of DEFAULT."""
    schema, case = destination.schema, destination.case_sensitive
    pairs = zip(columns, texts, strict=True)
    return [value_or_default(schema, column, text, case_sensitive=case) for column, text in pairs]


def once(columns: Sequence[str], values: Sequence[str]) -> list[tuple[str, str]]:
    """Pair columns with values. Raises InvalidSchemaError for a column that is there twice."""
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        error = InvalidSchemaError(f"Column '{twice}' gets a value twice")
        raise with_condition(error, INVALID_ASSIGNMENTS)
    return list(zip(columns, values, strict=True))


_WORD = "DEFAULT"
_CAST = re.compile(r"\b(cast|tinyint|smallint|int|integer|bigint)\s*\(|::", re.IGNORECASE)
_CONDITION = re.compile(r"^\[[A-Z_.]+\]\s*")
_SET_OPERATIONS = (("UNION",), ("INTERSECT",), ("EXCEPT",), ("MINUS",))
_BEHIND_SELECTED = (
    ("FROM",), ("WHERE",), ("GROUP",), ("HAVING",), ("WINDOW",), ("LATERAL",), ("ORDER",),
    ("SORT",), ("CLUSTER",), ("DISTRIBUTE",), ("LIMIT",), ("OFFSET",), *_SET_OPERATIONS,
)  # fmt: skip


@contextmanager
def refusing_inner_defaults(values: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Refuse DEFAULT within one of the values, where Spark reads it as the name of a column.

    Elsewhere in the statement it is an unknown column. `values` is called after an error only.
    Raises InvalidExpressionError.
    """
    try:
        yield
    except (AnalysisException, InvalidExpressionError) as error:
        cause = error if isinstance(error, AnalysisException) else error.__cause__
        unresolved = isinstance(cause, AnalysisException) and "UNRESOLVED_COLUMN" in str(cause)
        if not unresolved or f"`{_WORD}`" not in str(cause).upper():
            raise
        if not any(_WORD in value.upper() for value in values()):
            raise
        raise _misplaced_default() from None


def _misplaced_default() -> InvalidExpressionError:
    error = InvalidExpressionError(
        "DEFAULT is a whole value of VALUES, SELECT or SET and no part of an expression"
    )
    return with_condition(error, DEFAULT_PLACEMENT)


@contextmanager
def reporting_overflow(texts: Callable[[], str]) -> Iterator[None]:
    """Give an overflow Spark's condition for values that are too large for their columns.

    Spark reports an integer's overflow without its place, so a cast in the statement's texts may
    have caused it; a decimal's overflow has the text of such a cast. `texts` is called after an
    error only. Raises InvalidInputError.
    """
    try:
        yield
    except (ArithmeticException, InvalidInputError) as error:
        cause = error if isinstance(error, ArithmeticException) else error.__cause__
        if not isinstance(cause, ArithmeticException) or not _is_of_column(cause, texts()):
            raise
        reason = _CONDITION.sub("", str(cause)).partition(" SQLSTATE")[0]
        overflow = InvalidInputError(f"A value does not fit its column: {reason}")
        raise with_condition(overflow, STORE_OVERFLOW) from cause


def _is_of_column(error: ArithmeticException, texts: str) -> bool:
    condition = error.getCondition() or ""
    if condition == CAST_OVERFLOW.name:
        return _CAST.search(texts) is None
    is_decimal = condition.startswith("NUMERIC_VALUE_OUT_OF_RANGE")
    return is_decimal and not any(context.fragment() for context in error.getQueryContext())


def value_or_default(schema: Schema, column: str, text: str, *, case_sensitive: bool) -> str:
    """Return an assigned value; for DEFAULT that of the column, NULL for an optional one without.

    Raises InvalidInputError for DEFAULT of a required column that has none.
    """
    if text.strip().upper() != _WORD:
        return text
    field_id = schema.find_id(column, case_sensitive=case_sensitive)
    if field_id is None:
        return "NULL"
    field = schema.find_field(field_id)
    if field.required and field.write_default is None:
        error = InvalidInputError(f"Column '{column}' is required and has no default: set a value")
        raise with_condition(error, NO_DEFAULT_VALUE)
    return write_default_text(field)


def rows_with_defaults(
    query: str, columns: Sequence[str], schema: Schema, dialect: Dialect, *, case_sensitive: bool
) -> str:
    """Return `VALUES (1, DEFAULT)` with the defaults of the columns at these positions.

    Any other query is returned unchanged. Raises InvalidInputError for a position without a column,
    and InvalidExpressionError for DEFAULT within an expression.
    """
    cursor = Cursor(query, tokens_of(query, dialect), dialect)
    if _WORD not in query.upper() or not cursor.takes("VALUES"):
        return query
    rows = [row.brackets().items() if row.sees_open() else [row] for row in cursor.items()]
    for item in (item for row in rows for item in row):
        probe = item.fresh()
        if probe.takes(_WORD) and not probe.at_end and not probe.sees_open():
            raise _misplaced_default()  # over Connect this library parses the values
    defaults = partial(_defaults, columns=columns, schema=schema, case_sensitive=case_sensitive)
    return _replaced(query, [replacement for row in rows for replacement in defaults(row)])


def selected_with_defaults(
    query: str, columns: Sequence[str], schema: Schema, dialect: Dialect, *, case_sensitive: bool
) -> str:
    """Return `SELECT 1, DEFAULT FROM t` with the defaults of the columns at these positions.

    Any other query is returned unchanged, also one with UNION or DISTINCT, as in Spark. Raises
    InvalidInputError for a position without a column.
    """
    if _WORD not in query.upper():
        return query
    cursor = Cursor(query, tokens_of(query, dialect), dialect)
    while cursor.sees_open():
        cursor = cursor.brackets()
    if cursor.sees("FROM"):
        cursor.until(("SELECT",))
    if not cursor.takes("SELECT") or cursor.sees("DISTINCT"):
        return query
    items = cursor.before(*_BEHIND_SELECTED).items()
    while not cursor.at_end:
        cursor.before(*_SET_OPERATIONS)
        if any(cursor.takes(*words) for words in _SET_OPERATIONS):
            return query
    replacements = _defaults(items, columns=columns, schema=schema, case_sensitive=case_sensitive)
    return _replaced(query, replacements)


def _defaults(
    items: Sequence[Cursor], *, columns: Sequence[str], schema: Schema, case_sensitive: bool
) -> list[tuple[int, str]]:
    """Return the positions of items that are DEFAULT, each with the default of its column."""
    replacements = []
    has_star = False
    for index, item in enumerate(items):
        has_star = has_star or item.needed().endswith("*")
        start = item.position
        if not (item.takes(_WORD) and item.at_end):
            continue
        column = len(columns) - len(items) + index if has_star else index
        if not 0 <= column < len(columns):
            raise InvalidInputError(f"{len(columns)} columns are there: {', '.join(columns)}")
        name = columns[column]
        value = value_or_default(schema, name, _WORD, case_sensitive=case_sensitive)
        replacements.append((start, value))
    return replacements


def _replaced(query: str, values: Sequence[tuple[int, str]]) -> str:
    pieces, end = [], 0
    for start, value in values:
        pieces += [query[end:start], value]
        end = start + len(_WORD)
    return "".join([*pieces, query[end:]])
