"""Literals of Spark SQL as Python values: `1L`, `1.5BD`, `DATE '...'`, `X'00FF'`, casts of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

from sqlglot import exp

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr import literal_casts as casts
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.expr.literals import (
    INTEGERS,
    Digits,
    LooseText,
    TimeLiteral,
    TypedNumber,
    digits_of,
    of_integer,
    plain,
    time_from_text,
)

Node: TypeAlias = Any  # sqlglot's root class has changed its name between versions
_Kind = exp.DataType.Type
LOOSE, RESOLVED = "loose", "known"
"""Marks of a node: a text that casts leniently, and one that is no longer part of the SQL."""
_MOST_DIGITS = 38
_UNSURE = ("\\", "''", '""')


def with_texts(tree: Node, sql: str, dialect: Dialect) -> Node:
    """Return a parsed tree with the values of its texts as Spark reads them.

    Raises InvalidExpressionError for a text that may contain escapes at an unknown position.
    """
    for node in tree.find_all(exp.Literal, exp.RawString, exp.Cast):
        if not dialect.ansi:
            node.meta[LOOSE] = True
        if RESOLVED in node.meta or not _is_text(node):
            continue
        start, end = node.meta.get("start"), node.meta.get("end")
        if start is not None and end is not None:
            node.set("this", string_value(sql[start : end + 1], raw_texts=dialect.raw_texts))
        elif any(sign in sql for sign in _UNSURE):
            raise InvalidExpressionError(
                f"'{node.this}': adjacent texts with a backslash or two quotes in them are not "
                "supported; write them as one"
            )
    return tree


def is_literal(node: Node) -> bool:
    """Return whether a node is a literal: no column, function or operator but a sign or cast."""
    match node:
        case exp.Literal() | exp.Null() | exp.Boolean() | exp.HexString() | exp.RawString():
            return True
        case exp.Cast() | exp.Neg() | exp.Paren():
            return is_literal(node.this)
        case exp.Concat():
            return _stand_side_by_side(node)
        case _:
            return False


def literal_value(node: Node) -> Any:
    """Return the Python value of a literal node, None for NULL.

    Integers are int, numbers with a point Decimal, with an exponent float, as in Spark; a cast to
    an integer or decimal type is a TypedNumber. Raises InvalidExpressionError for a cast that
    fails or is to a type without literals.
    """
    match node:
        case exp.Literal(is_string=True) | exp.RawString():
            return LooseText(str(node.this)) if node.meta.get(LOOSE) else str(node.this)
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
        case exp.Concat() if _stand_side_by_side(node):
            text = "".join(str(part.this) for part in node.expressions)
            return LooseText(text) if node.expressions[0].meta.get(LOOSE) else text
        case exp.Cast():
            return _cast(node)
        case _:
            raise InvalidExpressionError(f"'{node.sql('spark')}' is not a literal")


def _stand_side_by_side(node: exp.Concat) -> bool:
    """Return whether these are adjacent texts that form one, 'a' 'b', and not a call.

    A call is recognised by its position. sqlglot parses `concat_ws` to the same node; its first
    argument is not a part.
    """
    texts = (isinstance(part, exp.Literal) and part.is_string for part in node.expressions)
    return type(node) is exp.Concat and "start" not in node.meta and all(texts)


def _is_text(node: Node) -> bool:
    return isinstance(node, exp.RawString) or (isinstance(node, exp.Literal) and node.is_string)


def _number(text: str) -> int | float | Decimal:
    if "e" in text.lower():
        number = float(text)
        if math.isinf(number):
            raise InvalidExpressionError(f"{text} is no double")
        return number
    digits = len(text.lstrip("0").replace(".", ""))
    if digits > _MOST_DIGITS:
        raise InvalidExpressionError(f"{text} has more than {_MOST_DIGITS} digits")
    return Decimal(text) if "." in text else int(text)


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text.rjust(len(text) + len(text) % 2, "0"))
    except ValueError as cause:
        raise InvalidExpressionError(f"X'{text}' is not hexadecimal") from cause


def _negative(node: exp.Neg) -> Any:
    value = literal_value(node.this)
    match value:
        case TypedNumber(value=number, digits=digits):
            return TypedNumber(_negated(number), digits)
        case int() if not isinstance(value, bool) and not isinstance(node.this, exp.Literal):
            return of_integer(-value)  # of brackets: no literal to Spark, whose digits it counts
        case int() | float() | Decimal() if not isinstance(value, bool):
            return _negated(value)
        case _:
            raise InvalidExpressionError(f"'{node.sql('spark')}': only a number takes a sign")


def _negated(number: float | Decimal) -> Any:
    # `-number` of a decimal rounds to the 28 digits of Python's context, and a decimal has 38.
    return number.copy_negate() if isinstance(number, Decimal) else -number


def _cast(node: Node) -> Any:
    value = plain(literal_value(node.this))
    convert = _cast_to(node.to)
    if convert is None or type(node) not in (exp.Cast, exp.TryCast):
        raise InvalidExpressionError(
            f"'{node.sql('spark')}': a literal can't be cast to {node.to.sql('spark')} here"
        )
    loose = bool(node.meta.get(LOOSE))
    if loose and (value is None or node.to.this == _Kind.FLOAT):
        raise InvalidExpressionError(
            f"'{node.sql('spark')}': without ANSI mode the column may be cast to that type"
        )
    try:
        cast = None if value is None else convert(value)
        return LooseText(cast) if loose and isinstance(cast, str) else _typed(cast, node.to)
    except (ValueError, ArithmeticError, TypeError) as cause:
        raise InvalidExpressionError(
            f"'{node.sql('spark')}': {value!r} is no {node.to.sql('spark')} ({cause})"
        ) from cause


def _cast_to(kind: Node) -> Callable[[Any], Any] | None:
    if kind.this != _Kind.DECIMAL:
        return _CASTS.get(kind.this)
    return casts.to_decimal(*_decimal_size(kind))


def _decimal_size(kind: Node) -> tuple[int, int]:
    """Return the precision and scale in the text of a decimal type."""
    sizes = [int(str(size.this)) for size in kind.expressions]
    precision, scale = [*sizes, *_DECIMAL[len(sizes) :]][:2]
    return precision, scale


def _typed(value: Any, kind: Node) -> Any:
    """Return the result of a cast with the digits of its type; other values unchanged."""
    if value is None:
        return None
    if kind.this == _Kind.DECIMAL:
        precision, scale = _decimal_size(kind)
        digits = Digits(precision - scale, scale)
        return value if digits_of(value) == digits else TypedNumber(value, digits)
    before = INTEGERS.get(kind.this.name)
    return value if before is None else TypedNumber(value, Digits(before, 0))


def _time(value: Any) -> TimeLiteral:
    return value if isinstance(value, TimeLiteral) else time_from_text(casts.to_string(value))


_DECIMAL = (10, 0)
_CASTS: dict[Any, Callable[[Any], Any]] = {
    _Kind.DATE: casts.to_date,
    _Kind.TIME: _time,
    _Kind.TIMESTAMP: casts.to_timestamp,
    _Kind.TIMESTAMPTZ: casts.to_timestamp,
    _Kind.TIMESTAMPLTZ: casts.to_timestamp,
    _Kind.TIMESTAMPNTZ: casts.to_local,
    _Kind.TINYINT: casts.to_whole(-(2**7), 2**7 - 1),
    _Kind.SMALLINT: casts.to_whole(-(2**15), 2**15 - 1),
    _Kind.INT: casts.to_whole(-(2**31), 2**31 - 1),
    _Kind.BIGINT: casts.to_whole(-(2**63), 2**63 - 1),
    _Kind.FLOAT: casts.to_float,
    _Kind.DOUBLE: casts.to_double,
    _Kind.TEXT: casts.to_string,
    _Kind.VARCHAR: casts.to_string,
    _Kind.BINARY: casts.to_binary,
    _Kind.BOOLEAN: casts.to_boolean,
}


_ESCAPE = re.compile(
    r"\\(?:u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})|(?P<octal>[0-3][0-7]{2})"
    r"|(?P<char>.))",
    re.DOTALL,
)
_CHARS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def string_value(raw: str, *, raw_texts: bool = False) -> str:
    """Return the value of a string literal with its quotes, maybe with an `r` prefix.

    Raises InvalidExpressionError for text that is not such a literal, and for escapes that
    Spark's versions read differently.
    """
    prefix, body = (raw[:1], raw[1:]) if raw[:1] in ("r", "R") else ("", raw)
    quote = body[:1]
    if quote not in ("'", '"') or len(body) < 2 or body[-1] != quote:
        raise InvalidExpressionError(f"{raw} is no text in quotes")
    inner = body[1:-1]
    if prefix:
        if quote in inner:
            raise InvalidExpressionError(f"{raw}: a raw text can't contain quotes")
        return inner
    if raw_texts:
        if quote in inner:
            raise InvalidExpressionError(
                f"{raw}: with spark.sql.parser.escapedStringLiterals no quote is read in a text"
            )
        return inner
    return _ESCAPE.sub(_character, inner.replace(quote * 2, "\\" + quote))


def _character(match: re.Match[str]) -> str:
    short, long, octal, char = match.group("short", "long", "octal", "char")
    if char is not None:
        default = f"\\{char}" if char in "%_" else char
        return _CHARS.get(char, default)
    code = int(octal, 8) if octal is not None else int(short or long, 16)
    if (octal is not None and code > 0o177) or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        raise InvalidExpressionError(f"'{match.group()}' can't be read in a text: write the sign")
    return chr(code)
