"""Which files may match and which must, rule by rule."""

import math
import uuid

import pyarrow as pa
import pytest

from iceberg_spark.expr import stats
from iceberg_spark.expr.arrow_literal import array
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.may_match import may_match, must_match
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    UUIDType,
)

KINDS = {"i": IntegerType(), "d": DoubleType(), "s": StringType(), "u": UUIDType()}
SCHEMA = Schema(
    *(NestedField(place + 1, name, kind) for place, (name, kind) in enumerate(KINDS.items())),
    NestedField(9, "st", StructType(NestedField(10, "x", IntegerType()))),
)


def check(sql, lower=None, upper=None, nulls=None, nans=None, values=None):
    """Return (may, must) for one file with these statistics of the predicate's column."""
    bound = bind(SCHEMA, parse_predicate(sql))
    data = {
        stats.LOWER: lower, stats.UPPER: upper, stats.NULL_COUNT: nulls, stats.NAN_COUNT: nans,
        stats.VALUE_COUNT: values,
    }  # fmt: skip
    columns = {
        stats.column(need.kind, need.field_id): array([data[need.kind]], need.field_type)
        for need in stats.needed_statistics(bound)
    }
    table = pa.table(columns or {"rows": [1]})
    masks = may_match(bound), must_match(bound)
    return tuple(stats.evaluate(mask, table).to_pylist()[0] for mask in masks)


EVERY, SOME, NONE = (True, True), (True, False), (False, False)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("i < 10", NONE), ("i < 11", SOME), ("i < 21", EVERY), ("i <= 9", NONE),
        ("i <= 10", SOME), ("i <= 20", EVERY), ("i > 20", NONE), ("i > 19", SOME),
        ("i > 9", EVERY), ("i >= 21", NONE), ("i >= 20", SOME), ("i >= 10", EVERY),
        ("i = 9", NONE), ("i = 10", SOME), ("i = 15", SOME), ("i = 21", NONE),
        ("i != 9", EVERY), ("i != 15", SOME), ("i IN (1, 9, 21)", NONE), ("i IN (1, 15)", SOME),
        ("i NOT IN (1, 21)", EVERY), ("i NOT IN (1, 15)", SOME), ("i IS NULL", NONE),
        ("i IS NOT NULL", EVERY), ("i < 10 OR i > 20", NONE), ("i < 21 AND i > 9", EVERY),
        ("i < 21 AND i > 15", SOME), ("true", EVERY), ("false", NONE),
    ],
)  # fmt: skip
def test_bounds_10_to_20_without_nulls(sql, expected):
    assert check(sql, 10, 20, nulls=0, values=5) == expected


@pytest.mark.parametrize(
    "sql", ["i = 5", "i IN (5, 6)", "i < 9", "i >= 5", "i != 9", "i NOT IN (1, 2)"]
)
def test_one_value_decides_unless_there_are_nulls(sql):
    assert check(sql, 5, 5, nulls=0, values=3) == EVERY
    assert check(sql, 5, 5, nulls=1, values=3) == SOME
    assert check(sql, 5, 5) == SOME


@pytest.mark.parametrize("sql", ["i != 5", "i NOT IN (4, 5)"])
def test_one_excluded_value_rules_a_file_out(sql):
    assert check(sql, 5, 5, nulls=1, values=3) == NONE
    assert check(sql, 5, 6, nulls=0, values=3) == SOME


def test_a_file_of_nulls():
    for sql in ("i = 1", "i != 1", "i < 1", "i IN (1, 2)", "i NOT IN (1, 2)", "i IS NOT NULL",
                "s LIKE 'a%'", "s NOT LIKE 'a%'", "d > 1", "isnan(d)"):  # fmt: skip
        assert check(sql, nulls=3, values=3, nans=0) == NONE
    assert check("i IS NULL", nulls=3, values=3) == EVERY
    assert check("NOT isnan(d)", nulls=3, values=3, nans=0) == EVERY


@pytest.mark.parametrize(
    "sql",
    ["i = 1", "i != 1", "i < 1", "i > 1", "i IN (1, 2)", "i NOT IN (1, 2)", "i IS NULL",
     "i IS NOT NULL", "isnan(d)", "d > 1", "s LIKE 'a%'", "s NOT LIKE 'a%'", "st.x = 1",
     "st IS NULL", "st IS NOT NULL"],
)  # fmt: skip
def test_nothing_known_keeps_a_file_and_claims_nothing(sql):
    assert check(sql) == SOME


@pytest.mark.parametrize("sql", ["d > 5", "d >= 5", "NOT (d <= 5)", "d != 1"])
def test_nan_is_above_every_bound(sql):
    bounds = {"lower": 1.0, "upper": 1.0, "nulls": 0, "values": 4}
    assert check(sql, **bounds, nans=0) == NONE
    assert check(sql, **bounds, nans=1) == SOME
    assert check(sql, **bounds, nans=None) == SOME
    assert check(sql, nulls=0, nans=4, values=4) == EVERY
    assert check(sql, nulls=1, nans=3, values=4) == SOME


def test_nan_is_below_no_bound():
    assert check("d < 5", 1.0, 2.0, nulls=0, nans=0, values=4) == EVERY
    assert check("d < 5", 1.0, 2.0, nulls=0, nans=1, values=4) == SOME
    assert check("d < 5", 1.0, 2.0, nulls=0, values=4) == SOME
    assert check("d < 5", nulls=1, nans=3, values=4) == NONE
    assert check("d = 1", 1.0, 1.0, nulls=0, nans=1, values=4) == SOME


def test_isnan_goes_by_counts():
    assert check("isnan(d)", nulls=0, nans=0, values=4) == NONE
    assert check("isnan(d)", nulls=0, nans=1, values=4) == SOME
    assert check("isnan(d)", nulls=0, nans=4, values=4) == EVERY
    assert check("NOT isnan(d)", nulls=0, nans=4, values=4) == NONE


def test_a_nan_bound_is_no_bound():
    for lower, upper in ((math.nan, 2.0), (1.0, math.nan)):
        assert check("d < 0", lower, upper, nulls=0, nans=0, values=4) == SOME
        assert check("d = 9", lower, upper, nulls=0, nans=0, values=4) == SOME


def test_both_zeros_are_one_value():
    for sql in ("d = 0", "d >= 0", "d <= 0", "d IN (0, 1)"):
        assert check(sql, 0.0, -0.0, nulls=0, nans=0, values=1) == EVERY
        assert check(sql, -0.0, -0.0, nulls=0, nans=0, values=1) == EVERY
    assert check("d != 0", -0.0, -0.0, nulls=0, nans=0, values=1) == NONE


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("s LIKE 'ab%'", EVERY), ("s LIKE 'abcd%'", SOME), ("s LIKE 'a%'", EVERY),
        ("s LIKE 'ac%'", NONE), ("s LIKE 'aa%'", NONE), ("s LIKE 'abf%'", NONE),
        ("s NOT LIKE 'ab%'", NONE), ("s NOT LIKE 'ac%'", EVERY), ("s NOT LIKE 'abc%'", SOME),
        ("s NOT LIKE 'a%'", NONE),
    ],
)  # fmt: skip
def test_prefixes_against_bounds_of_other_lengths(sql, expected):
    assert check(sql, "abc", "abe", nulls=0, values=4) == expected


def test_the_highest_code_point_has_no_successor():
    top = "\U0010ffff"
    assert check(f"s LIKE '{top}%'", "a", top, nulls=0, values=2) == SOME
    assert check(f"s LIKE '{top}%'", "a", "b", nulls=0, values=2) == NONE
    assert check(f"s NOT LIKE '{top}%'", "a", "b", nulls=0, values=2) == EVERY
    assert check(f"s LIKE 'a{top}%'", "b", "c", nulls=0, values=2) == NONE


def test_cut_text_bounds_are_not_values():
    assert check("s = 'aaaa'", "aaaa", "aaab", nulls=0, values=2) == SOME
    assert check("s != 'aaaa'", "aaaa", "aaab", nulls=0, values=2) == SOME
    assert check("s = 'aaaax'", "aaaa", None, nulls=0, values=2) == SOME


def test_uuid_bounds_in_signed_order_still_hold():
    low, high = uuid.UUID(int=1 << 127), uuid.UUID(int=1)  # ascending to old Java
    inside = uuid.UUID(int=(1 << 127) + 5)
    assert check(f"u = '{inside}'", low, high, nulls=0, values=2) == SOME
    same = uuid.UUID(int=1 << 63), uuid.UUID(int=(1 << 63) + 9)
    assert check(f"u = '{uuid.UUID(int=3)}'", *same, nulls=0, values=2) == SOME
    assert check(f"u = '{uuid.UUID(int=1 << 70)}'", *same, nulls=0, values=2) == NONE


def test_many_values_are_looked_at_in_ranges():
    values = ", ".join(str(i * 10) for i in range(1000))
    assert check(f"i IN ({values})", 20_000, 30_000, nulls=0, values=2) == NONE
    assert check(f"i IN ({values})", 500, 600, nulls=0, values=2) == SOME
    assert check(f"i NOT IN ({values})", 20_000, 30_000, nulls=0, values=2) == EVERY


def test_needed_names_each_column_once():
    bound = bind(SCHEMA, parse_predicate("i > 1 AND i < 5 AND (d > 1 OR s IS NULL)"))
    needed = stats.needed_statistics(bound)
    assert len(needed) == len(set(needed)) == 4 + 5 + 2
    assert (stats.LOWER, 1, IntegerType()) in needed
    assert (stats.NAN_COUNT, 2, LongType()) in needed


@pytest.mark.parametrize(
    ("has_null", "has_nan", "has_bounds", "kind", "expected"),
    [
        (False, None, True, IntegerType(), (None, 0, 0)),
        (True, None, True, IntegerType(), (None, None, 0)),
        (True, None, False, IntegerType(), (1, 1, 0)),
        (True, True, False, DoubleType(), (2, 1, 1)),
        (False, True, False, DoubleType(), (1, 0, 1)),
        (False, False, True, DoubleType(), (None, 0, 0)),
        (False, True, True, DoubleType(), (None, 0, None)),
        (False, None, False, DoubleType(), (None, 0, None)),
        (False, False, False, DoubleType(), (None, 0, 0)),
    ],
)
def test_a_partition_summary_as_counts(has_null, has_nan, has_bounds, kind, expected):
    assert stats.summary_counts(has_null, has_nan, has_bounds, kind) == expected
