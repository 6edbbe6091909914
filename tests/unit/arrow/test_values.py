"""Canonical values and bounds in Arrow."""

import struct as packing
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

from iceberg_spark.arrow.values import Side, bounds_array, from_array, to_array, to_scalar
from iceberg_spark.spec.values import to_bytes
from tests.builders import field, list_of, map_of, struct, type_of

VALUES = [
    ("boolean", [True, False]),
    ("int", [0, -(2**31), 2**31 - 1]),
    ("long", [0, -(2**63), 2**63 - 1]),
    ("float", [0.5, -1.5]),
    ("double", [0.1, -1e300]),
    ("decimal(9, 2)", [Decimal("1.10"), Decimal("-0.01")]),
    ("decimal(38, 10)", [Decimal("1234567890123456789012345678.0123456789")]),
    ("date", [0, -1, 2_932_896]),
    ("time", [0, 86_399_999_999]),
    ("timestamp", [0, -1, 253_402_300_799_999_999]),
    ("timestamptz", [0, -62_135_596_800_000_000]),
    ("timestamp_ns", [0, 123_456_789]),
    ("string", ["", "é"]),
    ("uuid", [UUID(int=0), UUID(int=2**127)]),
    ("fixed[2]", [b"ab"]),
    ("binary", [b"", b"\xff\x00"]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES)
def test_values_both_ways(kind, values):
    made = to_array(type_of(kind), [*values, None])
    assert from_array(type_of(kind), made) == [*values, None]
    assert to_scalar(type_of(kind), values[0]) == made[0]
    assert not to_scalar(type_of(kind), None).is_valid


@pytest.mark.parametrize(("kind", "values"), VALUES)
def test_bounds_are_decoded_as_columns(kind, values):
    one = type_of(kind)
    encoded = pa.array([*(to_bytes(one, value) for value in values), None], pa.binary())
    decoded = bounds_array(one, encoded, Side.LOWER)
    assert decoded.type == to_array(one, []).type
    assert from_array(one, decoded) == [*values, None]
    assert from_array(one, bounds_array(one, encoded.slice(1), Side.LOWER)) == [*values[1:], None]


def test_bounds_written_before_a_promotion_have_four_bytes():
    longs = pa.array([packing.pack("<q", 2**40), packing.pack("<i", -5), None])
    assert bounds_array(type_of("long"), longs, Side.LOWER).to_pylist() == [2**40, -5, None]
    doubles = pa.array([packing.pack("<f", 0.5), packing.pack("<d", 0.1)])
    assert bounds_array(type_of("double"), doubles, Side.LOWER).to_pylist() == [0.5, 0.1]
    dates = pa.array([packing.pack("<i", 1), packing.pack("<q", 5)])
    assert from_array(
        type_of("timestamp"), bounds_array(type_of("timestamp"), dates, Side.LOWER)
    ) == [
        86_400_000_000,
        5,
    ]


def test_a_nan_bound_is_unknown():
    bounds = pa.array([packing.pack("<d", float("nan")), packing.pack("<d", 1.0)])
    assert bounds_array(type_of("double"), bounds, Side.LOWER).to_pylist() == [None, 1.0]


def test_nested_values():
    kind = struct(field(1, "u", "uuid"), field(2, "l", list_of(3, "int")))
    value = {"u": UUID(int=1), "l": [1, None]}
    assert to_scalar(kind, value).as_py() == {"u": UUID(int=1).bytes, "l": [1, None]}
    mapped = map_of(1, "string", 2, "uuid")
    assert to_scalar(mapped, {"a": UUID(int=2)}).as_py() == [("a", UUID(int=2).bytes)]


def test_a_nan_bound_is_kept_where_it_is_to_be_shown():
    bounds = pa.array([packing.pack("<d", float("nan")), None, packing.pack("<d", 1.0)])
    shown = bounds_array(type_of("double"), bounds, Side.SHOWN).to_pylist()
    assert shown[0] != shown[0] and shown[1:] == [None, 1.0]


def test_decimal_bounds_have_as_many_bytes_as_they_need():
    numbers = [0, -1, 127, 128, -129, 10**9, -(10**20), None]
    encoded = pa.array(
        [None if n is None else n.to_bytes(n.bit_length() // 8 + 1, signed=True) for n in numbers],
        pa.binary(),
    )
    found = bounds_array(type_of("decimal(38, 2)"), encoded, Side.LOWER)
    assert found.to_pylist() == [None if n is None else Decimal(n).scaleb(-2) for n in numbers]
