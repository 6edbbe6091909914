"""Literals of Spark SQL as Python values: `1L`, `1.5BD`, `DATE '...'`, `X'00FF'`, casts of them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np
from sqlglot import exp

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.literals import (
    TimestampLiteral,
    date_from_text,
    time_from_text,
    timestamp_from_text,
)

Node: TypeAlias = Any  # sqlglot's root class has changed its name between versions
_Kind = exp.DataType.Type


def is_literal(node: Node) -> bool:
    """Return whether a node is a literal: no column, function or operator but a sign or cast."""
    match node:
        case exp.Literal() | exp.Null() | exp.Boolean() | exp.HexString() | exp.RawString():
            return True
        case exp.Cast() | exp.Neg() | exp.Paren():
            return is_literal(node.this)
        case exp.Concat():
            return all(
                isinstance(part, exp.Literal) and part.is_string for part in node.expressions
            )
        case _:
            return False


def literal_value(node: Node) -> Any:
    """Return the Python value of a literal node, None for NULL.

    Whole numbers are int, numbers with a point Decimal, with an exponent float, as in Spark.
    Raises InvalidExpressionError for a cast that fails or is to a type without literals.
    """
    match node:
        case exp.Literal(is_string=True) | exp.RawString():
            return str(node.this)
        case exp.Literal():
            return _number(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.HexString():
            return _hex(node.this)
        case exp.Paren():
            return literal_value(node.this)
        case exp.Neg():
            return _negative(node)
        case exp.Concat():  # 'a' 'b' is one text
            return "".join(str(part.this) for part in node.expressions)
        case exp.Cast():
            return _cast(node)
        case _:
            raise InvalidExpressionError(f"'{node.sql('spark')}' is not a literal")


def _number(text: str) -> int | float | Decimal:
    if "e" in text.lower():
        return float(text)
    return Decimal(text) if "." in text else int(text)


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text.rjust(len(text) + len(text) % 2, "0"))
    except ValueError as cause:
        raise InvalidExpressionError(f"X'{text}' is not hexadecimal") from cause


def _negative(node: exp.Neg) -> Any:
    value = literal_value(node.this)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidExpressionError(f"'{node.sql('spark')}': only a number takes a sign")
    return -value


def _cast(node: exp.Cast) -> Any:
    value = literal_value(node.this)
    convert = _CASTS.get(node.to.this)
    if convert is None:
        raise InvalidExpressionError(
            f"'{node.sql('spark')}': a literal can't be cast to {node.to.sql('spark')} here"
        )
    try:
        return None if value is None else convert(value)
    except (ValueError, InvalidOperation, TypeError, OverflowError) as cause:
        raise InvalidExpressionError(
            f"'{node.sql('spark')}': {value!r} is no {node.to.sql('spark')}"
        ) from cause


def _float(value: Any) -> float:
    return float(np.float32(float(value)))


def _decimal(value: Any) -> Decimal:
    return Decimal(repr(value) if isinstance(value, float) else value)


def _local(value: Any) -> TimestampLiteral:
    return TimestampLiteral(timestamp_from_text(value).nanos)


def _binary(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8")


_CASTS: dict[Any, Callable[[Any], Any]] = {
    _Kind.DATE: date_from_text,
    _Kind.TIME: time_from_text,
    _Kind.TIMESTAMP: timestamp_from_text,
    _Kind.TIMESTAMPTZ: timestamp_from_text,
    _Kind.TIMESTAMPLTZ: timestamp_from_text,
    _Kind.TIMESTAMPNTZ: _local,
    _Kind.TINYINT: int,
    _Kind.SMALLINT: int,
    _Kind.INT: int,
    _Kind.BIGINT: int,
    _Kind.FLOAT: _float,
    _Kind.DOUBLE: float,
    _Kind.DECIMAL: _decimal,
    _Kind.TEXT: str,
    _Kind.VARCHAR: str,
    _Kind.BINARY: _binary,
}
