"""Packed keys are distinct, and each row of a perfect hash table has a slot of its own."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.spark.deletes.key_tables import (
    EMPTY,
    KeyRange,
    assign_slots,
    pack_keys,
    row_hashes,
)


def columns(**values: tuple[pa.DataType, list[int | None]]) -> dict[str, pa.Array]:
    return {name: pa.array(column, kind) for name, (kind, column) in values.items()}


def test_a_packed_key_is_its_place_within_all_ranges() -> None:
    packed = pack_keys(columns(a=(pa.int64(), [3, 0, 9]), b=(pa.int32(), [25, 20, 29])))
    assert packed is not None
    packing, integers = packed
    assert packing.ranges == (KeyRange("a", 0, 10), KeyRange("b", 20, 10))
    assert integers.tolist() == [35, 0, 99]


def test_packed_keys_are_distinct() -> None:
    generator = random.Random(1)
    keys = {tuple(generator.randrange(-50, 50) for _ in range(3)) for _ in range(5_000)}
    parts = list(zip(*keys, strict=True))
    packed = pack_keys({str(place): pa.array(part, pa.int64()) for place, part in enumerate(parts)})
    assert packed is not None
    assert len(set(packed[1].tolist())) == len(keys)


def test_the_range_conditions_skip_one_column() -> None:
    packed = pack_keys(columns(a=(pa.int32(), [-5, 5]), b=(pa.int32(), [7, 7])))
    assert packed is not None
    row = {"a": "x", "b": "unix_date(y)"}
    assert packed[0].in_range(row, skip=None) == [
        "x between -5L and 5L",
        "unix_date(y) between 7L and 7L",
    ]
    assert packed[0].in_range(row, skip="a") == ["unix_date(y) between 7L and 7L"]


@pytest.mark.parametrize(
    "keys",
    [
        columns(a=(pa.int64(), [0, 2**31]), b=(pa.int64(), [0, 2**31])),
        columns(a=(pa.int64(), [-(2**63), -(2**63) + 1])),
        columns(a=(pa.int64(), [2**63 - 1])),
        columns(a=(pa.int64(), [1, None])),
        columns(a=(pa.int64(), [])),
        {"a": pa.array(["1"])},
    ],
    ids=["wide together", "least of all", "greatest of all", "NULL", "none", "string"],
)
def test_other_keys_are_not_packed(keys: dict[str, pa.Array]) -> None:
    assert pack_keys(keys) is None


@pytest.mark.parametrize("count", [0, 1, 2, 25, 1_000, 100_000])
def test_each_row_has_a_slot_of_its_own(count: int) -> None:
    generator = np.random.default_rng(count)
    slot_count, bucket_count = int(count * 1.25) + 1, max(1, count // 4)
    hashes = generator.integers(0, 2**62, count)

    def slots_of(rows: Any, number: int) -> Any:
        mixed = (hashes[rows].astype(np.uint64) ^ np.uint64(number)) * np.uint64(0x9E3779B97F4A7C15)
        return ((mixed >> np.uint64(20)) % np.uint64(slot_count)).astype(np.int64)

    buckets = hashes % bucket_count
    assigned = assign_slots(buckets, bucket_count, slot_count, slots_of)
    assert assigned is not None
    rows = np.arange(count)
    slots = [slots_of(rows[r : r + 1], assigned.numbers[buckets[r]])[0] for r in range(count)]
    assert (assigned.rows[np.array(slots, np.int64)] == rows).all()
    assert (assigned.rows == EMPTY).sum() == slot_count - count


def test_rows_of_a_bucket_that_no_number_separates_have_no_slots() -> None:
    bucket = np.zeros(2, np.int64)
    assert assign_slots(bucket, 1, 8, lambda rows, number: np.full(len(rows), number % 8)) is None


def test_a_bucket_of_many_rows_is_not_tried() -> None:
    bucket = np.zeros(65, np.int64)
    assert assign_slots(bucket, 1, 100, lambda *_: 1 // 0) is None


def test_more_rows_than_slots_have_no_slots() -> None:
    def slots_of(rows: Any, number: int) -> Any:
        return (rows + number) % 4

    assert assign_slots(np.arange(5), 5, 4, slots_of) is None


def test_a_hash_is_that_of_the_docstring() -> None:
    assert row_hashes([pa.array([1], pa.int32())]).tolist() == [0xDEA578E3]
