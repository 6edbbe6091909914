"""A bound predicate on one row of canonical values, in plain Python.

For single tuples (residuals of a partition), and to test the vectorised masks; batches use
`row_filter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from iceberg_spark.expr.nodes import (
    And,
    Bound,
    BoundReference,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    Leaf,
    Op,
    Or,
    StartsWith,
)
from iceberg_spark.spec.values import compare, is_nan


def evaluate(bound: Bound, row: Mapping[int, Any]) -> bool:
    """Return whether a row matches; `row` maps field ids to canonical values, absent is null."""
    match bound:
        case Constant(value=value):
            return value
        case And(children=children):
            return all(evaluate(child, row) for child in children)
        case Or(children=children):
            return any(evaluate(child, row) for child in children)
        case _:
            term = bound.term
            return _leaf(
                bound, row.get(term.field_id) if isinstance(term, BoundReference) else None
            )


def _leaf(leaf: Leaf, value: Any) -> bool:
    match leaf:
        case IsNull(negated=negated):
            return (value is None) != negated
        case _ if value is None:
            return False
        case IsNaN(negated=negated):
            return is_nan(value) != negated
        case Comparison(op=op, value=literal):
            return holds(op, compare(value, literal))
        case In(values=values, negated=negated):
            return (not is_nan(value) and value in values) != negated
        case StartsWith(prefix=prefix, negated=negated):
            return bool(value.startswith(prefix)) != negated
        case _:
            assert_never(leaf)


def holds(op: Op, order: int) -> bool:
    """Return whether a comparison is true for an order of -1, 0 or 1."""
    match op:
        case Op.LT:
            return order < 0
        case Op.LE:
            return order <= 0
        case Op.GT:
            return order > 0
        case Op.GE:
            return order >= 0
        case Op.EQ:
            return order == 0
        case Op.NE:
            return order != 0
        case _:
            assert_never(op)
