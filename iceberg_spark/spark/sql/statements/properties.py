"""Lists of properties in brackets: `('a.b' = 'c', d = 5)`."""

from __future__ import annotations

from iceberg_spark.spark.sql.statements.cursor import Cursor


def read_properties(cursor: Cursor) -> dict[str, str]:
    """Read keys and values in brackets; values that are no texts as they are written.

    Raises InvalidInputError, also for a key that is there twice.
    """
    found: dict[str, str] = {}
    for item in cursor.brackets().items():
        key = _key(item)
        item.takes("=")
        value = item.string() if item.sees_string() else item.rest()
        item.done()
        if key in found:
            raise item.fault(f"Property '{key}' is there twice")
        found[key] = value
    return found


def read_keys(cursor: Cursor) -> tuple[str, ...]:
    """Read keys in brackets. Raises InvalidInputError."""
    keys = []
    for item in cursor.brackets().items():
        keys.append(_key(item))
        item.done()
    return tuple(keys)


def _key(cursor: Cursor) -> str:
    if cursor.sees_string():
        return cursor.string()
    parts = [cursor.identifier()]
    while (sign := cursor.takes_one_of(".", "-")) is not None:
        parts += [sign, cursor.identifier()]
    return "".join(parts)
