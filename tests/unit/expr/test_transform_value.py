"""Transforms of single values (specification: "Partition Transforms" and Appendix B)."""

import uuid
from decimal import Decimal

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.transform_value import hash_value, transform_value
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
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

NOON = 1_510_871_468_000_000  # 2017-11-16T22:31:08 in microseconds


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (IntegerType(), 34, 2017239379),
        (LongType(), 34, 2017239379),
        (DecimalType(9, 2), Decimal("14.20"), -500754589),
        (DateType(), 17486, -653330422),
        (TimeType(), 81_068_000_000, -662762989),
        (TimestampType(), NOON, -2047944441),
        (TimestampType(), NOON + 1, -1207196810),
        (TimestamptzType(), NOON, -2047944441),
        (TimestampNanoType(), NOON * 1000, -2047944441),
        (TimestamptzNanoType(), NOON * 1000 + 1001, -1207196810),
        (StringType(), "iceberg", 1210000089),
        (UUIDType(), uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), 1488055340),
        (FixedType(4), b"\0\1\2\3", -188683207),
        (BinaryType(), b"\0\1\2\3", -188683207),
    ],
)
def test_hashes_of_appendix_b(kind, value, expected):
    assert hash_value(kind, value) == expected
    bucket = transform_value(BucketTransform(16), kind, value)
    assert bucket == (expected & 0x7FFFFFFF) % 16


@pytest.mark.parametrize(
    ("kind", "width", "value", "expected"),
    [
        (IntegerType(), 10, 1, 0), (IntegerType(), 10, -1, -10), (LongType(), 10, -11, -20),
        (IntegerType(), 10, -(2**31), 2147483646), (LongType(), 8, -(2**63), -(2**63)),
        (DecimalType(9, 2), 50, Decimal("10.65"), Decimal("10.50")),
        (DecimalType(9, 2), 10, Decimal("-0.05"), Decimal("-0.10")),
        (StringType(), 3, "iceberg", "ice"), (StringType(), 2, "a\U0001f600b", "a\U0001f600"),
        (BinaryType(), 3, b"\1\2\3\4\5", b"\1\2\3"),
    ],
)  # fmt: skip
def test_truncate(kind, width, value, expected):
    assert transform_value(TruncateTransform(width), kind, value) == expected


@pytest.mark.parametrize(
    ("transform", "date", "micros", "expected"),
    [
        (YearTransform(), 17486, NOON, 47), (MonthTransform(), 17486, NOON, 574),
        (DayTransform(), 17486, NOON, 17486), (YearTransform(), -1, -1, -1),
        (MonthTransform(), -1, -1, -1), (DayTransform(), -1, -1, -1),
        (MonthTransform(), -32, -32 * 86_400_000_000, -2),
    ],
)  # fmt: skip
def test_time_units_round_down(transform, date, micros, expected):
    assert transform_value(transform, DateType(), date) == expected
    assert transform_value(transform, TimestampType(), micros) == expected
    assert transform_value(transform, TimestamptzType(), micros) == expected
    assert transform_value(transform, TimestampNanoType(), micros * 1000) == expected


def test_hours_round_down():
    assert transform_value(HourTransform(), TimestampType(), NOON) == 419686
    assert transform_value(HourTransform(), TimestampType(), -1) == -1
    assert transform_value(HourTransform(), TimestamptzNanoType(), -1) == -1


def test_null_stays_null_and_void_forgets():
    assert transform_value(BucketTransform(4), IntegerType(), None) is None
    assert transform_value(VoidTransform(), IntegerType(), 5) is None
    assert transform_value(IdentityTransform(), DoubleType(), 5.5) == 5.5


@pytest.mark.parametrize(
    ("transform", "kind"),
    [(BucketTransform(4), BooleanType()), (BucketTransform(4), DoubleType()),
     (TruncateTransform(4), DateType()), (HourTransform(), DateType()),
     (YearTransform(), LongType()), (UnknownTransform("zorder"), LongType())],
)  # fmt: skip
def test_a_transform_refuses_types_it_does_not_take(transform, kind):
    with pytest.raises(InvalidInputError):
        transform_value(transform, kind, 1)
