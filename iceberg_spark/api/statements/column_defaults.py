"""Replace DEFAULT in statements by the write default of the column, as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.adapt.default_text import write_default_text
from iceberg_spark.spark.session.error_conditions import NO_DEFAULT_VALUE, with_condition
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spec.schema import Schema

_WORD = "DEFAULT"
_SET_OPERATIONS = (("UNION",), ("INTERSECT",), ("EXCEPT",), ("MINUS",))
_BEHIND_SELECTED = (
    ("FROM",), ("WHERE",), ("GROUP",), ("HAVING",), ("WINDOW",), ("LATERAL",), ("ORDER",),
    ("SORT",), ("CLUSTER",), ("DISTRIBUTE",), ("LIMIT",), ("OFFSET",), *_SET_OPERATIONS,
)  # fmt: skip


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

    Any other query is returned unchanged. Raises InvalidInputError for a position without a column.
    """
    cursor = Cursor(query, tokens_of(query, dialect), dialect)
    if _WORD not in query.upper() or not cursor.takes("VALUES"):
        return query
    rows = [row.brackets().items() if row.sees_open() else [row] for row in cursor.items()]
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
