"""Values of Hive-style partition folders, `column=value`."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import unquote

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.literals import instant
from iceberg_spark.spec.calendar_text import parse_date
from iceberg_spark.spec.json_values import value_from_json
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)
from iceberg_spark.spec.values import to_scaled, to_unscaled

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""How Hive and Spark name the folder of null."""
_OFFSET = re.compile(r"(Z|[+-]\d\d:?\d\d)$")
_BITS = {IntegerType: 32, LongType: 64}


def folder_parts(path: str, root: str) -> list[tuple[str, str]]:
    """Return the columns and values of the folders between a root and a file, unescaped."""
    folders = path.removeprefix(root.rstrip("/")).strip("/").split("/")[:-1]
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return [(unescape(name), unescape(value)) for name, _, value in pairs]


def unescape(text: str) -> str:
    """Return a folder name's text; Hive writes special characters as `%XX`."""
    return unquote(text)


def partition_value(kind: IcebergType, text: str, zone: str = "UTC") -> Any:
    """Return the canonical value of a folder name's text.

    A timestamptz without an offset is a wall clock of the zone. Raises InvalidInputError or
    ValueError for text that is not a value of the type.
    """
    match kind:
        case StringType():
            return text
        case BinaryType():
            return text.encode()
        case BooleanType():
            return _boolean(text)
        case IntegerType() | LongType():
            return _integer(text, _BITS[type(kind)])
        case FloatType() | DoubleType():
            return float(text)
        case DateType():
            return parse_date(text)
        case DecimalType(scale=scale):
            return _decimal(text, scale)
        case TimestampType() | TimestamptzType():
            return _timestamp(kind, text, zone)
        case UUIDType():
            return value_from_json(kind, text)
        case _:
            raise InvalidInputError(f"values of type {kind} are not read from folder names")


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidInputError(f"'{text}' is neither true nor false")
    return text.lower() == "true"


def _integer(text: str, bits: int) -> int:
    number = int(text)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise InvalidInputError(f"{text} does not fit {bits} bits")
    return number


def _decimal(text: str, scale: int) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation as cause:
        raise InvalidInputError(f"'{text}' is not a decimal") from cause
    if not number.is_finite():
        raise InvalidInputError(f"'{text}' is not a decimal")
    return to_scaled(to_unscaled(number, scale), scale)


def _timestamp(kind: IcebergType, text: str, zone: str) -> Any:
    iso = text.strip().replace(" ", "T")
    if "T" not in iso:
        iso = f"{iso}T00:00:00"
    if isinstance(kind, TimestamptzType) and not _OFFSET.search(iso):
        micros = value_from_json(TimestampType(), iso)
        return instant(micros * 1000, zone) // 1000
    return value_from_json(kind, iso)
