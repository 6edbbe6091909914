"""Predicates in the JSON of Iceberg's expressions, sent to catalogs and received from them."""

import datetime as dt
import itertools
import json
import math

import pyarrow as pa
import pytest

from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.expression_json import from_json, to_json
from iceberg_spark.expr.nodes import Term
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

SCHEMA = Schema(
    NestedField(1, "i", LongType()),
    NestedField(2, "d", DoubleType()),
    NestedField(3, "s", StringType()),
    NestedField(4, "st", StructType(NestedField(5, "x", LongType()))),
    NestedField(6, "day", DateType()),
    NestedField(7, "at", TimestamptzType()),
    NestedField(8, "b", BinaryType()),
    NestedField(9, "price", DecimalType(9, 2)),
)
PATHS = {1: ("i",), 2: ("d",), 3: ("s",), 5: ("st", "x"), 6: ("day",)}
ROWS = pa.table(
    {
        "i": pa.array([None, 1, 5, 6, 7, 5]),
        "d": pa.array([None, -0.0, 0.0, math.nan, 5.0, -1.0]),
        "s": pa.array([None, "", "a", "ab", "b", "é"]),
        "day": pa.array([None, *(dt.date(2024, 1, day) for day in range(1, 6))]),
    }
)


def sent(sql: str) -> object:
    def name_of(term: Term) -> str:
        return term.name

    node = to_json(bind(SCHEMA, parse_predicate(sql), time_zone="UTC"), name_of)
    return json.loads(json.dumps(node, allow_nan=False))


def kept(bound: object) -> list[bool]:
    mask: list[bool] = row_filter(bound, PATHS)(ROWS).to_pylist()  # type: ignore[arg-type]
    return mask


CONDITIONS = [
    *(f"i {op} 5" for op in ("<", "<=", ">", ">=", "=", "!=")),
    *(f"d {op} {value}" for op in ("<", "<=", ">", ">=", "=", "!=") for value in ("0.0D", "5.0D")),
    "i IN (1, 5)", "i NOT IN (1, 5)", "d IN (0.0D, 5.0D)", "d NOT IN (-1.0D, 5.0D)",
    "s LIKE 'a%'", "s NOT LIKE 'a%'", "s IS NULL", "s IS NOT NULL", "isnan(d)", "NOT isnan(d)",
    "day > DATE'2024-01-03'", "NOT (i = 5)", "NOT (i < 6 OR s LIKE 'b%')",
]  # fmt: skip


@pytest.mark.parametrize("sql", CONDITIONS)
def test_what_is_sent_means_the_same_by_the_specification(sql):
    assert kept(from_json(sent(sql), SCHEMA)) == kept(bind(SCHEMA, parse_predicate(sql)))


def test_combinations_mean_the_same():
    for left, right in itertools.combinations(CONDITIONS[::3], 2):
        for sql in (f"({left}) AND ({right})", f"({left}) OR ({right})"):
            wanted = kept(bind(SCHEMA, parse_predicate(sql)))
            assert kept(from_json(sent(sql), SCHEMA)) == wanted, sql


def test_values_have_the_form_that_servers_read():
    sql = "day = DATE'2024-01-31' AND at >= TIMESTAMP'2024-01-31 10:00:00' AND price < 1.5"
    assert sent(sql) == {
        "type": "and",
        "left": {
            "type": "and",
            "left": {"type": "eq", "term": "day", "value": "2024-01-31"},
            "right": {"type": "gt-eq", "term": "at", "value": "2024-01-31T10:00:00.000000+00:00"},
        },
        "right": {"type": "lt", "term": "price", "value": "1.50"},
    }
    assert sent("st.x = 1") == {"type": "eq", "term": "st.x", "value": 1}


def test_null_and_nan_are_sent_as_tests_of_their_own():
    not_null = {"type": "not-null", "term": "i"}
    assert sent("i != 5") == {
        "type": "and", "left": {"type": "not-eq", "term": "i", "value": 5}, "right": not_null,
    }  # fmt: skip
    assert sent("d > 5.0D") == {
        "type": "or",
        "left": {"type": "gt", "term": "d", "value": 5.0},
        "right": {"type": "is-nan", "term": "d"},
    }


def test_a_part_without_json_is_sent_as_true():
    assert sent("b = X'00'") is True
    assert sent("b = X'00' AND i = 5") == {"type": "eq", "term": "i", "value": 5}
    assert sent("b = X'00' OR i = 5") is True
    assert sent("d = CAST('Infinity' AS DOUBLE)") is True
    assert sent("day > DATE'12024-01-31'") is True
    assert sent("st IS NULL") is True


def test_a_column_that_the_receiver_lacks_is_left_out():
    bound = bind(SCHEMA, parse_predicate("i = 5 AND s = 'a'"))
    node = to_json(bound, lambda term: None if term.name == "s" else "was_i")
    assert node == {"type": "eq", "term": "was_i", "value": 5}


@pytest.mark.parametrize(
    "node",
    [
        {"type": "eq", "left": {"type": "reference", "name": "i"}, "right": 5},
        {"type": "eq", "left": {"type": "reference", "id": 1},
         "right": {"type": "literal", "value": 5, "data-type": "long"}},
        {"type": "in", "child": {"type": "reference", "name": "i"},
         "values": {"type": "literals", "values": [5], "data-type": "long"}},
        {"type": "not", "child": {"type": "not-eq", "term": "i", "value": 5}},
        {"type": "EQ", "term": {"type": "reference", "term": "i"}, "value": 5},
    ],
)  # fmt: skip
def test_both_forms_of_the_specification_are_read(node):
    assert from_json(node, SCHEMA) == bind(SCHEMA, parse_predicate("i = 5"))


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        ({"type": "not-eq", "term": "i", "value": 5}, [True, True, False, True, True, False]),
        ({"type": "gt", "term": "d", "value": 0.0}, [False, False, False, False, True, False]),
        ({"type": "not", "child": {"type": "gt", "term": "d", "value": 0.0}},
         [True, True, True, True, False, True]),
        ({"type": "not", "child": {"type": "lt", "term": "d", "value": 0.0}},
         [True, True, True, True, True, False]),
        ({"type": "not-starts-with", "term": "s", "value": "a"},
         [True, True, False, False, True, True]),
        ({"type": "not-nan", "term": "d"}, [True, True, True, False, True, True]),
    ],
)  # fmt: skip
def test_null_and_nan_are_compared_as_the_specification_does(node, wanted):
    assert kept(from_json(node, SCHEMA)) == wanted


@pytest.mark.parametrize(
    "node",
    [
        {"type": "eq", "left": {"type": "apply", "function": "f", "arguments": []}, "right": 5},
        {"type": "eq", "term": {"type": "transform", "transform": "year", "term": "day"},
         "value": 5},
        {"type": "eq", "left": {"type": "reference", "name": "i"},
         "right": {"type": "reference", "name": "i"}},
        {"type": "eq", "term": "gone", "value": 5},
        {"type": "sounds-like", "term": "s", "value": "a"},
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_is_refused(node):
    with pytest.raises(UnsupportedError, match="The catalog's filter"):
        from_json(node, SCHEMA)


@pytest.mark.parametrize(
    "node",
    [None, 5, {}, {"type": "eq", "term": "i"}, {"type": "eq", "term": "i", "value": "x"},
     {"type": "and", "left": True}, {"type": "eq", "term": "i", "value": None}],
)  # fmt: skip
def test_malformed_json_is_refused(node):
    with pytest.raises(CorruptFileError, match=r"not a predicate|with null"):
        from_json(node, SCHEMA)
