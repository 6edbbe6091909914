"""Whether an engine returned the right rows, in whatever Arrow types."""

import json
import uuid
from typing import Any

import pyarrow as pa

VARIANT_TYPE = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
_NUMBER = 6  # where the integer begins in the bytes of the object {"a": n}


def find_difference(expected: pa.Table, actual: pa.Table) -> str | None:
    """Return how rows differ from those of a table, None if they are the same in any order."""
    if sorted(expected.column_names) != sorted(actual.column_names):
        return f"the columns {', '.join(actual.column_names)}"
    if expected.num_rows != actual.num_rows:
        return f"{actual.num_rows} rows of {expected.num_rows}"
    pairs = zip(_sorted_rows(expected, expected), _sorted_rows(actual, expected), strict=True)
    return next((f"{row} for {right}" for right, row in pairs if row != right), None)


def _sorted_rows(table: pa.Table, expected: pa.Table) -> list[str]:
    columns = [_values(table[field.name], field.type) for field in expected.schema]
    return sorted(repr(row) for row in zip(*columns, strict=True))


def _values(column: pa.ChunkedArray, kind: pa.DataType) -> list[Any]:
    """Return values that compare equal whichever Arrow type an engine chose for them."""
    if pa.types.is_timestamp(column.type):
        ticks = column.cast(pa.timestamp("ns", tz=column.type.tz)).cast(pa.int64())
        return list(ticks.to_pylist())
    return [_plain(value, kind) for value in column.to_pylist()]


def _plain(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if kind == VARIANT_TYPE:
        return _variant_as_json(value)
    if pa.types.is_binary(kind) and isinstance(value, dict):  # Spark's geometry
        return value["wkb"]
    if pa.types.is_fixed_size_binary(kind):
        return _bytes_of(value)
    if pa.types.is_map(kind):
        return sorted(value.items() if isinstance(value, dict) else map(_pair, value))
    return value


def _pair(entry: Any) -> tuple[Any, ...]:
    return tuple(entry.values()) if isinstance(entry, dict) else tuple(entry)


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, str):  # a UUID as text
        return uuid.UUID(value).bytes
    return bytes(value)


def _variant_as_json(value: Any) -> Any:
    """Return a variant of these tables as text, from its bytes, a struct or JSON."""
    if isinstance(value, str):
        return json.dumps(json.loads(value))
    if set(value) == {"metadata", "value"}:
        return json.dumps({"a": int.from_bytes(value["value"][_NUMBER:], "little")})
    return json.dumps(value)
