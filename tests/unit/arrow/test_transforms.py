"""Every transform on every legal type against a scalar reading of the specification."""

from __future__ import annotations

import struct
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal

import mmh3
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.errors import InvalidInputError, UnsupportedError
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
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

HUGE = 2**31 - 1
EPOCH = datetime.fromtimestamp(0, UTC)
UUID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")


def bucketed(data: bytes, buckets: int) -> int:
    return (mmh3.hash(data, 0) & 0x7FFFFFFF) % buckets


def as_long(value: int) -> bytes:
    return struct.pack("<q", value)


def least_bytes(value: int) -> bytes:
    bits = (value if value >= 0 else ~value).bit_length() + 1
    return value.to_bytes((bits + 7) // 8, "big", signed=True)


def shown(transform, kind, array) -> list:
    return apply_transform(transform, kind, array).to_pylist()


LONGS = [0, 1, -1, 34, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), None]
TEXTS = ["iceberg", "", "é", "𐍈𐍈𐍈", "日本語テキスト", None]
BLOBS = [b"\x00\x01\x02\x03", b"\xff\xff\xff\xff", b"\x80\x00\x7f\x01", None]
UNSCALED = [1420, -1420, 0, 127, 128, -128, -129, 32767, 32768, -32769, 99999, -99999, None]
MICROS = [0, -1, 1, 1_510_871_468_000_001, -62_135_596_800_000_000, 253_402_300_799_999_999, None]


@pytest.mark.parametrize(
    ("kind", "arrow", "values", "hashed"),
    [
        (IntegerType(), pa.int32(), [v for v in LONGS if v is None or abs(v) < 2**31], as_long),
        (LongType(), pa.int64(), LONGS, as_long),
        (DateType(), pa.date32(), [0, -1, 17486, -719162, None], as_long),
        (TimeType(), pa.time64("us"), [0, 1, 81_068_000_000, None], as_long),
        (TimestampType(), pa.timestamp("us"), MICROS, as_long),
        (TimestamptzType(), pa.timestamp("us", "UTC"), MICROS, as_long),
        (StringType(), pa.string(), TEXTS, str.encode),
        (StringType(), pa.large_string(), TEXTS, str.encode),
        (StringType(), pa.string_view(), TEXTS, str.encode),
        (StringType(), pa.dictionary(pa.int32(), pa.string()), TEXTS, str.encode),
        (BinaryType(), pa.binary(), [*BLOBS, b""], bytes),
        (BinaryType(), pa.large_binary(), [*BLOBS, b""], bytes),
        (FixedType(4), pa.binary(4), BLOBS, bytes),
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_bucket_is_murmur3_of_the_value(kind, arrow, values, hashed) -> None:
    expected = [None if v is None else bucketed(hashed(v), HUGE) for v in values]
    assert shown(BucketTransform(HUGE), kind, pa.array(values, arrow)) == expected


@pytest.mark.parametrize("precision", [7, 9, 10, 18, 19, 38])
def test_bucket_of_a_decimal_hashes_the_fewest_bytes(precision: int) -> None:
    values = [None if v is None else Decimal(v).scaleb(-2) for v in UNSCALED]
    expected = [None if v is None else bucketed(least_bytes(v), HUGE) for v in UNSCALED]
    column = pa.array(values, pa.decimal128(precision, 2))
    assert shown(BucketTransform(HUGE), DecimalType(precision, 2), column) == expected


def test_bucket_of_narrow_arrow_decimals() -> None:
    values = [Decimal("14.20"), None]
    expected = [bucketed(least_bytes(1420), 7), None]
    for arrow in (pa.decimal32(9, 2), pa.decimal64(9, 2)):
        column = pa.array(values, arrow)
        assert shown(BucketTransform(7), DecimalType(9, 2), column) == expected


def test_bucket_of_a_wide_decimal() -> None:
    value = -(10**38) + 1
    column = pa.array([Decimal(value)], pa.decimal128(38, 0))
    expected = [bucketed(least_bytes(value), HUGE)]
    assert shown(BucketTransform(HUGE), DecimalType(38, 0), column) == expected


def test_bucket_of_a_uuid_hashes_its_big_endian_bytes() -> None:
    storage = pa.array([UUID.bytes, None], pa.binary(16))
    expected = [1488055340 % 1000, None]
    assert shown(BucketTransform(1000), UUIDType(), storage) == expected
    extension = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    assert shown(BucketTransform(1000), UUIDType(), extension) == expected


def test_bucket_of_nanoseconds_hashes_microseconds_rounded_down() -> None:
    values = [0, 1, -1, -1001, 10**18 + 999, None]
    expected = [None if v is None else bucketed(as_long(v // 1000), 97) for v in values]
    for kind, arrow in (
        (TimestampNanoType(), pa.timestamp("ns")),
        (TimestamptzNanoType(), pa.timestamp("ns", "UTC")),
    ):
        assert shown(BucketTransform(97), kind, pa.array(values, arrow)) == expected


@pytest.mark.parametrize(
    ("kind", "column", "hashed"),
    [
        (IntegerType(), pa.array([34], pa.int32()), 2017239379),
        (LongType(), pa.array([34], pa.int64()), 2017239379),
        (DecimalType(9, 2), pa.array([Decimal("14.20")], pa.decimal128(9, 2)), -500754589),
        (DateType(), pa.array([date(2017, 11, 16)]), -653330422),
        (TimeType(), pa.array([81_068_000_000], pa.time64("us")), -662762989),
        (TimestampType(), pa.array([1_510_871_468_000_000], pa.timestamp("us")), -2047944441),
        (
            TimestamptzType(),
            pa.array([datetime(2017, 11, 16, 22, 31, 8, 1, UTC)], pa.timestamp("us", "UTC")),
            -1207196810,
        ),
        (StringType(), pa.array(["iceberg"]), 1210000089),
        (FixedType(4), pa.array([b"\x00\x01\x02\x03"], pa.binary(4)), -188683207),
        (BinaryType(), pa.array([b"\x00\x01\x02\x03"]), -188683207),
    ],
    ids=str,
)
def test_hashes_of_appendix_b(kind, column, hashed: int) -> None:
    assert shown(BucketTransform(HUGE), kind, column) == [(hashed & 0x7FFFFFFF) % HUGE]


@pytest.mark.parametrize(("kind", "arrow"), [(IntegerType(), pa.int32()), (LongType(), pa.int64())])
def test_truncate_takes_numbers_down_to_a_multiple(kind, arrow) -> None:
    column = pa.array([0, 1, -1, 9, 10, -10, -11, None], arrow)
    assert shown(TruncateTransform(10), kind, column) == [0, 0, -10, 0, 10, -10, -20, None]


def test_truncate_keeps_a_decimals_scale_and_type() -> None:
    values = [Decimal("10.65"), Decimal("-10.65"), Decimal("0.05"), Decimal("-0.05"), None]
    expected = [Decimal("10.50"), Decimal("-11.00"), Decimal("0.00"), Decimal("-0.50"), None]
    for precision in (4, 9, 18, 38):
        column = pa.array(values, pa.decimal128(precision, 2))
        found = apply_transform(TruncateTransform(50), DecimalType(precision, 2), column)
        assert found.type == column.type
        assert found.to_pylist() == expected


@pytest.mark.parametrize("transform", [BucketTransform(3), TruncateTransform(10)])
def test_decimals_as_java_aligns_them(transform) -> None:
    """Arrow batches from a JVM lie at multiples of 8, not of 16."""
    values = [Decimal("10.65"), None, Decimal("-0.05")]
    kind = pa.decimal128(9, 2)
    plain = pa.array(values, kind)
    valid, data = plain.buffers()
    shifted = pa.py_buffer(bytes(8) + data.to_pybytes()).slice(8)
    assert shifted.address % 16 == 8
    moved = pa.Array.from_buffers(kind, 3, [valid, shifted])
    found = apply_transform(transform, DecimalType(9, 2), moved)
    assert found.equals(apply_transform(transform, DecimalType(9, 2), plain))


@pytest.mark.parametrize("precision", [4, 38])
def test_truncate_of_a_decimal_that_needs_one_more_digit_is_refused(precision: int) -> None:
    lowest = "-" + "9" * (precision - 2) + ".99"
    column = pa.array([lowest]).cast(pa.decimal128(precision, 2))
    with pytest.raises(InvalidInputError, match="does not fit decimal"):
        apply_transform(TruncateTransform(50), DecimalType(precision, 2), column)


def test_truncate_counts_code_points_of_text() -> None:
    column = pa.array(["x", "iceberg", "𐍈𐍈𐍈", "e\u0301e", "", None]).slice(1)
    expected = ["ic", "𐍈𐍈", "e\u0301", "", None]
    assert shown(TruncateTransform(2), StringType(), column) == expected


def test_truncate_counts_bytes_of_binary() -> None:
    column = pa.array([b"\x01\x02\x03", b"", b"\xff", None])
    assert shown(TruncateTransform(2), BinaryType(), column) == [b"\x01\x02", b"", b"\xff", None]


STAMPS = [0, -1, -86_400_000_000, -86_400_000_001, -31_536_000_000_001, 1_510_871_468_000_001, None]
_SINCE = {
    YearTransform: lambda moment: moment.year - 1970,
    MonthTransform: lambda moment: (moment.year - 1970) * 12 + moment.month - 1,
    DayTransform: lambda moment: moment.date(),
    HourTransform: lambda moment: int((moment - EPOCH).total_seconds() // 3600),
}


@pytest.mark.parametrize("transform", _SINCE, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_time_transforms_round_towards_the_past(transform, zone) -> None:
    moments = pa.array(STAMPS, pa.timestamp("us", "UTC")).to_pylist()
    expected = [None if m is None else _SINCE[transform](m) for m in moments]
    kind = TimestamptzType() if zone else TimestampType()
    assert shown(transform(), kind, pa.array(STAMPS, pa.timestamp("us", zone))) == expected
    nanos = pa.array([None if v is None else v * 1000 for v in STAMPS], pa.timestamp("ns", zone))
    kind = TimestamptzNanoType() if zone else TimestampNanoType()
    assert shown(transform(), kind, nanos) == expected


def test_one_nanosecond_before_the_epoch_is_the_last_day_of_1969() -> None:
    column = pa.array([-1], pa.timestamp("ns"))
    assert shown(DayTransform(), TimestampNanoType(), column) == [date(1969, 12, 31)]
    assert shown(YearTransform(), TimestampNanoType(), column) == [-1]


def test_dates_have_years_months_and_days() -> None:
    column = pa.array([date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31), None])
    assert shown(YearTransform(), DateType(), column) == [-1969, -1, 8029, None]
    assert shown(MonthTransform(), DateType(), column) == [-23628, -1, 96359, None]
    assert shown(DayTransform(), DateType(), column) == column.to_pylist()


def test_years_that_no_calendar_library_reaches() -> None:
    column = pa.array([2**63 - 1, -(2**63), None, 0], pa.timestamp("us"))
    assert shown(YearTransform(), TimestampType(), column) == [292_277, -292_278, None, 0]
    assert shown(MonthTransform(), TimestampType(), column)[2:] == [None, 0]
    dates = pa.array([2**31 - 1, None], pa.int32()).cast(pa.date32())
    assert shown(YearTransform(), DateType(), dates) == [5_879_610, None]


def test_an_hour_beyond_32_bits_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="does not fit 32 bits"):
        apply_transform(HourTransform(), TimestampType(), pa.array([2**63 - 1], pa.timestamp("us")))


def test_void_is_always_null_and_identity_the_value() -> None:
    column = pa.array([1, None], pa.int64())
    assert shown(VoidTransform(), LongType(), column) == [None, None]
    assert shown(IdentityTransform(), LongType(), column) == [1, None]


@pytest.mark.parametrize(
    ("transform", "kind"),
    [
        (BucketTransform(4), DoubleType()),
        (BucketTransform(4), BooleanType()),
        (TruncateTransform(4), DateType()),
        (TruncateTransform(4), FixedType(4)),
        (YearTransform(), StringType()),
        (HourTransform(), DateType()),
        (IdentityTransform(), StructType()),
        (UnknownTransform("zorder[3]"), LongType()),
    ],
    ids=str,
)
def test_a_transform_that_does_not_take_the_type_is_refused(transform, kind) -> None:
    with pytest.raises(UnsupportedError, match=str(transform).split("[")[0]):
        apply_transform(transform, kind, pa.nulls(1, pa.int64()))


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))), st.integers(1, HUGE))
def test_any_long_in_any_number_of_buckets(values: list[int | None], buckets: int) -> None:
    expected = [None if v is None else bucketed(as_long(v), buckets) for v in values]
    assert shown(BucketTransform(buckets), LongType(), pa.array(values, pa.int64())) == expected


@given(st.lists(st.one_of(st.none(), st.text())), st.integers(1, 40))
def test_any_text_truncated_to_any_length(values: list[str | None], width: int) -> None:
    expected = [None if v is None else v[:width] for v in values]
    assert shown(TruncateTransform(width), StringType(), pa.array(values, pa.string())) == expected


@given(st.lists(st.integers(-(10**37), 10**37)), st.integers(1, HUGE))
def test_any_decimal_truncated_to_any_width(values: list[int], width: int) -> None:
    exact = [Decimal(v) for v in values]
    expected = [Decimal(v - v % width) for v in values]
    column = pa.array(exact, pa.decimal128(38, 0))
    assert shown(TruncateTransform(width), DecimalType(38, 0), column) == expected
