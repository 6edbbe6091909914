"""Theta sketches as DataSketches writes them; the vectors were made by its own library (5.2.0)."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.arrow.theta import NOMINAL, NOTHING, ThetaSketch, hashes_of
from iceberg_spark.maintenance.column_sketches import value_bytes


def sketch(values: pa.Array) -> ThetaSketch:
    found = NOTHING
    for each in value_bytes(values):
        found = found.with_hashes(hashes_of(each))
    return found


def as_bytes(values: pa.Array) -> set[bytes]:
    return {bytes(row) for each in value_bytes(values) for row in each}


HASHES = {
    "a": 8_863_373_810_831_573_271,
    "ab": 7_403_277_385_568_360_445,
    "abcdefg": 224_664_531_198_389_875,
    "abcdefgh": 8_014_791_471_988_879_733,
    "abcdefghi": 8_561_427_749_686_064_233,
    "abcdefghijklmno": 4_031_441_903_936_995_591,
    "abcdefghijklmnop": 6_563_355_198_510_150_735,
    "abcdefghijklmnopq": 7_564_621_271_779_239_430,
    "The quick brown fox jumps over the lazy dog": 1_707_970_839_426_031_505,
}


@pytest.mark.parametrize(("text", "expected"), HASHES.items())
def test_a_value_has_the_hash_of_datasketches(text: str, expected: int) -> None:
    row = np.frombuffer(text.encode(), np.uint8)[None, :]
    assert hashes_of(row).tolist() == [expected]


def test_the_form_of_none_one_and_some_values_is_javas() -> None:
    assert NOTHING.to_bytes().hex() == "01030300001e0000"
    one = sketch(pa.array(["a"]))
    assert one.to_bytes()[:8].hex() == "010303" + "00003acc93"
    two = sketch(pa.array(["a", "b"])).to_bytes()
    assert two[:16].hex() == "020303" + "00001acc93" + "02000000" + "0000803f"
    assert len(two) == 16 + 2 * 8


def test_values_up_to_the_nominal_number_are_counted_exactly() -> None:
    found = sketch(pa.array(np.arange(NOMINAL).repeat(3)))
    assert found.estimate == NOMINAL
    assert found.to_bytes()[0] == 2


def test_more_values_are_estimated_within_three_standard_errors() -> None:
    found = sketch(pa.array(np.arange(300_000)))
    assert found.estimate == pytest.approx(300_000, rel=0.05)
    assert len(found.hashes) == NOMINAL
    assert found.to_bytes()[0] == 3
    assert len(found.to_bytes()) == 24 + NOMINAL * 8


def test_the_order_and_the_parts_of_values_do_not_count() -> None:
    values = np.arange(20_000)
    whole = sketch(pa.array(values))
    parts = [sketch(pa.array(part)) for part in np.array_split(values[::-1], 7)]
    united = ThetaSketch.union(parts)
    assert united.to_bytes() == whole.to_bytes()
    assert ThetaSketch.union([]).to_bytes() == NOTHING.to_bytes()
    assert ThetaSketch.union([whole, NOTHING]).to_bytes() == whole.to_bytes()


VALUES: list[tuple[Any, set[bytes]]] = [
    (pa.array([True, False, None]), {b"\x01", b"\x00"}),
    (pa.array([1, -1], pa.int32()), {b"\x01\0\0\0", b"\xff\xff\xff\xff"}),
    (pa.array([1], pa.int64()), {b"\x01" + b"\0" * 7}),
    (pa.array([1.5], pa.float32()), {b"\0\0\xc0?"}),
    (pa.array([1.5], pa.float64()), {b"\0\0\0\0\0\0\xf8?"}),
    (pa.array([1], pa.date32()), {b"\x01\0\0\0"}),
    (pa.array([1], pa.timestamp("us", "UTC")), {b"\x01" + b"\0" * 7}),
    (pa.array(["a", "", None, "bcd", "ü"]), {b"a", b"bcd", "ü".encode()}),
    (pa.array(["aa", "bb", "cc"]).slice(1, 2), {b"bb", b"cc"}),
    (pa.array([b"", b"x"], pa.binary()), {b"x"}),
    (pa.array([b"abc", None], pa.binary(3)), {b"abc"}),
    (pa.array([None, None], pa.int64()), set()),
]
DECIMALS = ["0.00", "0.01", "-0.01", "1.27", "1.28", "-1.28", "-1.29", "327.68", "99999999.99"]


@pytest.mark.parametrize(("values", "expected"), VALUES)
def test_values_have_the_bytes_of_single_values(values: pa.Array, expected: set[bytes]) -> None:
    assert as_bytes(values) == expected


@pytest.mark.parametrize("text", DECIMALS)
@pytest.mark.parametrize("precision", [10, 38])
def test_decimals_have_as_few_bytes_as_hold_them(text: str, precision: int) -> None:
    value = Decimal(text)
    unscaled = int(value.scaleb(2))
    length = next(n for n in range(1, 17) if -(1 << 8 * n - 1) <= unscaled < 1 << 8 * n - 1)
    found = as_bytes(pa.array([value], pa.decimal128(precision, 2)))
    assert found == {unscaled.to_bytes(length, "big", signed=True)}


def test_nested_values_have_none() -> None:
    with pytest.raises(TypeError, match="list"):
        as_bytes(pa.array([[1]]))
