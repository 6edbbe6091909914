"""Binding keeps meaning, and the vectorised filter agrees with plain Python."""

import math
import uuid
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.evaluate import evaluate
from iceberg_spark.expr.literals import DateLiteral, TimeLiteral, TimestampLiteral
from iceberg_spark.expr.nodes import And, Comparison, In, IsNaN, IsNull, Not, Op, Or, StartsWith
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.spec.types import TimestampType, TimestamptzType
from tests.properties.expr_strategies import COLUMN_OF, SCHEMA, as_table, predicates, rows


def three_valued(node, row):
    """Spark's meaning of an unbound tree: True, False or None, without any rewriting."""
    match node:
        case Not(child=child):
            found = three_valued(child, row)
            return None if found is None else not found
        case And(children=children):
            found = [three_valued(child, row) for child in children]
            return False if False in found else None if None in found else True
        case Or(children=children):
            found = [three_valued(child, row) for child in children]
            return True if True in found else None if None in found else False
    field = SCHEMA.find_field(node.term.name)
    return three_valued_leaf(node, row[field.field_id], field)


def three_valued_leaf(node, value, field):
    match node:
        case IsNull(negated=negated):
            return (value is None) != negated
        case IsNaN(negated=False):
            return value is not None and math.isnan(value)
        case IsNaN():
            return value is not None and not math.isnan(value)
        case In(values=values, negated=negated):
            return _in(values, negated, value, field.field_type)
    if value is None:
        return None
    match node:
        case StartsWith(prefix=prefix, negated=negated):
            return value.startswith(prefix) != negated
        case Comparison(op=op, value=literal):
            return _compare(op, value, plain(literal, field.field_type))


def _in(values, negated, value, kind):
    if not values:
        return negated
    if value is None:
        return None
    if any(lit is not None and _compare(Op.EQ, value, plain(lit, kind)) for lit in values):
        return not negated
    return None if None in values else negated


def _compare(op, left, right):
    if isinstance(left, uuid.UUID):
        left, right = left.bytes, right.bytes
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    left_key, right_key = _key(left), _key(right)
    return {
        Op.LT: left_key < right_key, Op.LE: left_key <= right_key, Op.GT: left_key > right_key,
        Op.GE: left_key >= right_key, Op.EQ: left_key == right_key, Op.NE: left_key != right_key,
    }[op]  # fmt: skip


def _key(value):
    nan = isinstance(value, float | Decimal) and math.isnan(value)
    return (nan, 0 if nan else value)


def plain(literal, kind):
    match literal:
        case DateLiteral(days=days):
            return days
        case TimeLiteral(nanos=nanos):
            return nanos // 1000
        case TimestampLiteral(nanos=nanos):
            return nanos // 1000 if isinstance(kind, TimestampType | TimestamptzType) else nanos
    return literal


@given(predicates(SCHEMA.fields), rows(SCHEMA.fields, min_size=1, max_size=3))
def test_bound_tree_keeps_a_row_where_the_unbound_one_is_true(unbound, data):
    bound = bind(SCHEMA, unbound)
    for row in data:
        assert evaluate(bound, row) == (three_valued(unbound, row) is True)


@given(predicates(SCHEMA.fields), rows(SCHEMA.fields, max_size=8))
def test_row_filter_agrees_with_plain_python(unbound, data):
    bound = bind(SCHEMA, unbound)
    mask = row_filter(bound, COLUMN_OF)(as_table(SCHEMA.fields, data))
    assert mask.to_pylist() == [evaluate(bound, row) for row in data]


@given(predicates(SCHEMA.fields), rows(SCHEMA.fields, max_size=8), st.booleans())
def test_row_filter_sees_the_same_in_encoded_columns(unbound, data, large):
    bound = bind(SCHEMA, unbound)
    table = as_table(SCHEMA.fields, data)
    for place, name in enumerate(table.column_names):
        column = table.column(name)
        if large and str(column.type) in ("string", "binary"):
            column = column.cast(f"large_{column.type}")
        if str(column.type) != "bool":
            column = column.dictionary_encode()
        table = table.set_column(place, name, column)
    mask = row_filter(bound, COLUMN_OF)(table)
    assert mask.to_pylist() == [evaluate(bound, row) for row in data]


@given(predicates([f for f in SCHEMA.fields if f.name in ("c2", "c3", "c6", "c12")]))
def test_text_of_a_predicate_reads_back(unbound):
    again = parse_predicate(to_text(unbound))
    assert bind(SCHEMA, again) == bind(SCHEMA, unbound)
