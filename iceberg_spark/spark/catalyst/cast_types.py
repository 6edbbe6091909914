"""The types in Connect's messages as SQL texts."""

from __future__ import annotations

from typing import Any

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec.quoted_name import quoted

_SIMPLE = {
    "null": "void",
    "boolean": "boolean",
    "binary": "binary",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp_ltz",  # the meaning of `timestamp` depends on `spark.sql.timestampType`
    "timestamp_ntz": "timestamp_ntz",
    "calendar_interval": "interval",
    "variant": "variant",
}
_SIZED = {"char": "char", "var_char": "varchar"}
_UNITS = {
    "year_month_interval": ("year", "month"),
    "day_time_interval": ("day", "hour", "minute", "second"),
}
_BINARY = "UTF8_BINARY"


def cast_type(message: Any) -> str:
    """Return the type of a message (`DataType`) as SQL text that means the same in every session.

    Raises UnsupportedError for a type without SQL text, such as a user-defined type.
    """
    kind = str(message.WhichOneof("kind"))
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    inside: Any = getattr(message, kind, None)
    match kind:
        case "array":
            return f"array<{cast_type(inside.element_type)}>"
        case "map":
            return f"map<{cast_type(inside.key_type)}, {cast_type(inside.value_type)}>"
        case "struct":
            return f"struct<{', '.join(map(_field, inside.fields))}>"
        case "string":
            return "string" if inside.collation in ("", _BINARY) else _collated(inside)
        case "decimal":
            return f"decimal({inside.precision},{inside.scale})"
        case "time":
            return f"time({inside.precision})"
        case "char" | "var_char":
            return f"{_SIZED[kind]}({inside.length})"
        case "year_month_interval" | "day_time_interval":
            return _interval(_UNITS[kind], inside)
        case _:
            raise UnsupportedError(f"A cast to {kind} can't be said as SQL: write it as text")


def _field(field: Any) -> str:
    required = "" if field.nullable else " NOT NULL"
    return f"{quoted(field.name)}: {cast_type(field.data_type)}{required}"


def _collated(message: Any) -> str:
    return f"string collate {message.collation}"


def _interval(units: tuple[str, ...], message: Any) -> str:
    first, last = units[message.start_field], units[message.end_field]
    return f"interval {first}" if first == last else f"interval {first} to {last}"
