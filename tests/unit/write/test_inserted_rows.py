"""The inserted-row map: in memory and on disk it says the same, within its bounds."""

import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.spec.types import IcebergType, LongType, StringType
from iceberg_spark.write import inserted_rows
from iceberg_spark.write.inserted_rows import NOT_WRITTEN, InsertedRows
from tests.limits import set_limits

PLENTY = 1 << 30


def resolved(rows: InsertedRows) -> tuple[list[tuple[object, ...]], list[int], bool]:
    """The distinct keys, the superseded places, and whether the hashes came sorted."""
    keys: list[tuple[object, ...]] = []
    gone: list[int] = []
    hashes: list[int] = []
    for bucket in rows.resolve():
        keys += zip(*(column.to_pylist() for column in bucket.keys), strict=True)
        gone += bucket.ordinals.tolist()
        hashes += bucket.hashes.tolist()
    return sorted(keys, key=str), sorted(gone), hashes == sorted(hashes)


@pytest.mark.parametrize("limit", [PLENTY, 2000], ids=["in memory", "on disk"])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "kinds", [(LongType(),), (StringType(),), (LongType(), StringType())], ids=str
)
def test_the_last_row_of_each_key_stays(
    kinds: tuple[IcebergType, ...], ordered: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # several buckets in memory too
    set_limits(monkeypatch, inserted_rows, "UPSERTS", bucket_rows=64)
    chance = random.Random(5)
    rows = InsertedRows(kinds, int(ordered), limit)
    last: dict[tuple[object, ...], tuple[int, int]] = {}
    written = []
    count = 1000
    moments = chance.sample(range(count), count) if ordered else list(range(count))
    for start in range(0, count, 100):
        keys, places = [], []
        for at in range(start, start + 100):
            number = chance.choice([None, *range(120)])
            texts = None if number is None else f"k{number % 7}"
            values = {LongType: number, StringType: texts}
            key = tuple(values[type(kind)] for kind in kinds)
            place = at if chance.random() < 0.8 else NOT_WRITTEN
            keys.append(key)
            places.append(place)
            if place != NOT_WRITTEN:
                written.append(place)
            if key not in last or last[key][0] < moments[at]:
                last[key] = (moments[at], place)
        columns = [
            pa.array(column, pa.int64() if isinstance(kind, LongType) else pa.string())
            for kind, column in zip(kinds, zip(*keys, strict=True), strict=True)
        ]
        order = [pa.array(moments[start : start + 100])] if ordered else []
        rows.add(columns, order, np.zeros(100, np.int32), np.array(places, np.int64))
    assert rows.is_spilled == (limit != PLENTY)
    keys_found, gone, sorted_hashes = resolved(rows)
    assert keys_found == sorted(last, key=str)
    assert gone == sorted(set(written) - {place for _, place in last.values()})
    assert sorted_hashes


_TEN_MILLION = """
import resource
import numpy as np, pyarrow as pa
from iceberg_spark.spec.types import LongType
from iceberg_spark.write.inserted_rows import InsertedRows
from iceberg_spark.write.limits import UPSERTS
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = InsertedRows([LongType()], 1, UPSERTS.map_bytes)
step = 500_000
for start in range(0, 10_000_000, step):
    numbers = np.arange(start, start + step)
    keys = pa.array(numbers * 7919 % 10_000_000)
    rows.add([keys], [pa.array(numbers)], np.zeros(step, np.int32), numbers)
spilled = rows.is_spilled
distinct = sum(len(bucket.hashes) for bucket in rows.resolve())
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(distinct, spilled, used // 1024)
"""


@pytest.mark.slow
def test_ten_million_keys_are_held_within_a_gigabyte() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _TEN_MILLION], capture_output=True, text=True, check=True
    ).stdout.split()
    assert said[:2] == ["10000000", "False"]
    assert int(said[2]) < 1024
