"""Predicates, rows and statistics drawn for the expression properties."""

import math
import uuid
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from iceberg_spark.expr.arrow_literal import array, arrow_type
from iceberg_spark.expr.literals import DateLiteral, TimeLiteral, TimestampLiteral
from iceberg_spark.expr.nodes import (
    And,
    Comparison,
    In,
    IsNaN,
    IsNull,
    Not,
    Op,
    Or,
    Reference,
    StartsWith,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

TYPES = (
    BooleanType(), IntegerType(), LongType(), FloatType(), DoubleType(), DecimalType(4, 2),
    DateType(), TimeType(), TimestampType(), TimestamptzType(), TimestampNanoType(),
    StringType(), UUIDType(), FixedType(2), BinaryType(),
)  # fmt: skip
SCHEMA = Schema(*(NestedField(i + 1, f"c{i + 1}", kind) for i, kind in enumerate(TYPES)))
COLUMN_OF = {field.field_id: (field.name,) for field in SCHEMA.fields}

DAY = 86_400_000_000
SPECIAL_FLOATS = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5, 3.4028234663852886e38)
_stamps = st.one_of(
    st.integers(-3 * DAY, 3 * DAY),
    st.sampled_from([-1, 0, 1, -DAY, DAY, -3_600_000_000, -31 * DAY]),
    st.integers(-(10**15), 10**15),
)
_ints = st.one_of(st.integers(-12, 12), st.integers(-(2**31), 2**31 - 1))
_edges = st.sampled_from([-(2**31), -(2**31) + 1, 2**31 - 1])
_text = st.text(st.sampled_from("ab\u00e9\ud7ff\U0001f600\U0010ffff"), max_size=4)


_uuids = st.one_of(
    st.sampled_from([uuid.UUID(int=n) for n in (0, 1, 1 << 63, 1 << 127, (1 << 128) - 1)]),
    st.uuids(),
)
VALUES = {
    BooleanType: st.booleans(),
    IntegerType: st.one_of(_ints, _edges),
    LongType: st.one_of(_ints, st.sampled_from([-(2**63), -(2**63) + 3, 2**63 - 1])),
    FloatType: st.one_of(st.sampled_from(SPECIAL_FLOATS), st.floats(width=32)),
    DoubleType: st.one_of(st.sampled_from(SPECIAL_FLOATS), st.floats()),
    DecimalType: st.integers(-9999, 9999).map(lambda number: Decimal(number).scaleb(-2)),
    DateType: st.one_of(st.integers(-40, 40), st.integers(-30_000, 30_000)),
    TimeType: st.integers(0, DAY - 1),
    TimestampType: _stamps,
    TimestamptzType: _stamps,
    TimestampNanoType: _stamps.map(lambda micros: micros * 1000 + 7),
    StringType: _text,
    UUIDType: _uuids,
    FixedType: st.binary(min_size=2, max_size=2),
    BinaryType: st.binary(max_size=3),
}


def values_of(kind):
    """Canonical values of a type, near each other often enough to be equal."""
    return VALUES[type(kind)]


def literals_of(kind):
    """Python literals that compare with a column of the type; canonical ints are no dates."""
    match kind:
        case IntegerType() | LongType():
            return st.one_of(
                values_of(kind), st.integers(-(2**70), 2**70), st.decimals(-20, 20, places=1)
            )
        case DecimalType():
            return st.one_of(values_of(kind), st.decimals(-200, 200, places=3), st.integers())
        case _:
            return values_of(kind)


@st.composite
def bound_leaves(draw, fields):
    """Unbound leaves over one of the fields; dates and times as values near the epoch."""
    field = draw(st.sampled_from(list(fields)))
    term = Reference(field.name)
    kind = field.field_type
    options = ["null", "compare", "in"]
    if isinstance(kind, FloatType | DoubleType):
        options.append("nan")
    if isinstance(kind, StringType):
        options.append("prefix")
    negated = draw(st.booleans())
    match draw(st.sampled_from(options)):
        case "null":
            return IsNull(term, negated)
        case "nan":
            return IsNaN(term, negated)
        case "prefix":
            return StartsWith(term, draw(_text), negated)
        case "in":
            values = st.one_of(st.none(), near(kind), near(kind), near(kind))
            return In(term, tuple(draw(st.lists(values, max_size=4))), negated)
        case _:
            return Comparison(draw(st.sampled_from(Op)), term, draw(near(kind)))


def near(kind):
    """Literals whose canonical values are drawn like the rows are."""
    if isinstance(kind, DateType | TimeType | TimestampType | TimestamptzType | TimestampNanoType):
        return values_of(kind).map(lambda value: as_literal(kind, value))
    return literals_of(kind)


def as_literal(kind, value):
    match kind:
        case DateType():
            return DateLiteral(value)
        case TimeType():
            return TimeLiteral(value * 1000)
        case TimestampNanoType():
            return TimestampLiteral(value)
        case TimestampType():
            return TimestampLiteral(value * 1000)
        case _:
            return TimestampLiteral(value * 1000, "UTC")


def predicates(fields):
    """Trees of leaves with AND, OR and NOT."""
    return st.recursive(
        bound_leaves(fields),
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, min_size=1, max_size=3).map(lambda nodes: And(tuple(nodes))),
            st.lists(inner, min_size=1, max_size=3).map(lambda nodes: Or(tuple(nodes))),
        ),
        max_leaves=5,
    )


def rows(fields, **sizes):
    """Rows by field id, with nulls."""
    one = st.fixed_dictionaries(
        {
            field.field_id: st.one_of(
                values_of(field.field_type), values_of(field.field_type), st.none()
            )
            for field in fields
        }
    )
    return st.lists(one, **sizes)


def as_table(fields, data):
    """Rows as an Arrow table."""
    return pa.table(
        {field.name: array([row[field.field_id] for row in data], field.field_type)
         for field in fields},
        schema=pa.schema([(field.name, arrow_type(field.field_type)) for field in fields]),
    )  # fmt: skip
