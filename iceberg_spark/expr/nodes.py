"""Predicate trees: an unbound family for what users write, a bound family for evaluation.

A bound tree holds no NOT: `bind` pushes negation into the leaves, once. Values in bound leaves
are canonical (`spec.values`): int for date (days) and timestamps (µs), Decimal with the column's
scale, bytes, str, uuid.UUID. Comparisons order NaN as the largest value and -0.0 equal to 0.0,
as Spark does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from iceberg_spark.spec.types import IcebergType


class Op(StrEnum):
    """A comparison operator."""

    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EQ = "="
    NE = "!="


NEGATED = {
    Op.LT: Op.GE,
    Op.LE: Op.GT,
    Op.GT: Op.LE,
    Op.GE: Op.LT,
    Op.EQ: Op.NE,
    Op.NE: Op.EQ,
}
"""The operator that is true where another one is false; NaN is the largest value."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A column by its full name, not bound to a schema yet."""

    name: str


@dataclass(frozen=True, slots=True)
class BoundReference:
    """A column by field id; `name` is for people only."""

    field_id: int
    field_type: IcebergType
    required: bool
    name: str


Term: TypeAlias = Reference | BoundReference


@dataclass(frozen=True, slots=True)
class Constant:
    """Always true or always false (bound and unbound)."""

    value: bool


@dataclass(frozen=True, slots=True)
class And:
    """True if all children are (bound and unbound)."""

    children: tuple[Any, ...]  # of the same family as the node itself


@dataclass(frozen=True, slots=True)
class Or:
    """True if any child is (bound and unbound)."""

    children: tuple[Any, ...]  # of the same family as the node itself


@dataclass(frozen=True, slots=True)
class Not:
    """True if the child is false (unbound only)."""

    child: Unbound


@dataclass(frozen=True, slots=True)
class IsNull:
    """The term is null; with `negated`, is not null."""

    term: Term
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNaN:
    """The term is NaN; with `negated`, is neither NaN nor null."""

    term: Term
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """The term compares to a value; null never does."""

    op: Op
    term: Term
    value: Any  # literal of any type; canonical once bound


@dataclass(frozen=True, slots=True)
class In:
    """The term equals one of the values; with `negated`, none (and is not null)."""

    term: Term
    values: tuple[Any, ...]  # literals of any type; canonical, distinct and sorted once bound
    negated: bool = False


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The text starts with a prefix; with `negated`, does not (and is not null)."""

    term: Term
    prefix: str
    negated: bool = False


Leaf: TypeAlias = IsNull | IsNaN | Comparison | In | StartsWith
Unbound: TypeAlias = Constant | And | Or | Not | Leaf
Bound: TypeAlias = Constant | And | Or | Leaf

ALWAYS_TRUE = Constant(True)
ALWAYS_FALSE = Constant(False)
