"""Statistics never mislead: no file with a matching row is skipped, none is claimed too soon."""

import math
import uuid

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from iceberg_spark.expr import stats
from iceberg_spark.expr.arrow_literal import array
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.evaluate import evaluate
from iceberg_spark.expr.may_match import may_match, must_match
from iceberg_spark.spec.types import DoubleType, FloatType, StringType, UUIDType
from tests.properties.expr_strategies import SCHEMA, predicates, rows


def order_key(kind, signed_uuids):
    """The order that a writer used for its bounds."""
    if signed_uuids and isinstance(kind, UUIDType):
        halves = 1 << 63
        return lambda value: (((value.int >> 64) ^ halves), (value.int ^ halves) % (1 << 64))
    return lambda value: value


def bounds(kind, values, signed_uuids, cut):
    """Lower and upper bound of ordinary values; text cut to one character, rounded up."""
    if not values:
        return None, None
    ordered = sorted(values, key=order_key(kind, signed_uuids))
    lower, upper = ordered[0], ordered[-1]
    if cut and isinstance(kind, StringType):
        lower = lower[:1]
        if len(upper) > 1:
            following = ord(upper[0]) + 1
            following = 0xE000 if following == 0xD800 else following
            upper = None if upper[0] == "\U0010ffff" else chr(following)
    return lower, upper


def statistics_of(field, values, signed_uuids, cut):
    kind = field.field_type
    floating = isinstance(kind, FloatType | DoubleType)
    nulls = values.count(None)
    ordinary = [v for v in values if v is not None and not (floating and math.isnan(v))]
    lower, upper = bounds(kind, ordinary, signed_uuids, cut)
    nans = len(values) - nulls - len(ordinary) if floating else None
    return {
        stats.LOWER: lower, stats.UPPER: upper, stats.NULL_COUNT: nulls,
        stats.NAN_COUNT: nans, stats.VALUE_COUNT: len(values),
    }  # fmt: skip


@st.composite
def files(draw):
    """Some files' rows, and their statistics with some forgotten."""
    found = draw(st.lists(rows(SCHEMA.fields, min_size=1, max_size=3), min_size=1, max_size=4))
    signed, cut = draw(st.booleans()), draw(st.booleans())
    forget = draw(st.sets(st.sampled_from(stats.Kind), max_size=2))
    columns = {}
    for field in SCHEMA.fields:
        per_file = [
            statistics_of(field, [row[field.field_id] for row in data], signed, cut)
            for data in found
        ]
        for kind in stats.Kind:
            values = [None if kind in forget else one[kind] for one in per_file]
            bound = kind in (stats.LOWER, stats.UPPER)
            columns[stats.column(kind, field.field_id)] = (
                array(values, field.field_type) if bound else pa.array(values, pa.int64())
            )
    return found, pa.table(columns)


@given(predicates(SCHEMA.fields), files())
def test_statistics_never_skip_a_match_nor_claim_a_miss(unbound, drawn):
    found, table = drawn
    bound = bind(SCHEMA, unbound)
    wanted = [stats.column(kind, field_id) for kind, field_id, _ in stats.needed_statistics(bound)]
    # A column without rows or names would lose the number of rows: keep one always.
    table = table.select(sorted({*wanted, stats.column(stats.NULL_COUNT, 1)}))
    may = stats.evaluate(may_match(bound), table).to_pylist()
    must = stats.evaluate(must_match(bound), table).to_pylist()
    for data, possible, certain in zip(found, may, must, strict=True):
        matches = [evaluate(bound, row) for row in data]
        assert possible or not any(matches)
        assert not certain or all(matches)


def test_signed_order_is_what_old_java_wrote():
    key = order_key(UUIDType(), True)
    negative, positive = uuid.UUID(int=1 << 127), uuid.UUID(int=1)
    assert key(negative) < key(positive)
