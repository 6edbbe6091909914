"""Lists of properties and options in brackets: `('a.b' = 'c', d = 5)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from iceberg_spark.spark.sql.statements.cursor import Cursor

_SPARKS = {
    "location": "use LOCATION '...'",
    "provider": "use USING iceberg",
    "owner": "it is the user who makes the table",
    "external": "use LOCATION '...'",
    "is_managed_location": "use LOCATION '...'",
    "table_type": "the catalog sets it",
    "collation": "Iceberg's tables have none",
}
"""Keys that Spark refuses in TBLPROPERTIES (AstBuilder.cleanTableProperties)."""
_INTEGER = re.compile("-?(?:0|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Option:
    """The value of an option: a string, or the text of an expression for Spark to evaluate."""

    text: str
    is_expression: bool = False


def read_properties(cursor: Cursor, bare: Callable[[str], str] | None = None) -> dict[str, str]:
    """Read keys and values in brackets. Values without quotes stay as written, but TRUE is true.

    `bare` converts values without quotes instead. Raises InvalidInputError, also for a key that
    occurs twice.
    """
    properties: dict[str, str] = {}
    for item in cursor.brackets().items():
        key = _key(item)
        item.takes("=")
        value = item.string() if item.sees_string() else (bare or _bare)(item.rest())
        item.done()
        if key in properties:
            raise item.fault(f"Property '{key}' is there twice")
        properties[key] = value
    return properties


def read_table_properties(cursor: Cursor) -> dict[str, str]:
    """Read a table's properties in brackets. Raises InvalidInputError, also for keys of Spark."""
    properties = read_properties(cursor)
    _refuse_sparks(cursor, properties)
    return properties


def read_table_options(cursor: Cursor) -> dict[str, Option]:
    """Read a table's options in brackets; the last value of a key counts, as in Spark.

    Raises InvalidInputError, also for a key without a value and for Spark's own keys.
    """
    inner = cursor.brackets()
    if inner.at_end:
        raise cursor.fault("OPTIONS () names none: leave it out")
    options: dict[str, Option] = {}
    for item in inner.items():
        key = item.string() if item.sees_string() else ".".join(item.name())
        item.takes("=")
        if item.at_end:
            raise item.fault(f"Option '{key}' needs a value")
        options[key] = _option(item)
    _refuse_sparks(cursor, options)
    return options


def _option(item: Cursor) -> Option:
    probe = item.fresh()
    if probe.sees_string():
        text = probe.string()
        if probe.at_end:
            return Option(text)
    text = _bare(item.term())
    is_plain = text in ("true", "false") or _INTEGER.fullmatch(text) is not None
    return Option(text, is_expression=not is_plain)


def read_table_keys(cursor: Cursor) -> tuple[str, ...]:
    """Read the keys of a table's properties in brackets. Raises as `read_table_properties`."""
    keys = read_keys(cursor)
    _refuse_sparks(cursor, keys)
    return keys


def _refuse_sparks(cursor: Cursor, keys: Iterable[str]) -> None:
    for key in keys:
        if key in _SPARKS:
            raise cursor.fault(f"'{key}' is no property of a table in SQL: {_SPARKS[key]}")


def read_keys(cursor: Cursor) -> tuple[str, ...]:
    """Read keys in brackets. Raises InvalidInputError."""
    keys = []
    for item in cursor.brackets().items():
        keys.append(_key(item))
        item.done()
    return tuple(keys)


def _bare(value: str) -> str:
    """Return a value without quotes as Spark stores it: booleans in lower case."""
    return value.lower() if value.lower() in ("true", "false") else value


def _key(cursor: Cursor) -> str:
    if cursor.sees_string():
        return cursor.string()
    parts = [cursor.identifier()]
    while (sign := cursor.takes_one_of(".", "-")) is not None:
        parts += [sign, cursor.identifier()]
    return "".join(parts)
