"""Constant parts of conditions, worked out by Spark itself.

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
Node: TypeAlias = Any  # sqlglot's root class has changed its name between versions

# Deterministic, and the same today as tomorrow: no current_date(), no rand().
_CONSTANT = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Cast, exp.Literal, exp.Interval,
    exp.TsOrDsAdd, exp.DateAdd, exp.DateSub, exp.AddMonths, exp.DataType, exp.Var, exp.Boolean,
    exp.DataTypeParam, exp.Identifier,
)  # fmt: skip
_OF_NOW = (exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp)
_FIXED = re.compile(r"\s*[-+]?(\d{4,}-.*|[\d.]+([eE][-+]?\d+)?)\s*$")
"""Texts of numbers, dates and moments; neither words (`today`) nor a time of the day alone."""


def worked_out(conditions: Sequence[Node], spark: SparkSession, *, now: bool = False) -> list[Node]:
    """Return the conditions with constant parts replaced by literals; one small query for all.

    Parts that Spark can't work out stay: the query itself will say why. `now` works out what is
    the moment's too, for what is done at once.
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
        # Of rows in memory the optimizer makes such a row itself, where `SELECT` alone is a job.
        text = f"SELECT {without_variables(columns)} FROM VALUES (0)"  # noqa: S608
        return _literals(run_sql(spark, text))
    except (PySparkException, pa.ArrowException):
        return ()


def _literals(frame: DataFrame) -> list[Node | None]:
    """Return the literals of a frame's one row.

    As Python's values a row is had without a job, but these tell neither an instant nor a float.
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
    """Return the largest parts of constant kinds that are no literals already."""
    if is_literal(node) or isinstance(node, exp.Column | exp.Interval):
        return []
    if isinstance(node, exp.Condition) and _is_constant(node, kinds):
        return [node]
    return [part for child in node.iter_expressions() for part in _constant_parts(child, kinds)]


def _text(part: Node) -> str:
    """Return a constant's SQL, with brackets around what stands inside of an operation.

    `INTERVAL 1 YEAR 6 MONTHS` is a sum to sqlglot, written without any: what it is taken from
    would get the months back.
    """
    text: str = part.transform(_in_brackets).sql("spark")
    return text


def _in_brackets(node: Node) -> Node:
    inside = isinstance(node, exp.Binary) and isinstance(node.parent, exp.Binary | exp.Neg)
    return exp.Paren(this=node) if inside else node


def _is_constant(node: Node, kinds: tuple[type, ...]) -> bool:
    return all(isinstance(part, kinds) and _has_one_meaning(part) for part in node.walk())


def _has_one_meaning(node: Node) -> bool:
    """Return whether a part means the same when it is written anew, today and tomorrow.

    `DATE 'today'` is another day tomorrow, and as a CAST it is NULL without ANSI.
    """
    if isinstance(node, exp.Cast) and node.this.is_string and not _FIXED.match(node.this.name):
        return False
    return not _has_marks(node)


def _has_marks(node: Node) -> bool:
    """Whether a text holds what has several spellings."""
    return isinstance(node, exp.Literal) and not _MARKS.isdisjoint(node.name)


def _arrow_literal(value: pa.Scalar, frame: DataFrame, index: int) -> Node | None:
    """Return the literal of a value of a frame's column, None for a type without one.

    Instants are given in UTC: a text in the session's zone may stand for two.
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
    """Return a literal; a number is cast, for its type may have more digits than it has.

    Only then the type is asked for, which is a round trip.
    """
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int() | Decimal():
            size = abs(value)
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
