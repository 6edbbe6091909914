"""Constant parts of conditions, worked out by Spark itself.

`l_shipdate <= date '1998-12-01' - interval '90' day` prunes as `<= DATE '1998-09-02'` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp

from iceberg_spark.expr.parse_literal import is_literal

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
    columns = ", ".join(f"typeof({p.sql('spark')}), string({p.sql('spark')})" for p in parts)
    try:
        row = spark.sql(f"SELECT {columns}").collect()[0]
    except PySparkException:
        return copies
    for at, part in enumerate(parts):
        literal = _literal(row[2 * at], row[2 * at + 1])
        if literal is not None:
            part.replace(literal)
    return copies


def _constant_parts(node: Node) -> list[Node]:
    """Return the largest constant parts that are no literals already."""
    if is_literal(node) or isinstance(node, exp.Column):
        return []
    if isinstance(node, exp.Condition) and _is_constant(node):
        return [node]
    return [part for child in node.iter_expressions() for part in _constant_parts(child)]


def _is_constant(node: Node) -> bool:
    return all(isinstance(part, _CONSTANT) for part in node.walk())


def _literal(kind: str, text: str | None) -> Node | None:
    """Return the literal of a value that Spark gave as text, None for a type without one."""
    if text is None:
        return exp.Null()
    if kind in ("tinyint", "smallint", "int", "bigint") or kind.startswith("decimal"):
        number = exp.Literal.number(text.lstrip("-"))
        return exp.Neg(this=number) if text.startswith("-") else number
    if kind in ("date", "timestamp", "timestamp_ntz", "float", "double"):
        return exp.cast(exp.Literal.string(text), kind, dialect="spark")
    return exp.Literal.string(text) if kind == "string" else None
