"""The types of expressions that mean the same in Spark and in Trino.

An expression has a type only if both engines compute equal values of equal types. All others are
refused: NaN equals itself in Spark alone, a sum of decimals has other digits, and a string is
compared with a date in Spark alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from sqlglot import exp

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.sql.references import Node
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
    child_fields,
)

Type: TypeAlias = IcebergType | None
"""The type of an expression; None is the type of NULL."""

_REASONS: Mapping[type[Node], str] = {
    exp.Div: "the division / (Trino divides whole numbers without a remainder)",
    exp.Cast: "a cast other than DATE '2024-06-01'",
    exp.TryCast: "a cast, or a number with a suffix (10L)",
    exp.DPipe: "the operator ||",
    exp.Window: "a window function",
}
_PREDICATES = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is,
    exp.In, exp.Between, exp.Like, exp.Not, exp.And, exp.Or,
)  # fmt: skip
_INTEGERS = (IntegerType, LongType)
_NUMBERS = (*_INTEGERS, DoubleType)
_COMPARABLE = (
    BooleanType, IntegerType, LongType, DecimalType, DateType, TimestampType, TimestamptzType,
    StringType,
)  # fmt: skip
"""Types whose values both engines compare alike. NaN equals itself in Spark, and not in Trino."""
_MOST_DIGITS = 38
_INTEGER_DIGITS = {IntegerType: 10, LongType: 20}
_LARGEST_INTEGER, _LARGEST_LONG = 2**31 - 1, 2**63 - 1
_INTEGER = re.compile(r"\d+")
_FRACTION = re.compile(r"(\d+)\.(\d+)")
_EXPONENT = re.compile(r"\d+(\.\d+)?[eE][+-]?\d+")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a query or a table; "" is the name of an expression without an alias."""

    name: str
    type: Type


Outputs: TypeAlias = tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or subquery of FROM, by its name in lower case."""

    name: str
    columns: Outputs


Scope: TypeAlias = Sequence[Relation]


def check_comparable(outputs: Iterable[Output]) -> None:
    """Raise UnsupportedError for columns whose values the engines order or group differently."""
    for output in outputs:
        if output.type is not None and not isinstance(output.type, _COMPARABLE):
            raise UnsupportedError(
                f"it groups or orders by {output.name or 'an expression'} of type {output.type}"
            )


def check_carried(kind: Type) -> None:
    """Refuse types that have no equal in one of the engines."""
    carried = (*_COMPARABLE, FloatType, DoubleType, BinaryType)
    if kind is None or isinstance(kind, carried):
        return
    children = child_fields(kind)
    if not children:
        raise UnsupportedError(f"it reads a column of type {kind}")
    for child in children:
        check_carried(child.field_type)


@dataclass(frozen=True, slots=True)
class ExpressionTypes:
    """The types of expressions over some relations."""

    scope: Scope

    def check_condition(self, node: Node) -> None:
        """Refuse a condition that is not a boolean."""
        if not isinstance(self.of(node), BooleanType | None):
            raise UnsupportedError("a condition is not a boolean")

    def of(self, node: Node) -> Type:
        """Return the type of an expression. Raises UnsupportedError."""
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Paren():
                return self.of(node.this)
            case exp.Literal():
                return _literal(node)
            case exp.Null():
                return None
            case exp.Boolean():
                return BooleanType()
            case exp.Cast():
                return _date(node)
            case exp.Count() | exp.Sum() | exp.Avg() | exp.Min() | exp.Max():
                return self._aggregate(node)
            case _:
                is_predicate = isinstance(node, _PREDICATES)
                return self._predicate(node) if is_predicate else self._value(node)

    def _column(self, node: Node) -> Type:
        table, name = node.table.lower(), node.name.lower()
        outputs = [
            output
            for relation in self.scope
            if not table or relation.name == table
            for output in relation.columns
            if output.name.lower() == name
        ]
        if len(outputs) != 1:
            problem = "is ambiguous" if outputs else "is not a column of its tables"
            raise UnsupportedError(f"{node.name or '*'} {problem}")
        check_carried(outputs[0].type)
        return outputs[0].type

    def _predicate(self, node: Node) -> Type:
        match node:
            case exp.And() | exp.Or():
                self.check_condition(node.this)
                self.check_condition(node.expression)
            case exp.Not():
                self.check_condition(node.this)
            case exp.Is():
                if not isinstance(node.expression, exp.Null):
                    raise UnsupportedError("it uses IS with something other than NULL")
                self.of(_operand(node.this))
            case exp.Like():
                self._check_like(node)
            case exp.In():
                self._compare(node.this, *node.expressions)
            case exp.Between():
                self._compare(node.this, node.args["low"], node.args["high"])
            case _:
                self._compare(node.this, node.expression)
        return BooleanType()

    def _check_like(self, node: Node) -> None:
        pattern = node.expression
        if not isinstance(pattern, exp.Literal) or not pattern.is_string:
            raise UnsupportedError("the pattern of LIKE is not a string literal")
        self._compare(node.this, pattern)

    def _compare(self, *nodes: Node) -> None:
        """Refuse values of different kinds, whose conversion differs between the engines."""
        first, *others = [self._compared(_operand(node)) for node in nodes]
        for other in others:
            if not _is_compared(first, other):
                hint = ": write DATE '2024-06-01'" if DateType() in (first, other) else ""
                raise UnsupportedError(f"it compares {first} with {other}{hint}")

    def _compared(self, node: Node) -> Type:
        fraction = _FRACTION.fullmatch(node.name) if isinstance(node, exp.Literal) else None
        if fraction is None or node.is_string:
            return self.of(node)
        before, behind = map(len, fraction.groups())
        return DecimalType(min(before + behind, _MOST_DIGITS), min(behind, _MOST_DIGITS))

    def _aggregate(self, node: Node) -> Type:
        if isinstance(node, exp.Count):
            return self._count(node.this)
        kind = self.of(node.this)
        if isinstance(node, exp.Min | exp.Max):
            check_comparable([Output(node.this.name, kind)])
            return kind
        if not isinstance(kind, _NUMBERS):
            raise UnsupportedError(f"it uses {node.sql_name().lower()} of type {kind}")
        is_long = isinstance(node, exp.Sum) and isinstance(kind, _INTEGERS)
        return LongType() if is_long else DoubleType()

    def _count(self, node: Node) -> Type:
        if isinstance(node, exp.Distinct):
            if len(node.expressions) != 1:
                raise UnsupportedError("it counts several columns")
            check_comparable([Output("", self.of(node.expressions[0]))])
        elif not isinstance(node, exp.Star):
            self.of(node)
        return LongType()

    def _value(self, node: Node) -> Type:
        match node:
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod():
                return self._number(node, node.this, node.expression)
            case exp.Neg() | exp.Abs():
                return self._number(node, node.this)
            case exp.Coalesce():
                return common_type([self.of(x) for x in (node.this, *node.expressions)])
            case exp.Nullif():
                self._compare(node.this, node.expression)
                return self.of(node.this)
            case exp.Case() | exp.If():
                return self._case(node)
            case exp.Substring():
                return self._substring(node)
            case exp.StartsWith():
                self._check_strings(node.this, node.expression)
                return BooleanType()
            case _:
                raise UnsupportedError(f"it uses {describe_node(node)} here")

    def _number(self, node: Node, *operands: Node) -> Type:
        kinds = [self.of(_operand(operand)) for operand in operands]
        allowed = _INTEGERS if isinstance(node, exp.Mod) else _NUMBERS
        for kind in kinds:
            if not isinstance(kind, allowed):
                raise UnsupportedError(f"it calculates with {'NULL' if kind is None else kind}")
        if any(isinstance(kind, DoubleType) for kind in kinds):
            return DoubleType()
        return common_type(kinds)

    def _case(self, node: Node) -> Type:
        branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
        for branch in branches:
            if isinstance(node, exp.Case) and node.this is not None:
                self._compare(node.this, branch.this)
            else:
                self.check_condition(branch.this)
        default = node.args.get("default") or node.args.get("false")
        values = [branch.args["true"] for branch in branches]
        return common_type([self.of(x) for x in (*values, default) if x is not None])

    def _substring(self, node: Node) -> Type:
        self._check_strings(node.this)
        start, length = node.args.get("start"), node.args.get("length")
        is_known = is_integer(start) and int(start.name) > 0  # Spark counts 0 as 1, Trino does not
        if not is_known or not (length is None or is_integer(length)):
            raise UnsupportedError("the positions of substring are not positive numbers")
        return StringType()

    def _check_strings(self, *nodes: Node) -> None:
        for node in nodes:
            if not isinstance(self.of(node), StringType):
                raise UnsupportedError("a function of strings is called with another type")


def _operand(node: Node) -> Node:
    """Return an operand. Predicates need brackets: `a = b IS NULL` has two meanings."""
    if isinstance(node, _PREDICATES):
        raise UnsupportedError("a predicate is an operand: put it in brackets")
    return node


def _is_compared(left: Type, right: Type) -> bool:
    if left is None or right is None:
        return True
    digits = [_digits(kind) for kind in (left, right)]
    if None not in digits:
        (before, behind), (other_before, other_behind) = (x for x in digits if x is not None)
        return max(before, other_before) + max(behind, other_behind) <= _MOST_DIGITS
    return left == right and isinstance(left, _COMPARABLE)


def _digits(kind: Type) -> tuple[int, int] | None:
    """Return the number of digits before and after the decimal point of an exact number."""
    match kind:
        case IntegerType() | LongType():
            return _INTEGER_DIGITS[type(kind)], 0
        case DecimalType():
            return kind.precision - kind.scale, kind.scale
        case _:
            return None


def common_type(kinds: Iterable[Type]) -> Type:
    """Return the type of a value that comes from one of several branches."""
    distinct = list(dict.fromkeys(kind for kind in kinds if kind is not None))
    if len(distinct) > 1 and all(isinstance(kind, _INTEGERS) for kind in distinct):
        return LongType()
    if len(distinct) > 1:
        shown = " and ".join(str(kind) for kind in distinct)
        raise UnsupportedError(f"values of one column have the types {shown}")
    return distinct[0] if distinct else None


def _literal(node: Node) -> Type:
    text = node.name
    if node.is_string:
        if "\\" in text or not text.isprintable():
            raise UnsupportedError("a string has a backslash or a control character")
        return StringType()
    if _INTEGER.fullmatch(text) and int(text) <= _LARGEST_LONG:
        return IntegerType() if int(text) <= _LARGEST_INTEGER else LongType()
    if _EXPONENT.fullmatch(text):
        return DoubleType()
    raise UnsupportedError(f"the number {text} has another type in each engine")


def is_integer(node: Node) -> bool:
    """Return whether a node is a literal of the type INT, without a sign."""
    return (
        isinstance(node, exp.Literal)
        and not node.is_string
        and _INTEGER.fullmatch(node.name) is not None
        and int(node.name) <= _LARGEST_INTEGER
    )


def _date(node: Node) -> Type:
    """Return the type of `DATE '2024-06-01'`; all other casts are refused."""
    literal, is_date = node.this, node.to.this == exp.DataType.Type.DATE
    if not is_date or not isinstance(literal, exp.Literal) or not literal.is_string:
        raise UnsupportedError(f"it uses {_REASONS[exp.Cast]}")
    try:
        date.fromisoformat(literal.name if _DAY.fullmatch(literal.name) else "")
    except ValueError:
        raise UnsupportedError(f"{literal.name} is not a day such as 2024-06-01") from None
    return DateType()


def describe_node(node: Node) -> str:
    """Return what an expression is called in an error."""
    if type(node) in _REASONS:
        return _REASONS[type(node)]
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name().lower()}"
    return str(node.key).upper()
