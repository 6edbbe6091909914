"""Projections through every transform, equal to Java's (its TestProjection and Transform tests)."""

from decimal import Decimal

import pytest

from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.nodes import BoundReference
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.expr.project import inclusive, residual, residual_of, strict
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.expr.transform_value import transform_value
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
)
from iceberg_spark.spec.types import (
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

SCHEMA = Schema(
    NestedField(1, "i", IntegerType()),
    NestedField(2, "l", LongType()),
    NestedField(3, "day", DateType()),
    NestedField(4, "ts", TimestampType()),
    NestedField(5, "s", StringType()),
    NestedField(6, "dec", DecimalType(9, 2)),
    NestedField(7, "st", StructType(NestedField(8, "x", IntegerType()))),
)


def projected(sql, transform, source):
    spec = PartitionSpec(1, (PartitionField((SCHEMA.find_id(source),), 1000, transform, "p"),))
    bound = bind(SCHEMA, parse_predicate(sql))
    return to_text(inclusive(bound, spec, SCHEMA)), to_text(strict(bound, spec, SCHEMA))


@pytest.mark.parametrize(
    ("sql", "possible", "certain"),
    [
        ("i < 100", "p <= 90", "p < 100"), ("i <= 100", "p <= 100", "p < 100"),
        ("i <= 99", "p <= 90", "p < 100"), ("i > 100", "p >= 100", "p > 100"),
        ("i >= 100", "p >= 100", "p > 90"), ("i = 105", "p = 100", "false"),
        ("i != 105", "true", "p != 100"), ("i IN (5, 105)", "p IN (0, 100)", "false"),
        ("i NOT IN (5, 6)", "true", "p != 0"), ("i IS NULL", "p IS NULL", "p IS NULL"),
        ("i IS NOT NULL", "p IS NOT NULL", "p IS NOT NULL"),
    ],
)  # fmt: skip
def test_truncated_numbers(sql, possible, certain):
    found, sure = projected(sql, TruncateTransform(10), "i")
    assert found.removesuffix(" OR p = 2147483646") == possible
    assert sure.removesuffix(" AND p != 2147483646") == certain


def test_the_least_integers_wrap_around_when_truncated():
    assert projected("i < 100", TruncateTransform(10), "i")[0] == "p <= 90 OR p = 2147483646"
    assert projected("i > 100", TruncateTransform(10), "i")[1] == "p > 100 AND p != 2147483646"
    assert projected("i > -2147483648", TruncateTransform(10), "i") == ("true", "false")
    assert projected("i < 96", TruncateTransform(16), "i")[0] == "p <= 80"


@pytest.mark.parametrize(
    ("sql", "possible", "certain"),
    [
        ("dec < 100", "p <= 99.90", "p < 100.00"), ("dec <= 99.99", "p <= 99.90", "p < 100.00"),
        ("dec > 100", "p >= 100.00", "p > 100.00"), ("dec >= 100", "p >= 100.00", "p > 99.90"),
        ("dec = 100.05", "p = 100.00", "false"),
        # truncated, this leaves the precision of the type: nothing can be said
        ("dec > -9999999.98", "true", "false"),
    ],
)  # fmt: skip
def test_truncated_decimals(sql, possible, certain):
    assert projected(sql, TruncateTransform(10), "dec") == (possible, certain)


@pytest.mark.parametrize(
    ("sql", "possible", "certain"),
    [
        ("s < 'abcde'", "p <= 'abc'", "p < 'abc'"), ("s >= 'abcde'", "p >= 'abc'", "p > 'abc'"),
        ("s = 'abcde'", "p = 'abc'", "false"), ("s != 'abcde'", "true", "p != 'abc'"),
        ("s LIKE 'ab%'", "p LIKE 'ab%'", "p LIKE 'ab%'"),
        ("s LIKE 'abc%'", "p = 'abc'", "p = 'abc'"),
        ("s LIKE 'abcd%'", "p LIKE 'abc%'", "false"),
        ("s NOT LIKE 'ab%'", "p NOT LIKE 'ab%'", "p NOT LIKE 'ab%'"),
        ("s NOT LIKE 'abc%'", "p != 'abc'", "p != 'abc'"),
        ("s NOT LIKE 'abcd%'", "true", "p NOT LIKE 'abc%'"),
        ("s IN ('abcd', 'abce')", "p = 'abc'", "false"),
    ],
)  # fmt: skip
def test_truncated_text(sql, possible, certain):
    assert projected(sql, TruncateTransform(3), "s") == (possible, certain)


@pytest.mark.parametrize(
    ("sql", "possible", "certain"),
    [
        ("ts < '2024-01-02'", "p <= DATE '2024-01-01'", "p < DATE '2024-01-02'"),
        ("ts <= '2024-01-02'", "p <= DATE '2024-01-02'", "p < DATE '2024-01-02'"),
        ("ts > '2024-01-01 23:59:59.999999'", "p >= DATE '2024-01-02'", "p > DATE '2024-01-01'"),
        ("ts >= '2024-01-02'", "p >= DATE '2024-01-02'", "p > DATE '2024-01-01'"),
        ("ts = '2024-01-02'", "p = DATE '2024-01-02'", "false"),
        ("ts != '2024-01-02'", "true", "p != DATE '2024-01-02'"),
        # before 1970, where Java up to 0.10 was one too high
        ("ts < '1969-12-31'", "p <= DATE '1969-12-31'", "p < DATE '1969-12-31'"),
        ("ts = '1969-12-31'", "p IN (DATE '1969-12-31', DATE '1970-01-01')", "false"),
        ("ts > '1969-12-31'", "p >= DATE '1969-12-31'", "p > DATE '1970-01-01'"),
        ("ts != '1969-12-31'", "true", "p NOT IN (DATE '1969-12-31', DATE '1970-01-01')"),
        ("ts IN ('1969-12-30', '2024-01-01')",
         "p IN (DATE '1969-12-30', DATE '1969-12-31', DATE '2024-01-01')", "false"),
    ],
)  # fmt: skip
def test_days_of_timestamps(sql, possible, certain):
    assert projected(sql, DayTransform(), "ts") == (possible, certain)


@pytest.mark.parametrize(
    ("transform", "sql", "possible", "certain"),
    [
        (DayTransform(), "day < '1969-12-31'", "p <= DATE '1969-12-30'", "p < DATE '1969-12-31'"),
        (MonthTransform(), "day < '2017-12-01'", "p <= 574", "p < 575"),
        (MonthTransform(), "day = '1969-12-31'", "p IN (-1, 0)", "false"),
        (YearTransform(), "day >= '2018-01-01'", "p >= 48", "p > 47"),
        (YearTransform(), "day < '1970-01-01'", "p <= 0", "p < 0"),
        (HourTransform(), "ts > '1970-01-01 01:00:00'", "p >= 1", "p > 1"),
        (HourTransform(), "ts <= '1969-12-31 22:30:00'", "p <= -1", "p < -2"),
    ],
)  # fmt: skip
def test_other_time_units(transform, sql, possible, certain):
    assert projected(sql, transform, sql.split()[0]) == (possible, certain)


def test_buckets_know_equality_only():
    bucket = transform_value(BucketTransform(16), LongType(), 100)
    assert projected("l = 100", BucketTransform(16), "l") == (f"p = {bucket}", "false")
    assert projected("l != 100", BucketTransform(16), "l") == ("true", f"p != {bucket}")
    assert projected("l < 100", BucketTransform(16), "l") == ("true", "false")
    assert projected("l IS NULL", BucketTransform(16), "l") == ("p IS NULL", "p IS NULL")


@pytest.mark.parametrize("sql", ["s < 'x'", "s != 'x'", "s LIKE 'x%'", "s IN ('x', 'y')"])
def test_identity_keeps_every_test(sql):
    same = "p" + sql[1:]
    assert projected(sql, IdentityTransform(), "s") == (same, same)


@pytest.mark.parametrize("transform", [VoidTransform(), UnknownTransform("zorder")])
def test_void_and_unknown_transforms_say_nothing(transform):
    for sql in ("i = 1", "i IS NULL", "i IS NOT NULL"):
        assert projected(sql, transform, "i") == ("true", "false")


def test_several_sources_and_other_columns_say_nothing():
    spec = PartitionSpec(1, (PartitionField((1, 2), 1000, BucketTransform(4), "p"),))
    bound = bind(SCHEMA, parse_predicate("i = 1 AND l = 1"))
    assert to_text(inclusive(bound, spec, SCHEMA)) == "true"
    assert to_text(strict(bound, spec, SCHEMA)) == "false"
    assert projected("i = 1", IdentityTransform(), "l") == ("true", "false")


def test_a_nested_source_is_projected_to_the_partition_field():
    spec = PartitionSpec(1, (PartitionField((8,), 1003, BucketTransform(4), "x_b"),))
    found = inclusive(bind(SCHEMA, parse_predicate("st.x = 5")), spec, SCHEMA)
    assert found.term == BoundReference(1003, IntegerType(), False, "x_b")


def test_several_fields_of_a_column_join():
    spec = PartitionSpec(
        1,
        (
            PartitionField((4,), 1000, DayTransform(), "d"),
            PartitionField((4,), 1001, HourTransform(), "h"),
        ),
    )
    bound = bind(SCHEMA, parse_predicate("ts > TIMESTAMP '1970-01-03 01:00:00'"))
    both = "d >= DATE '1970-01-03' AND h >= 49"
    assert to_text(inclusive(bound, spec, SCHEMA)) == both
    assert to_text(strict(bound, spec, SCHEMA)) == "d > DATE '1970-01-03' OR h > 49"


def test_residual_of_a_partition():
    spec = PartitionSpec(1, (PartitionField((4,), 1000, DayTransform(), "d"),))
    bound = bind(SCHEMA, parse_predicate("ts >= '1970-01-10 12:00:00' AND i = 1"))
    of = residual_of(bound, spec, SCHEMA)
    assert to_text(of((8,))) == "false"
    assert of((9,)) == bound
    assert to_text(of((10,))) == "i = 1"
    assert to_text(of((None,))) == "false"
    assert residual(bound, PartitionSpec(), SCHEMA, ()) == bound


def test_residual_of_identity_is_decided():
    spec = PartitionSpec(1, (PartitionField((6,), 1000, IdentityTransform(), "dec"),))
    bound = bind(SCHEMA, parse_predicate("dec < 5 OR dec IS NULL"))
    assert to_text(residual(bound, spec, SCHEMA, (Decimal("4.99"),))) == "true"
    assert to_text(residual(bound, spec, SCHEMA, (Decimal("5.00"),))) == "false"
    assert to_text(residual(bound, spec, SCHEMA, (None,))) == "true"
