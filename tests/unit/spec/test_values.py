"""Specification, Appendix D: binary single-value serialization."""

import struct
import uuid
from decimal import Decimal

import pytest

from iceberg_spark.errors import CorruptFileError, InvalidInputError, UnsupportedError
from iceberg_spark.spec.values import from_bytes, to_bytes
from tests.builders import list_of, type_of

UUID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("boolean", False, "00"),
        ("boolean", True, "01"),
        ("int", 34, "22000000"),
        ("int", -1, "ffffffff"),
        ("long", 34, "2200000000000000"),
        ("float", 1.0, "0000803f"),
        ("double", 1.0, "000000000000f03f"),
        ("date", 17486, "4e440000"),
        ("time", 81_068_000_000, "008307e012000000"),
        ("timestamp", 1_510_871_468_000_000, "00c3262d215e0500"),
        ("timestamptz", -1, "ffffffffffffffff"),
        ("timestamp_ns", 1, "0100000000000000"),
        ("timestamptz_ns", 1, "0100000000000000"),
        ("string", "iceberg é", "6963656265726720c3a9"),
        ("uuid", UUID, "f79c3e09677c4bbda4793f349cb785e7"),
        ("fixed[3]", b"\x00\x01\x02", "000102"),
        ("binary", b"\x00\x01\x02", "000102"),
        ("decimal(9, 2)", Decimal("14.20"), "058c"),
        ("geometry", b"\x01", "01"),
    ],
)
def test_each_type_has_its_form(kind, value, data):
    assert to_bytes(type_of(kind), value) == bytes.fromhex(data)
    assert from_bytes(type_of(kind), bytes.fromhex(data)) == value


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("0.00", "00"),
        ("1.27", "7f"),
        ("1.28", "0080"),
        ("-1.28", "80"),
        ("-1.29", "ff7f"),
        ("-0.01", "ff"),
        ("99999999999999999999999999999999999.99", "0785ee10d5da46d900f4369fffffffff"),
    ],
)
def test_a_decimal_takes_the_fewest_bytes_of_big_endian_twos_complement(value, data):
    kind = type_of("decimal(38, 2)")
    written = to_bytes(kind, Decimal(value))
    assert written == bytes.fromhex(data)
    assert from_bytes(kind, written) == Decimal(value)
    assert from_bytes(kind, written).as_tuple().exponent == -2


def test_a_38_digit_decimal_is_not_rounded():
    value = Decimal(12345678901234567890123456789012345678)
    kind = type_of("decimal(38, 0)")
    assert from_bytes(kind, to_bytes(kind, value)) == value


def test_a_time_is_eight_bytes_of_microseconds():
    assert to_bytes(type_of("time"), 5) == struct.pack("<q", 5)


def test_any_byte_but_zero_is_true():
    assert from_bytes(type_of("boolean"), b"\x02") is True


def test_four_bytes_of_a_long_are_a_promoted_int():
    assert from_bytes(type_of("long"), struct.pack("<i", -7)) == -7


def test_four_bytes_of_a_double_are_a_promoted_float():
    assert from_bytes(type_of("double"), struct.pack("<f", 1.5)) == 1.5


def test_four_bytes_of_a_timestamp_are_a_promoted_date():
    assert from_bytes(type_of("timestamp"), struct.pack("<i", 2)) == 2 * 86_400_000_000
    assert from_bytes(type_of("timestamp_ns"), struct.pack("<i", 2)) == 2 * 86_400_000_000_000


def test_a_date_is_never_promoted_to_a_timestamptz():
    with pytest.raises(CorruptFileError, match="timestamptz has 4 bytes instead of 8"):
        from_bytes(type_of("timestamptz"), struct.pack("<i", 2))


@pytest.mark.parametrize("kind", ["int", "long", "double", "uuid", "boolean", "date"])
def test_bytes_of_another_length_are_corrupt(kind):
    with pytest.raises(CorruptFileError, match="has 3 bytes"):
        from_bytes(type_of(kind), b"abc")


def test_a_decimal_without_bytes_is_corrupt():
    with pytest.raises(CorruptFileError, match="no bytes"):
        from_bytes(type_of("decimal(9, 2)"), b"")


def test_a_string_that_is_not_utf8_is_corrupt():
    with pytest.raises(CorruptFileError, match="not UTF-8: ff"):
        from_bytes(type_of("string"), b"\xff")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1 << 31),
        ("long", 1 << 63),
        ("int", "1"),
        ("float", 1e300),
        ("decimal(9, 2)", Decimal("1.234")),
        ("fixed[4]", b"abc"),
        ("string", 1),
        ("uuid", "not a uuid"),
    ],
)
def test_a_value_that_does_not_fit_its_type_is_refused(kind, value):
    with pytest.raises(InvalidInputError):
        to_bytes(type_of(kind), value)


@pytest.mark.parametrize("kind", ["unknown", "variant", list_of(1, "int")])
def test_some_types_have_no_binary_form(kind):
    with pytest.raises(UnsupportedError, match="no single-value binary form"):
        to_bytes(type_of(kind), b"")
    with pytest.raises(UnsupportedError, match="no single-value binary form"):
        from_bytes(type_of(kind), b"")
