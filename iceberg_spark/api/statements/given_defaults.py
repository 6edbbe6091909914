"""DEFAULT where a value is given: what the column's write default is, as SQL."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.adapt.default_text import write_default_text
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spec.schema import Schema

_WORD = "DEFAULT"


def value_or_default(schema: Schema, column: str, text: str, *, case_sensitive: bool) -> str:
    """Return an assigned value; for DEFAULT that of the column, NULL where it has none."""
    if text.strip().upper() != _WORD:
        return text
    found = schema.find_id(column, case_sensitive=case_sensitive)
    return "NULL" if found is None else write_default_text(schema.find_field(found))


def rows_with_defaults(
    query: str, columns: Sequence[str], schema: Schema, dialect: Dialect, *, case_sensitive: bool
) -> str:
    """Return `VALUES (1, DEFAULT)` with the defaults of the columns in these places.

    Any other query is given as it is. Raises InvalidInputError for a place without a column.
    """
    cursor = Cursor(query, tokens_of(query, dialect), dialect)
    if _WORD not in query.upper() or not cursor.takes("VALUES"):
        return query
    pieces, at = [], 0
    for row in cursor.items():
        items = row.brackets().items() if row.sees_open() else [row]
        for place, item in enumerate(items):
            if not item.sees(_WORD) or item.needed().strip() != item.text[item.position :]:
                continue
            start = item.position
            item.takes(_WORD)
            if not item.at_end:
                continue
            if place >= len(columns):
                raise InvalidInputError(f"{len(columns)} columns are there: {', '.join(columns)}")
            value = value_or_default(schema, columns[place], _WORD, case_sensitive=case_sensitive)
            pieces += [query[at:start], value]
            at = start + len(_WORD)
    return "".join([*pieces, query[at:]])
