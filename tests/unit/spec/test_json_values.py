"""Specification, Appendix D: JSON single-value serialization."""

import uuid
from decimal import Decimal

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.calendar_text import date_text, parse_date
from iceberg_spark.spec.json_values import value_from_json, value_to_json
from tests.builders import field, list_of, map_of, struct, type_of

MICROS = 1_510_871_468_123_456


@pytest.mark.parametrize(
    ("kind", "value", "node"),
    [
        ("boolean", True, True),
        ("int", 34, 34),
        ("long", 1 << 40, 1 << 40),
        ("float", 1.0, 1.0),
        ("double", 1.5, 1.5),
        ("decimal(9, 2)", Decimal("14.20"), "14.20"),
        ("decimal(9, 8)", Decimal("0.00000001"), "0.00000001"),
        ("date", 17_486, "2017-11-16"),
        ("time", 81_068_123_456, "22:31:08.123456"),
        ("timestamp", MICROS, "2017-11-16T22:31:08.123456"),
        ("timestamptz", MICROS, "2017-11-16T22:31:08.123456+00:00"),
        ("timestamp_ns", MICROS * 1000 + 789, "2017-11-16T22:31:08.123456789"),
        ("timestamptz_ns", MICROS * 1000 + 789, "2017-11-16T22:31:08.123456789+00:00"),
        ("timestamp", -1, "1969-12-31T23:59:59.999999"),
        ("string", "iceberg", "iceberg"),
        ("uuid", uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        ("fixed[4]", b"\x00\x01\x02\xff", "000102ff"),
        ("binary", b"\x00\x01\x02\xff", "000102ff"),
        (
            struct(field(1, "a", "int"), field(2, "b", "string")),
            ((1, 1), (2, "x")),
            {"1": 1, "2": "x"},
        ),
        (struct(field(1, "a", "int")), (), {}),
        (list_of(1, "int"), (1, 2, 3), [1, 2, 3]),
        (
            map_of(1, "string", 2, "int"),
            (("a", 1), ("b", 2)),
            {"keys": ["a", "b"], "values": [1, 2]},
        ),
        ("int", None, None),
    ],
)
def test_each_type_has_its_json_form(kind, value, node):
    assert value_to_json(type_of(kind), value) == node
    assert value_from_json(type_of(kind), node) == value


@pytest.mark.parametrize(
    ("kind", "node"),
    [
        ("boolean", 1),
        ("int", True),
        ("int", 1 << 31),
        ("long", 1.5),
        ("double", "1.0"),
        ("decimal(9, 2)", "14.2"),
        ("decimal(3, 2)", "14.20"),
        ("decimal(9, 2)", "NaN"),
        ("decimal(9, 2)", "x"),
        ("date", "2017-02-29"),
        ("date", "2017-13-01"),
        ("date", 3),
        ("time", "24:00:00"),
        ("time", "10:00:00.1234567"),
        ("timestamp", "2017-11-16T22:31:08+00:00"),
        ("timestamp", "2017-11-16"),
        ("timestamptz", "2017-11-16T22:31:08"),
        ("timestamptz", "2017-11-16T22:31:08+01:00"),
        ("uuid", "5"),
        ("fixed[4]", "0001"),
        ("binary", "xyz"),
        ("variant", "x"),
        ("geometry", "POINT (30 10)"),
        (list_of(1, "int"), {"a": 1}),
        (map_of(1, "int", 2, "int"), {"keys": [1], "values": []}),
    ],
)
def test_json_that_is_not_of_the_type_is_refused(kind, node):
    with pytest.raises(InvalidInputError):
        value_from_json(type_of(kind), node)


def test_a_number_that_is_not_finite_has_no_json_form():
    with pytest.raises(InvalidInputError, match="no JSON form"):
        value_to_json(type_of("double"), float("nan"))


def test_upper_case_hexadecimal_as_java_writes_it_is_read():
    assert value_from_json(type_of("binary"), "00FF") == b"\x00\xff"


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "1970-01-01"),
        (-719_528, "0000-01-01"),
        (2_932_897, "+10000-01-01"),
        (-719_529, "-0001-12-31"),
        (11_016, "2000-02-29"),
    ],
)
def test_dates_reach_beyond_pythons_calendar(days, text):
    assert date_text(days) == text
    assert parse_date(text) == days
