"""A scan's filter as JSON that shows no value, for reports (Java: ExpressionUtil.sanitize).

A number is shown by its digits, a text by its hash, a time as such: "(2-digit-int)".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, assert_never

import pyarrow as pa

from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.expr.expression_json import OPS, binary
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
    Or,
    StartsWith,
    Term,
)
from iceberg_spark.spec.transforms import BucketTransform
from iceberg_spark.spec.types import (
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)

_HASH = BucketTransform(2**31 - 1)


def filter_json(node: Bound) -> Any:
    """Return the filter in the JSON of expressions, its values hidden."""
    match node:
        case Constant(value=value):
            return value
        case And(children=children):
            return binary("and", map(filter_json, children))
        case Or(children=children):
            return binary("or", map(filter_json, children))
        case _:
            return _leaf(node)


def terms(node: Bound) -> Iterator[Term]:
    """Yield the columns that a filter is about, one for each leaf."""
    match node:
        case Constant():
            return
        case And(children=children) | Or(children=children):
            for child in children:
                yield from terms(child)
        case _:
            yield node.term


def _leaf(leaf: Leaf) -> Any:
    term = leaf.term
    match leaf:
        case IsNull(negated=negated):
            return {"type": "not-null" if negated else "is-null", "term": term.name}
        case IsNaN(negated=negated):
            return {"type": "not-nan" if negated else "is-nan", "term": term.name}
        case Comparison(op=op, value=value):
            return {"type": OPS[op], "term": term.name, "value": _hidden(term, value)}
        case In(values=values, negated=negated):
            shown = [_hidden(term, value) for value in values]
            return {"type": "not-in" if negated else "in", "term": term.name, "values": shown}
        case StartsWith(prefix=prefix, negated=negated):
            kind = "not-starts-with" if negated else "starts-with"
            return {"type": kind, "term": term.name, "value": _hash(prefix)}
        case _:
            assert_never(leaf)


def _hidden(term: Term, value: Any) -> str:
    match term.field_type if isinstance(term, BoundReference) else None:
        case IntegerType() | LongType():
            return f"({_digits(value)}-digit-int)"
        case FloatType() | DoubleType():
            return f"({_digits(value)}-digit-float)"
        case DateType():
            return "(date)"
        case TimeType():
            return "(time)"
        case TimestampType() | TimestamptzType() | TimestampNanoType() | TimestamptzNanoType():
            return "(timestamp)"
        case _:
            return _hash(str(value))


def _digits(value: float) -> int:
    size = abs(value)
    return int(math.log10(size)) + 1 if size and math.isfinite(size) else 1


def _hash(text: str) -> str:
    hashed = apply_transform(_HASH, StringType(), pa.array([text], pa.string()))
    return f"(hash-{hashed[0].as_py():08x})"
