"""A bound predicate as a Spark column with the same meaning, which Spark can push down."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from decimal import Decimal
from operator import and_, or_
from typing import Any, assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's users write it
from pyspark.sql import types as s

from iceberg_spark.errors import UnsupportedError
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
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec import types as t

ColumnOf = Callable[[int], Column]
"""Returns the column of a field id. UUIDs are 16 bytes."""


def filter_column(bound: Bound, column_of: ColumnOf) -> Column:
    """Return the predicate as a boolean column, NULL where it is unknown."""
    match bound:
        case Constant(value=value):
            return F.lit(value)
        case And(children=children):
            return _joined(and_, [filter_column(child, column_of) for child in children])
        case Or(children=children):
            return _joined(or_, [filter_column(child, column_of) for child in children])
        case _:
            return _leaf(bound, column_of)


def _joined(by: Callable[[Column, Column], Column], columns: list[Column]) -> Column:
    """Combine columns as a balanced tree: PySpark recurses into a long chain."""
    while len(columns) > 1:
        pairs = zip(columns[::2], columns[1::2], strict=False)
        joined = [by(left, right) for left, right in pairs]
        columns = joined + columns[len(joined) * 2 :]
    return columns[0]


def _leaf(leaf: Leaf, column_of: ColumnOf) -> Column:
    term = leaf.term
    if not isinstance(term, BoundReference):
        raise UnsupportedError(f"Column '{term.name}' of the filter is not bound")
    column = column_of(term.field_id)
    kind = term.field_type
    match leaf:
        case IsNull(negated=negated):
            return column.isNotNull() if negated else column.isNull()
        case IsNaN(negated=negated):
            return column.isNotNull() & ~F.isnan(column) if negated else F.isnan(column)
        case Comparison(op=op, value=value):
            return _comparison(op, column, literal(kind, value))
        case In(values=values, negated=negated):
            matches = column.isin([literal(kind, value) for value in values])
            return ~matches if negated else matches
        case StartsWith(prefix=prefix, negated=negated):
            matches = column.startswith(F.lit(prefix))
            return ~matches if negated else matches
        case _:
            assert_never(leaf)


def _comparison(op: Op, column: Column, value: Column) -> Column:
    match op:
        case Op.LT:
            return column < value
        case Op.LE:
            return column <= value
        case Op.GT:
            return column > value
        case Op.GE:
            return column >= value
        case Op.EQ:
            return column == value
        case Op.NE:
            return column != value
        case _:
            assert_never(op)


_PLAIN: dict[type, s.DataType] = {
    t.BooleanType: s.BooleanType(),
    t.IntegerType: s.IntegerType(),
    t.LongType: s.LongType(),
    t.FloatType: s.FloatType(),
    t.DoubleType: s.DoubleType(),
    t.StringType: s.StringType(),
}


def literal(kind: t.IcebergType, value: Any) -> Column:
    """Return a canonical value as a constant of the column's Spark type; UUIDs as 16 bytes.

    Raises UnsupportedError for a type that has no constants in Spark.
    """
    match kind:
        case t.DecimalType(precision=precision, scale=scale):
            return F.lit(value).cast(s.DecimalType(precision, scale))
        case t.DateType():
            return F.date_from_unix_date(F.lit(value).cast(s.IntegerType()))
        case t.TimestamptzType():
            return F.timestamp_micros(F.lit(value).cast(s.LongType()))
        case t.TimestampType():
            return _local_timestamp(value)
        case t.BinaryType() | t.FixedType() | t.UUIDType():
            plain = value.bytes if isinstance(value, uuid.UUID) else value
            return F.lit(bytearray(plain))
        case _ if type(kind) in _PLAIN:
            return F.lit(value).cast(_PLAIN[type(kind)])
        case _:
            raise UnsupportedError(f"Spark has no constants of type {kind}")


def _local_timestamp(micros: int) -> Column:
    """Return a timestamp without zone by adding to the epoch: Spark has no function for it."""
    seconds = F.lit(Decimal(micros).scaleb(-6)).cast(s.DecimalType(18, 6))
    none = F.lit(0)
    return expression("timestamp_ntz'1970-01-01 00:00:00'") + F.make_dt_interval(
        none, none, none, seconds
    )
