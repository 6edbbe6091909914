"""Binding: names to ids, literals to canonical values of the column's type, NOT to the leaves."""

import datetime as dt
import math
import uuid
from decimal import Decimal

import numpy as np
import pytest

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import as_unbound, col
from iceberg_spark.expr.nodes import And, Comparison, Constant, In, IsNaN, IsNull, Op, Or
from iceberg_spark.expr.to_text import to_text
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
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
    VariantType,
)

SCHEMA = Schema(
    NestedField(1, "i", IntegerType()),
    NestedField(2, "l", LongType()),
    NestedField(3, "f", FloatType()),
    NestedField(4, "d", DoubleType()),
    NestedField(5, "dec", DecimalType(4, 1)),
    NestedField(6, "day", DateType()),
    NestedField(7, "ts", TimestampType()),
    NestedField(8, "tz", TimestamptzType()),
    NestedField(9, "s", StringType()),
    NestedField(10, "u", UUIDType()),
    NestedField(11, "fx", FixedType(2)),
    NestedField(12, "bin", BinaryType()),
    NestedField(13, "b", BooleanType()),
    NestedField(14, "t", TimeType()),
    NestedField(15, "ns", TimestampNanoType()),
    NestedField(16, "need", IntegerType(), True),
    NestedField(
        17,
        "st",
        StructType(NestedField(18, "x", IntegerType(), True), NestedField(19, "Y", LongType())),
    ),
    NestedField(20, "ls", ListType(21, StructType(NestedField(22, "z", IntegerType())))),
    NestedField(23, "none", UnknownType()),
    NestedField(24, "var", VariantType()),
)  # fmt: skip


def bound(predicate, **options):
    return bind(SCHEMA, as_unbound(predicate), **options)


def text(predicate, **options):
    return to_text(bound(predicate, **options))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # a literal that no value equals moves to its neighbour
        ("i < 1.5", "i <= 1"), ("i <= 1.5", "i <= 1"), ("i > 1.5", "i >= 2"),
        ("i >= -1.5", "i >= -1"), ("i = 1.5", "false"), ("i != 1.5", "i IS NOT NULL"),
        ("i = 1.0", "i = 1"), ("i = 1e0", "i = 1"), ("i = '7'", "i = 7"),
        ("dec < 1.25", "dec <= 1.2"), ("dec = 1.25", "false"), ("dec = 5", "dec = 5.0"),
        ("dec > 0.1D", "dec > 0.1"), ("d = 1", "d = 1.0"), ("d = 0.1", "d = 0.1"),
        ("f = 0.5", "f = 0.5"), ("f = 0.1", "false"), ("f < 0.1", "f <= 0.09999999403953552"),
        ("f > 0.1", "f >= 0.10000000149011612"), ("f < 1e300", "f <= 3.4028234663852886e+38"),
        ("f > 1e300", "f >= inf"), ("f = 0.1F", "f = 0.10000000149011612"),
        # out of the type's range: one constant for every value
        ("i < 3000000000", "i IS NOT NULL"), ("i > 3000000000", "false"),
        ("i = 3000000000", "false"), ("i != 3000000000", "i IS NOT NULL"),
        ("i > -3000000000", "i IS NOT NULL"), ("need < 3000000000", "true"),
        ("i <= 2147483647", "i IS NOT NULL"), ("i < -2147483648", "false"),
        ("dec < 1000", "dec IS NOT NULL"), ("dec >= -999.9", "dec IS NOT NULL"),
        ("i < double 'NaN'", "i IS NOT NULL"), ("i > double '-Infinity'", "i IS NOT NULL"),
        # NaN is the largest value
        ("d = double 'NaN'", "isnan(d)"), ("d >= double 'NaN'", "isnan(d)"),
        ("d > double 'NaN'", "false"), ("d <= double 'NaN'", "d IS NOT NULL"),
        ("d < double 'NaN'", "d IS NOT NULL AND NOT isnan(d)"),
        ("d = -0.0D", "d = 0.0"),
        # dates and times
        ("day = '2024-01-31'", "day = DATE '2024-01-31'"),
        ("day = '2024-1'", "day = DATE '2024-01-01'"),
        ("day < TIMESTAMP '2024-01-31 12:00:00'", "day <= DATE '2024-01-31'"),
        ("day >= TIMESTAMP '2024-01-31 12:00:00'", "day >= DATE '2024-02-01'"),
        ("day = TIMESTAMP '2024-01-31 00:00:00'", "day = DATE '2024-01-31'"),
        ("ts = DATE '2024-01-31'", "ts = TIMESTAMP '2024-01-31 00:00:00'"),
        ("ts = '2024-01-31 1:2:3.1234567'", "ts = TIMESTAMP '2024-01-31 01:02:03.123456'"),
        ("ts > '-0001-01-01'", "ts > TIMESTAMP '-0001-01-01 00:00:00'"),
        ("ns = '2024-01-31 00:00:00.000000001'", "ns = TIMESTAMP '2024-01-31 00:00:00.000000001'"),
        ("ns < '9999-01-01'", "ns IS NOT NULL"),
        ("tz = '2024-01-31 00:00:00+01:00'", "tz = TIMESTAMP '2024-01-30 23:00:00+00:00'"),
        ("tz = '2024-01-31 00:00:00Z'", "tz = TIMESTAMP '2024-01-31 00:00:00+00:00'"),
        ("t = '22:31:08.5'", "t = TIME '22:31:08.500000'"),
        # other types
        ("b", "b = true"), ("b = 'no'", "b = false"), ("NOT b", "b != true"),
        ("bin = 'ab'", "bin = X'6162'"), ("fx = X'0102'", "fx = X'0102'"), ("fx = X'01'", "false"),
        ("fx < X'01'", "fx <= X'00FF'"), ("fx >= X'010203'", "fx >= X'0103'"),
        ("fx < X'FFFFFF'", "fx IS NOT NULL"),
        # lists
        ("i IN (3, 1, 3, 1.0)", "i IN (1, 3)"), ("i IN (2, NULL, 2.5)", "i = 2"),
        ("i NOT IN (2)", "i != 2"), ("i NOT IN (1, NULL)", "false"), ("i IN (NULL)", "false"),
        ("i IN (2.5)", "false"), ("i NOT IN (2.5)", "i IS NOT NULL"),
        ("d IN (1, double 'NaN')", "d = 1.0 OR isnan(d)"),
        ("d NOT IN (1, double 'NaN')", "d != 1.0 AND (d IS NOT NULL AND NOT isnan(d))"),
        # null
        ("i = NULL", "false"), ("NOT (i = NULL)", "false"), ("i <=> NULL", "i IS NULL"),
        ("need IS NULL", "false"), ("need IS NOT NULL", "true"), ("need <=> NULL", "false"),
        ("none = 1", "false"), ("none IS NULL", "true"), ("var IS NULL", "var IS NULL"),
        ("s LIKE '%'", "s IS NOT NULL"), ("s NOT LIKE '%'", "false"),
    ],
)  # fmt: skip
def test_literals_take_the_columns_type(sql, expected):
    assert text(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("NOT (i < 5)", "i >= 5"), ("NOT (i = 5)", "i != 5"), ("NOT (NOT (i < 5))", "i < 5"),
        ("NOT (i < 5 AND l > 3)", "i >= 5 OR l <= 3"),
        ("NOT (i < 5 OR l > 3)", "i >= 5 AND l <= 3"),
        ("NOT (i IN (1, 2))", "i NOT IN (1, 2)"), ("NOT (i IS NULL)", "i IS NOT NULL"),
        ("NOT (s LIKE 'x%')", "s NOT LIKE 'x%'"), ("NOT (i <=> 5)", "i != 5 OR i IS NULL"),
        # isnan(NULL) is false in Spark, so its negation keeps nulls
        ("NOT isnan(d)", "(d IS NOT NULL AND NOT isnan(d)) OR d IS NULL"),
        ("NOT true", "false"),
    ],
)  # fmt: skip
def test_not_goes_down_to_the_leaves(sql, expected):
    assert text(sql) == expected


def test_trees_are_kept_small():
    one = Comparison(Op.EQ, bound("i = 1").term, 1)
    assert bound("i = 1 AND (i = 1 AND true)") == one
    assert bound("i = 1 OR false") == one
    assert bound("i = 1 AND i = NULL") == Constant(False)
    assert isinstance(bound("i = 1 OR (i = 2 OR i = 3)"), Or)
    assert len(bound("i = 1 AND (l = 2 AND d = 3)").children) == 3


def test_names_find_ids_in_structs():
    term = bound("st.x = 1").term
    assert (term.field_id, term.name) == (18, "st.x")
    assert not term.required, "its struct may be null"
    assert bound("st IS NULL") == IsNull(bound("st IS NULL").term)
    assert bound("ST.y = 1", case_sensitive=False).term.field_id == 19
    with pytest.raises(InvalidExpressionError, match=r"'st\.y'.*it has: i, l"):
        bound("st.y = 1")


def test_names_that_differ_by_case_are_ambiguous():
    schema = Schema(NestedField(1, "aB", IntegerType()), NestedField(2, "Ab", IntegerType()))
    with pytest.raises(InvalidExpressionError, match="ambiguous"):
        bind(schema, as_unbound("ab = 1"), case_sensitive=False)


@pytest.mark.parametrize("name", ["ls.element.z", "ls.z"])
def test_nothing_inside_lists(name):
    with pytest.raises(InvalidExpressionError, match="list or map"):
        bound(f"{name} = 1")


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("s = 5", "'s' has type string"), ("i = 'x'", "'i'"), ("i = true", "'i'"), ("b = 1", "'b'"),
        ("day = 5", "DATE '2024-01-31'"), ("ts = 5", "TIMESTAMP"), ("u = 'x'", "UUID"),
        ("t = 5", "TIME"), ("bin = 5", "X'00FF'"), ("i LIKE 'x%'", "LIKE needs a string"),
        ("isnan(i)", "float or double"), ("st = 1", "IS NULL"), ("var = 1", "IS NULL"),
        ("day = 'soon'", "soon"), ("dec = 'x'", "'dec'"), ("f = 'x'", "'f'"), ("i = '1.5'", "'i'"),
        ("nope = 1", "No column 'nope'"), ("s = DATE '2024-01-31'", "'s'"),
    ],
)  # fmt: skip
def test_what_can_not_be_compared_is_named(sql, part):
    with pytest.raises(InvalidExpressionError) as raised:
        bound(sql)
    assert part in str(raised.value)


def test_an_instant_without_offset_needs_a_time_zone():
    sql = "tz >= TIMESTAMP '2024-07-01 00:00:00'"
    with pytest.raises(InvalidExpressionError) as raised:
        bound(sql)
    assert "TIMESTAMP '2024-01-01 00:00:00+00:00'" in str(raised.value)
    assert "time_zone=" in str(raised.value)
    assert text(sql, time_zone="Europe/Berlin") == "tz >= TIMESTAMP '2024-06-30 22:00:00+00:00'"
    assert text(sql, time_zone="-02:30") == "tz >= TIMESTAMP '2024-07-01 02:30:00+00:00'"


def test_skipped_and_repeated_wall_clocks_are_read_as_spark_reads_them():
    skipped = text("tz = '2024-03-31 02:30:00'", time_zone="Europe/Berlin")
    assert skipped == "tz = TIMESTAMP '2024-03-31 01:30:00+00:00'"
    repeated = text("tz = '2024-10-27 02:30:00'", time_zone="Europe/Berlin")
    assert repeated == "tz = TIMESTAMP '2024-10-27 00:30:00+00:00'"


def test_a_timestamp_without_zone_takes_no_offset():
    with pytest.raises(InvalidExpressionError, match=r"'ts'.*takes no offset"):
        bound("ts = '2024-01-01 00:00:00+00:00'")


def test_an_instant_has_a_date_only_in_a_zone():
    sql = "day = TIMESTAMP '2024-01-01 00:00:00+00:00'"
    with pytest.raises(InvalidExpressionError, match="time_zone"):
        bound(sql)
    assert text(sql, time_zone="UTC") == "day = DATE '2024-01-01'"
    assert text(sql, time_zone="Asia/Tokyo") == "false"


def test_python_values():
    aware = dt.datetime(2024, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    assert text(col("tz") == aware) == "tz = TIMESTAMP '2024-01-01 00:00:00+00:00'"
    naive = aware.replace(tzinfo=None, hour=0)
    assert text(col("ts") > naive) == "ts > TIMESTAMP '2024-01-01 00:00:00'"
    assert text(col("day") == dt.date(2024, 1, 1)) == "day = DATE '2024-01-01'"
    assert text(col("t") == dt.time(1, 2, 3)) == "t = TIME '01:02:03.000000'"
    assert text(col("i") == np.int64(5)) == "i = 5"
    assert text(col("dec") == Decimal("1.5")) == "dec = 1.5"
    key = uuid.UUID(int=5)
    assert bound(col("u") == key).value == bound(col("u") == key.bytes).value == key
    nan = math.nan
    assert bound(col("d") == nan) == IsNaN(bound("isnan(d)").term)


def test_builders_make_the_same_trees_as_sql():
    pairs = [
        ((col("i") > 5) & ~col("s").starts_with("x"), "i > 5 AND NOT s LIKE 'x%'"),
        (col("i").is_in([1, 2]) | col("d").is_nan(), "i IN (1, 2) OR isnan(d)"),
        (col("i").between(1, 2), "i BETWEEN 1 AND 2"),
        (col("i").is_null() | col("l").is_not_null(), "i IS NULL OR l IS NOT NULL"),
        ((col("i") != 1) & (col("i") < 9) & (col("i") <= 8), "i != 1 AND i < 9 AND i <= 8"),
        (col("i") >= 3, "i >= 3"),
    ]
    for built, sql in pairs:
        assert bound(built) == bound(sql)
    assert isinstance(bound("i > 1 AND l > 1"), And) and isinstance(bound("i in (1, 2)"), In)
    assert bound(True) == Constant(True)


def test_builders_refuse_what_reads_wrong():
    with pytest.raises(TypeError, match="join with &"):
        bool(col("i") > 5)
    with pytest.raises(TypeError, match="another column"):
        assert col("i") == col("l")
    with pytest.raises(TypeError, match="is no predicate"):
        as_unbound(5)
