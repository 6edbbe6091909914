"""Constant parts of conditions, worked out by Spark itself.

`l_shipdate <= date '1998-12-01' - interval '90' day` prunes as `<= DATE '1998-09-02'` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp

from iceberg_spark.expr.parse_literal import KNOWN, is_literal
from iceberg_spark.spec.calendar_text import date_text, timestamp_text

_MARKS = frozenset("\\'\"$")
Node: TypeAlias = Any  # sqlglot's root class has changed its name between versions

# Deterministic, and the same today as tomorrow: no current_date(), no rand().
_CONSTANT = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Cast, exp.Literal, exp.Interval,
    exp.TsOrDsAdd, exp.DateAdd, exp.DateSub, exp.AddMonths, exp.DataType, exp.Var, exp.Boolean,
    exp.DataTypeParam, exp.Identifier,
)  # fmt: skip


def worked_out(conditions: Sequence[Node], spark: SparkSession) -> list[Node]:
    """Return the conditions with constant parts replaced by literals; one small query for all.

    Parts that Spark can't work out stay: the query itself will say why.
    """
    copies = [one.copy() for one in conditions]
    parts = [part for one in copies for part in _constant_parts(one)]
    if not parts:
        return copies
    columns = ", ".join(f"{part.sql('spark')} AS c{at}" for at, part in enumerate(parts))
    try:
        row = spark.sql(f"SELECT {columns}").toArrow()
    except (PySparkException, pa.ArrowException):
        return copies
    for at, part in enumerate(parts):
        literal = _literal(row.column(at)[0])
        if literal is not None:
            part.replace(literal)
    return copies


def _constant_parts(node: Node) -> list[Node]:
    """Return the largest constant parts that are no literals already."""
    if is_literal(node) or isinstance(node, exp.Column | exp.Interval):
        return []
    if isinstance(node, exp.Condition) and _is_constant(node):
        return [node]
    return [part for child in node.iter_expressions() for part in _constant_parts(child)]


def _is_constant(node: Node) -> bool:
    return all(isinstance(part, _CONSTANT) and not _has_marks(part) for part in node.walk())


def _has_marks(node: Node) -> bool:
    """Whether a text holds what has several spellings."""
    return isinstance(node, exp.Literal) and not _MARKS.isdisjoint(node.name)


def _literal(value: pa.Scalar) -> Node | None:
    """Return the literal of a value, None for a type without one.

    Instants are given in UTC: a text in the session's zone may stand for two.
    """
    kind = value.type
    if not value.is_valid:
        return exp.Null()
    if pa.types.is_date(kind):
        return _cast(date_text(value.cast(pa.int32()).as_py()), "date")
    if pa.types.is_timestamp(kind):
        micros = value.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).as_py()
        text = timestamp_text(micros, 6)
        return _cast(text, "timestamp_ntz") if kind.tz is None else _cast(f"{text}Z", "timestamp")
    found = value.as_py()
    match found:
        case bool():
            return exp.Boolean(this=found)
        case int() | Decimal():
            number = exp.Literal.number(f"{abs(found):f}")
            return exp.Neg(this=number) if found < 0 else number
        case float():
            return _cast(repr(found), "float" if pa.types.is_float32(kind) else "double")
        case _:
            return None


def _cast(text: str, kind: str) -> Node:
    literal = exp.Literal.string(text)
    literal.meta[KNOWN] = True
    return exp.cast(literal, kind, dialect="spark")
