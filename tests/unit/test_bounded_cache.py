"""Every cache of decoded values is bounded, thread-safe, and empty in a forked process."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from iceberg_spark.bounded_cache import DEFAULT_BYTES, BoundedCache, clear_caches
from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.manifest.reader import add_columns
from iceberg_spark.read.process_cache import CACHE_BYTES_VARIABLE, process_cache

KILOBYTE = pa.array(range(128), pa.int64())


@pytest.fixture(autouse=True)
def _fresh_process_cache():
    process_cache.cache_clear()
    yield
    process_cache.cache_clear()


def load_into(cache: BoundedCache, key: str, size: int, loads: list[str]) -> str:
    def load() -> tuple[str, int]:
        loads.append(key)
        return key.upper(), size

    return cache.get_or_load(key, load)


def test_a_value_is_loaded_once():
    cache, loads = BoundedCache(100), []
    assert [load_into(cache, "a", 10, loads) for _ in range(3)] == ["A", "A", "A"]
    assert (loads, cache.held) == (["a"], 10)


def test_the_least_recently_used_value_is_evicted_first():
    cache, loads = BoundedCache(100), []
    for key in "ababac":
        load_into(cache, key, 40, loads)
    assert cache.held == 80
    for key in "ab":
        load_into(cache, key, 40, loads)
    assert loads == ["a", "b", "c", "b"]


def test_the_number_of_values_is_bounded_too():
    cache = BoundedCache(100, entries=2)
    for key in "abc":
        cache.put(key, key)
    assert [cache.get(key) for key in "abc"] == [None, "b", "c"]


def test_a_value_larger_than_the_cache_is_returned_and_evicts_no_other():
    cache, loads = BoundedCache(100), []
    for key, size in (("a", 60), ("big", 101), ("a", 60)):
        assert load_into(cache, key, size, loads) == key.upper()
    assert (loads, cache.held) == (["a", "big"], 60)


def test_a_value_that_is_put_again_counts_once():
    cache = BoundedCache(100)
    cache.put("a", 1, 60)
    cache.put("a", 2, 70)
    assert (cache.get("a"), cache.held) == (2, 70)


def test_a_value_above_the_bound_also_evicts_the_former_value():
    cache = BoundedCache(100)
    cache.put("a", 1, 60)
    cache.put("b", 1, 10)
    cache.put("a", 2, 101)
    assert (cache.get("a"), cache.get("b"), cache.held) == (None, 1, 10)


def test_the_first_of_two_results_stays():
    cache = BoundedCache(100)

    def load() -> tuple[str, int]:
        cache.put("a", "first", 1)
        return "second", 1

    assert cache.get_or_load("a", load) == "first"


def test_a_removed_value_is_returned_once():
    cache = BoundedCache(100)
    cache.put("a", 1, 60)
    assert (cache.pop("a"), cache.pop("a"), cache.held) == (1, None, 0)


def test_columns_of_a_manifest_are_added_to_those_cached_already():
    cache = BoundedCache()
    for name in ("c", "c", "d"):
        add_columns(cache, ("a", 1), {name: KILOBYTE, "absent": None})
    assert set(cache.get(("a", 1))) == {"c", "d", "absent"}
    assert cache.held == 2 * KILOBYTE.nbytes
    assert cache.get(("a", 2)) is None  # the length is part of the key


def test_clearing_removes_all_and_is_counted():
    cache = BoundedCache()
    cache.put("a", 1, 10)
    clear_caches()
    assert (cache.count, cache.held, cache.times_cleared) == (0, 0, 1)


def test_a_pickled_cache_is_empty():
    cache = BoundedCache(100, entries=3)
    cache.put("a", 1, 10)
    copy = pickle.loads(pickle.dumps(cache))
    assert (copy.count, copy.capacity) == (0, 100)


def test_threads_may_share_it():
    cache = BoundedCache(10 * KILOBYTE.nbytes)

    def use(number: int) -> None:
        add_columns(cache, (str(number % 30), 1), {str(number % 7): KILOBYTE})
        cache.get((str(number % 11), 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(2000)))
    assert 0 < cache.held <= cache.capacity


def test_a_forked_process_waits_for_no_thread_of_its_parent():
    cache = BoundedCache(100)
    cache.put("a", 1, 10)
    with cache._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if cache.get("a") is None else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert cache.get("a") == 1


def test_the_process_has_one_cache_of_256_mib_or_as_the_environment_sets(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv(CACHE_BYTES_VARIABLE, raising=False)
    assert process_cache().capacity == DEFAULT_BYTES == 268_435_456
    assert process_cache() is process_cache()
    process_cache.cache_clear()
    monkeypatch.setenv(CACHE_BYTES_VARIABLE, "1000")
    assert process_cache().capacity == 1000


def test_a_capacity_that_is_not_a_number_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(CACHE_BYTES_VARIABLE, "much")
    with pytest.raises(InvalidOptionError, match=CACHE_BYTES_VARIABLE):
        process_cache()
