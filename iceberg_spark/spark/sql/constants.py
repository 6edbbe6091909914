"""Constant folding in conditions, by Spark itself.

`l_shipdate <= date '1998-12-01' - interval '90' day` prunes as `<= DATE '1998-09-02'` does.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from iceberg_spark.expr.parse_literal import RESOLVED, is_literal
from iceberg_spark.spark.session.expressions import without_variables
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spec.calendar_text import date_text, timestamp_text

_MARKS = frozenset("\\'\"$")
Node: TypeAlias = Any  # the name of sqlglot's root class differs between versions

# Deterministic, and the same today as tomorrow: no current_date(), no rand().
_CONSTANT = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Cast, exp.Literal, exp.Interval,
    exp.TsOrDsAdd, exp.DateAdd, exp.DateSub, exp.AddMonths, exp.DataType, exp.Var, exp.Boolean,
    exp.DataTypeParam, exp.Identifier,
)  # fmt: skip
_OF_NOW = (exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp)
_FIXED = re.compile(r"\s*[-+]?(\d{4,}-.*|[\d.]+([eE][-+]?\d+)?)\s*$")
"""Texts of numbers, dates and timestamps, but not words (`today`) or a time of day alone."""


def fold_constants(
    conditions: Sequence[Node], spark: SparkSession, *, now: bool = False
) -> list[Node]:
    """Return the conditions with literals in place of constant parts; one small query folds them.

    Parts that Spark cannot evaluate stay: the query itself will raise the error. `now` also folds
    the current time, for commands that run immediately.
    """
    copies = [condition.copy() for condition in conditions]
    kinds = (*_CONSTANT, *_OF_NOW) if now else _CONSTANT
    parts = [part for condition in copies for part in _constant_parts(condition, kinds)]
    if not parts:
        return copies
    columns = ", ".join(f"{_text(part)} AS c{index}" for index, part in enumerate(parts))
    for part, literal in zip(parts, _evaluated(spark, columns), strict=False):
        if literal is not None:
            part.replace(literal.copy())
    return copies


def _evaluated(spark: SparkSession, columns: str) -> Sequence[Node | None]:
    try:
        # The optimizer folds a SELECT over rows in memory. A SELECT without FROM would be a job.
        text = f"SELECT {without_variables(columns)} FROM VALUES (0)"  # noqa: S608
        return _literals(run_sql(spark, text))
    except (PySparkException, pa.ArrowException):
        return ()


def _literals(frame: DataFrame) -> list[Node | None]:
    """Return the literals of a DataFrame's only row.

    Python values need no Spark job, but do not distinguish instants, nor float from double.
    """
    try:
        values = tuple(frame.collect()[0])
    except (ValueError, OverflowError):  # a day that Python's calendar lacks
        values = None
    if values is None or any(isinstance(value, float | dt.datetime) for value in values):
        scalars = [column[0] for column in frame.toArrow().columns]
        return [_arrow_literal(scalar, frame, index) for index, scalar in enumerate(scalars)]
    return [_literal(value, frame, index) for index, value in enumerate(values)]


def _constant_parts(node: Node, kinds: tuple[type, ...]) -> list[Node]:
    """Return the largest constant parts that are not literals already."""
    if is_literal(node) or isinstance(node, exp.Column | exp.Interval):
        return []
    if isinstance(node, exp.Condition) and _is_constant(node, kinds):
        return [node]
    return [part for child in node.iter_expressions() for part in _constant_parts(child, kinds)]


def _text(part: Node) -> str:
    """Return the SQL of a constant, with brackets around the operands of an operation.

    sqlglot parses `INTERVAL 1 YEAR 6 MONTHS` as a sum and prints it without brackets. A date minus
    that interval would get the months added.
    """
    text: str = part.transform(_in_brackets).sql("spark")
    return text


def _in_brackets(node: Node) -> Node:
    inside = isinstance(node, exp.Binary) and isinstance(node.parent, exp.Binary | exp.Neg)
    return exp.Paren(this=node) if inside else node


def _is_constant(node: Node, kinds: tuple[type, ...]) -> bool:
    return all(isinstance(part, kinds) and _has_one_meaning(part) for part in node.walk())


def _has_one_meaning(node: Node) -> bool:
    """Return whether a part means the same when it is printed again, today and tomorrow.

    `DATE 'today'` is another day tomorrow, and NULL as a CAST without ANSI.
    """
    if isinstance(node, exp.Cast) and node.this.is_string and not _FIXED.match(node.this.name):
        return False
    return not _has_marks(node)


def _has_marks(node: Node) -> bool:
    """Return whether a string holds characters that have several spellings."""
    return isinstance(node, exp.Literal) and not _MARKS.isdisjoint(node.name)


def _arrow_literal(value: pa.Scalar, frame: DataFrame, index: int) -> Node | None:
    """Return the literal of a value in a column of a DataFrame, None for a type without literals.

    Instants are printed in UTC: a text in the session's time zone may stand for two instants.
    """
    kind = value.type
    if pa.types.is_date(kind) and value.is_valid:
        return _cast(date_text(value.cast(pa.int32()).as_py()), "date")
    if pa.types.is_timestamp(kind) and value.is_valid:
        micros = value.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).as_py()
        text = timestamp_text(micros, 6)
        return _cast(text, "timestamp_ntz") if kind.tz is None else _cast(f"{text}Z", "timestamp")
    if pa.types.is_floating(kind) and value.is_valid:
        return _cast(repr(value.as_py()), "float" if pa.types.is_float32(kind) else "double")
    return _literal(value.as_py(), frame, index)


def _literal(value: object, frame: DataFrame, index: int) -> Node | None:
    """Return a literal. A number is cast to its type, which may have more digits than the number.

    Only a number needs the type, which is a round trip.
    """
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int() | Decimal():
            size = value.copy_abs() if isinstance(value, Decimal) else abs(value)  # exact
            number = exp.Literal.number(f"{size:f}" if isinstance(size, Decimal) else str(size))
            signed = exp.Neg(this=number) if value < 0 else number
            kind = frame.schema.fields[index].dataType
            return exp.cast(signed, kind.simpleString(), dialect="spark")
        case dt.date():
            return _cast(value.isoformat(), "date")
        case _:
            return None


def _cast(text: str, kind: str) -> Node:
    literal = exp.Literal.string(text)
    literal.meta[RESOLVED] = True
    return exp.cast(literal, kind, dialect="spark")
