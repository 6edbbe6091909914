"""Predicates from Python: `(col("a") > 5) & ~col("b").is_null()`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from iceberg_spark.errors import InvalidTypeError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.nodes import (
    And,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    Not,
    Op,
    Or,
    Reference,
    StartsWith,
    Unbound,
)
from iceberg_spark.lazy import LazyFunction

_parse_predicate = LazyFunction("iceberg_spark.expr.parse", "parse_predicate")
"""Imports the SQL parser when the first predicate comes as text."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate that combines with `&`, `|` and `~`."""

    node: Unbound

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(And((self.node, _node(other))))

    def __or__(self, other: Predicate) -> Predicate:
        return Predicate(Or((self.node, _node(other))))

    def __invert__(self) -> Predicate:
        return Predicate(Not(self.node))

    def __bool__(self) -> NoReturn:
        raise InvalidTypeError("A predicate has no truth value: join with &, | and ~, not and/or")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column by its full name; comparing it with a Python value gives a `Predicate`."""

    name: str

    def __lt__(self, value: Any) -> Predicate:
        return self._compare(Op.LT, value)

    def __le__(self, value: Any) -> Predicate:
        return self._compare(Op.LE, value)

    def __gt__(self, value: Any) -> Predicate:
        return self._compare(Op.GT, value)

    def __ge__(self, value: Any) -> Predicate:
        return self._compare(Op.GE, value)

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]  # builds, as PySpark
        return self._compare(Op.EQ, value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]  # builds, as PySpark
        return self._compare(Op.NE, value)

    __hash__ = None  # type: ignore[assignment]  # == does not compare, so it can't be a key

    def _compare(self, op: Op, value: Any) -> Predicate:
        if isinstance(value, Column | Predicate):
            raise InvalidTypeError(
                f"Column '{self.name}' can only be compared with a value, not with another column"
            )
        return Predicate(Comparison(op, Reference(self.name), value))

    def between(self, low: Any, high: Any) -> Predicate:
        """Match values from `low` to `high`, both included.

        Args:
            low: The smallest value.
            high: The largest value.

        Examples:
            >>> t.scan(ice.col("id").between(1, 5)).count()
        """
        return self._compare(Op.GE, low) & self._compare(Op.LE, high)

    def is_in(self, values: Iterable[Any]) -> Predicate:
        """Match values that are in a list.

        Args:
            values: The values.

        Examples:
            >>> t.scan(ice.col("region").is_in(["eu", "us"])).count()
        """
        return Predicate(In(Reference(self.name), tuple(values)))

    def is_null(self) -> Predicate:
        """Match NULL.

        Examples:
            >>> t.scan(ice.col("amount").is_null()).count()
        """
        return Predicate(IsNull(Reference(self.name)))

    def is_not_null(self) -> Predicate:
        """Match everything but NULL.

        Examples:
            >>> t.scan(ice.col("amount").is_not_null()).count()
        """
        return Predicate(IsNull(Reference(self.name), negated=True))

    def is_nan(self) -> Predicate:
        """Match NaN.

        Examples:
            >>> t.scan(~ice.col("amount").is_nan()).count()
        """
        return Predicate(IsNaN(Reference(self.name)))

    def starts_with(self, prefix: str) -> Predicate:
        """Match text with a prefix.

        Args:
            prefix: The beginning of the text.

        Examples:
            >>> t.scan(ice.col("region").starts_with("e")).count()
        """
        return Predicate(StartsWith(Reference(self.name), prefix))


def col(name: str) -> Column:
    """Return a column by its full name, nested names joined by dots.

    Args:
        name: The full name: "a.b" is a field of the struct a.

    Examples:
        >>> (ice.col("id") >= 10) & ice.col("region").is_in(["eu", "us"])
    """
    return Column(name)


def as_unbound(predicate: str | Predicate | Unbound, dialect: Dialect = SPARK) -> Unbound:
    """Return the tree of a predicate: SQL text in `dialect`, built in Python, or already a tree.


    Raises InvalidExpressionError for unsupported SQL, InvalidTypeError for anything else.
    """
    if isinstance(predicate, str):
        parsed: Unbound = _parse_predicate(predicate, dialect)
        return parsed
    return _node(predicate)


def _node(predicate: Any) -> Unbound:
    match predicate:
        case Predicate(node=node):
            return node
        case (
            Constant() | And() | Or() | Not() | IsNull() | IsNaN() | Comparison() | In()
            | StartsWith()
        ):  # fmt: skip
            return predicate
        case bool():
            return Constant(predicate)
        case _:
            raise InvalidTypeError(
                f"{predicate!r} is no predicate: give SQL text or something like col('a') > 5"
            )
