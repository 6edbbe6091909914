"""Partition paths as Java names them."""

import uuid
from decimal import Decimal

import pytest

from iceberg_spark.spec.partition import UNPARTITIONED
from iceberg_spark.spec.partition_path import escape, human_text, partition_path
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_transform
from tests.builders import schema, type_of

IDENTITY = parse_transform("identity")


@pytest.mark.parametrize(
    ("text", "kind", "value", "expected"),
    [
        ("year", "int", 54, "2024"),
        ("year", "int", -1, "1969"),
        ("month", "int", 648, "2024-01"),
        ("month", "int", -1, "1969-12"),
        ("day", "date", 19_723, "2024-01-01"),
        ("hour", "int", 473_362, "2024-01-01-10"),
        ("hour", "int", -1, "1969-12-31-23"),
        ("bucket[4]", "int", 3, "3"),
        ("truncate[4]", "string", "abcd", "abcd"),
        ("void", "int", None, "null"),
        ("identity", "int", None, "null"),
        ("identity", "boolean", True, "true"),
        ("identity", "decimal(9, 2)", Decimal("1.50"), "1.50"),
        ("identity", "decimal(9, 8)", Decimal("1E-8"), "1E-8"),
        ("identity", "date", 19_723, "2024-01-01"),
        ("identity", "time", 36_000_000_000, "10:00"),
        ("identity", "time", 36_001_000_000, "10:00:01"),
        ("identity", "time", 36_000_500_000, "10:00:00.500"),
        ("identity", "time", 36_000_000_001, "10:00:00.000001"),
        ("identity", "timestamp", 1_704_103_200_000_000, "2024-01-01T10:00:00"),
        ("identity", "timestamp", 1_704_103_200_120_000, "2024-01-01T10:00:00.12"),
        ("identity", "timestamptz", 1_704_103_200_000_001, "2024-01-01T10:00:00.000001+00:00"),
        ("identity", "timestamp_ns", 1, "1970-01-01T00:00:00.000000001"),
        ("identity", "timestamptz_ns", 0, "1970-01-01T00:00:00+00:00"),
        ("identity", "uuid", uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("identity", "binary", b"\x00\xff\xfe", "AP/+"),
        ("identity", "fixed[2]", b"ab", "YWI="),
        ("identity", "double", 1.0, "1.0"),
        ("identity", "double", -1234.5, "-1234.5"),
        ("identity", "double", 1e7, "1.0E7"),
        ("identity", "double", 1e6, "1000000.0"),
        ("identity", "double", 0.001, "0.001"),
        ("identity", "double", 0.00012, "1.2E-4"),
        ("identity", "double", -0.0, "-0.0"),
        ("identity", "double", float("nan"), "NaN"),
        ("identity", "double", float("-inf"), "-Infinity"),
        ("identity", "float", 0.10000000149011612, "0.1"),
        ("identity", "float", 1.0000000150474662e30, "1.0E30"),
        ("identity", "float", 3.4028234663852886e38, "3.4028235E38"),
    ],
)
def test_values_are_written_for_people(text, kind, value, expected):
    assert human_text(parse_transform(text), type_of(kind), value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", "a+b"),
        ("a/b=c", "a%2Fb%3Dc"),
        ("é", "%C3%A9"),
        ("A-z_0.9*", "A-z_0.9*"),
        ("~%+:", "%7E%25%2B%3A"),
    ],
)
def test_names_and_values_are_escaped_as_javas_url_encoder_does(text, expected):
    assert escape(text) == expected


def test_a_path_joins_names_and_values():
    columns = schema(("s p", "string"), ("ts", "timestamp"))
    spec = parse_partition_spec(["`s p`", "days(ts)"], columns)
    assert partition_path(spec, columns, ("a/b", 19_723)) == "s+p=a%2Fb/ts_day=2024-01-01"
    assert partition_path(spec, columns, ("", None)) == "s+p=/ts_day=null"


def test_an_unpartitioned_path_is_empty():
    assert partition_path(UNPARTITIONED, schema(("a", "int")), ()) == ""
