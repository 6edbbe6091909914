"""Sets of keys: exact whatever the numbers are and however the hashes fall."""

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.read import equality_deletes as module
from iceberg_spark.read.equality_deletes import HashedKeys, NumberKeys, key_set

EXTREMES = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**62, 2**63 - 1]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    "keys",
    [[], [5], [-(2**63)], [2**63 - 1], EXTREMES, list(range(1000)), list(range(0, 10**9, 10**6))],
    ids=len,
)
def test_numbers_far_apart_and_close_together(keys: list[int], fast: bool):
    data = [*EXTREMES, 5, 6, 999, 1000, 3 * 10**6, 3 * 10**6 + 1, None]
    built = key_set([pa.array(keys, pa.int64())], fast=fast)
    found = built.contains([pa.array(data, pa.int64())])
    assert found.tolist() == [value in keys for value in data]


def test_close_numbers_are_looked_up_in_a_table_far_ones_behind_a_probe():
    close = key_set([pa.array(range(0, 1000, 2))])
    far = key_set([pa.array(range(0, 10**9, 10**6))])
    assert isinstance(close, NumberKeys)
    assert isinstance(far, NumberKeys)
    assert close.present is not None
    assert far.present is None
    assert far.probe is not None
    assert close.size >= close.values.nbytes + close.present.nbytes


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("buckets", [1, 3, 2**40])
def test_keys_whose_hashes_collide_are_still_told_apart(
    monkeypatch: pytest.MonkeyPatch, buckets: int, fast: bool
):
    plain = module.hash_rows
    monkeypatch.setattr(module, "hash_rows", lambda frame: plain(frame) % np.uint64(buckets))
    numbers = pa.array([1, 1, 2, None, 3, 1])
    texts = pa.array(["a", "b", "a", "a", None, "a"])
    built = key_set([numbers.slice(0, 4), texts.slice(0, 4)], fast=fast)
    assert isinstance(built, HashedKeys)
    assert (built.repeats > 1) == (buckets < 10)
    found = built.contains([numbers, texts])
    assert found.tolist() == [True, True, True, True, False, True]
    others = built.contains([pa.array([2, None, None]), pa.array(["b", "b", None])])
    assert others.tolist() == [False, False, False]


def test_repeated_keys_are_held_once():
    built = key_set([pa.array(["a", "b"] * 500)])
    assert isinstance(built, HashedKeys)
    assert len(built.hashes) == 2
    assert built.repeats == 1


def test_an_empty_set_holds_nothing():
    built = key_set([pa.array([], pa.string())])
    assert built.contains([pa.array(["", None])]).tolist() == [False, False]
