"""The decimal type in which Spark compares numbers; it may have fewer digits than they do.

A type has 38 digits at most. Where numbers need more to be compared, Spark keeps the digits
before the point and rounds those behind it, the column's too. Source: Spark's
DecimalPrecisionTypeCoercion.widerDecimalType, DecimalType.boundedPreferIntegralDigits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TypeAlias

from iceberg_spark.spec.types import DecimalType, IcebergType, IntegerType, LongType

_MOST_DIGITS = 38
_EXACT = Context(prec=100)


@dataclass(frozen=True, slots=True)
class Digits:
    """How many digits a type has before the point and behind it."""

    before: int
    behind: int


INTEGERS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
"""How many digits Spark gives an integer type among decimals."""
_INT = Digits(INTEGERS["INT"], 0)
_LONG = Digits(INTEGERS["BIGINT"], 0)


@dataclass(frozen=True, slots=True)
class TypedNumber:
    """A number with an explicit type, `CAST(5 AS DECIMAL(38, 0))`, whatever its own digits."""

    value: int | Decimal
    digits: Digits

    @property
    def kind(self) -> str:
        """The type's name in SQL."""
        before, behind = self.digits.before, self.digits.behind
        if isinstance(self.value, int):
            return next(name for name, digits in INTEGERS.items() if digits == before)
        return f"DECIMAL({before + behind}, {behind})"


Number: TypeAlias = int | Decimal | TypedNumber


def of_integer(value: int) -> TypedNumber:
    """Return a whole number in the type that Spark gives it, int or else bigint."""
    return TypedNumber(value, _INT if -(2**31) <= value < 2**31 else _LONG)


def plain(literal: object) -> object:
    """Return a literal without its explicit type."""
    return literal.value if isinstance(literal, TypedNumber) else literal


def is_exact(literal: object) -> bool:
    """Return whether a literal is a whole number or a finite decimal."""
    number = plain(literal)
    if isinstance(number, Decimal):
        return number.is_finite()
    return isinstance(number, int) and not isinstance(number, bool)


def as_compared(kind: IcebergType, literals: Sequence[Number]) -> list[int | Decimal] | None:
    """Return the values that Spark compares with a column, all in their common type.

    None if Spark rounds the column, so that no column value stands for the literal.
    """
    column = _digits_of_column(kind)
    digit_counts = [digits for digits in map(digits_of, literals) if _is_of_spark(digits)]
    if column is None or (column.behind == 0 and not any(digits.behind for digits in digit_counts)):
        return [_rounded(literal, None) for literal in literals]
    scale = _common_scale([column, *digit_counts])
    if scale is not None and column.behind > scale:
        return None
    return [_rounded(literal, scale) for literal in literals]


def keep_digits(*numbers: Number) -> bool:
    """Return whether Spark compares the numbers unrounded, in a type with all their digits."""
    return _common_scale([digits_of(number) for number in numbers]) is None


def digits_of(number: Number) -> Digits:
    """Return the digits of a number: of a literal its own."""
    match number:
        case TypedNumber(digits=digits):
            return digits
        case Decimal():
            _, written, exponent = number.as_tuple()
            return Digits(max(0, len(written) + int(exponent)), max(0, -int(exponent)))
        case _:
            return Digits(len(str(abs(number))), 0)


def _is_of_spark(digits: Digits) -> bool:
    """Return whether a type of Spark has so many; larger numbers of Python are outside them all."""
    return digits.before + digits.behind <= _MOST_DIGITS


def _digits_of_column(kind: IcebergType) -> Digits | None:
    match kind:
        case DecimalType(precision=precision, scale=scale):
            return Digits(precision - scale, scale)
        case IntegerType():
            return _INT
        case LongType():
            return _LONG
        case _:
            return None


def _common_scale(digit_counts: Iterable[Digits]) -> int | None:
    """Return how many digits after the point remain, None if none is lost."""
    digit_counts = list(digit_counts)
    before = max(digits.before for digits in digit_counts)
    if before + max(digits.behind for digits in digit_counts) <= _MOST_DIGITS:
        return None
    return max(0, _MOST_DIGITS - before)


def _rounded(number: Number, scale: int | None) -> int | Decimal:
    """Return a number as Spark compares it: halves are rounded away from zero."""
    value = number.value if isinstance(number, TypedNumber) else number
    if scale is None or not isinstance(value, Decimal) or digits_of(value).behind <= scale:
        return value
    return value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
