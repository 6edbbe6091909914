"""The bounded cache of decoded deletes."""

import pytest

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.read.bounded_cache import (
    CACHE_BYTES_VARIABLE,
    DEFAULT_CACHE_BYTES,
    BoundedCache,
    process_cache,
)


@pytest.fixture(autouse=True)
def _fresh_process_cache():
    process_cache.cache_clear()
    yield
    process_cache.cache_clear()


def ask(cache: BoundedCache, key: str, size: int, loads: list[str]) -> str:
    def load() -> tuple[str, int]:
        loads.append(key)
        return key.upper(), size

    return cache.get_or_load(key, load)


def test_a_value_is_loaded_once():
    cache, loads = BoundedCache(100), []
    assert [ask(cache, "a", 10, loads) for _ in range(3)] == ["A", "A", "A"]
    assert loads == ["a"]
    assert cache.held_bytes == 10


def test_the_least_recently_used_value_goes_first():
    cache, loads = BoundedCache(100), []
    for key in "abab":
        ask(cache, key, 40, loads)
    ask(cache, "a", 40, loads)
    ask(cache, "c", 40, loads)
    assert cache.held_bytes == 80
    ask(cache, "a", 40, loads)
    ask(cache, "b", 40, loads)
    assert loads == ["a", "b", "c", "b"]


def test_a_value_larger_than_the_cache_is_not_kept_and_drives_nothing_out():
    cache, loads = BoundedCache(100), []
    ask(cache, "a", 60, loads)
    assert ask(cache, "big", 101, loads) == "BIG"
    ask(cache, "a", 60, loads)
    assert loads == ["a", "big"]
    assert cache.held_bytes == 60


def test_the_process_has_one_cache_of_256_mib_or_what_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv(CACHE_BYTES_VARIABLE, raising=False)
    assert process_cache().capacity == DEFAULT_CACHE_BYTES == 268_435_456
    assert process_cache() is process_cache()
    process_cache.cache_clear()
    monkeypatch.setenv(CACHE_BYTES_VARIABLE, "1000")
    assert process_cache().capacity == 1000


def test_a_capacity_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(CACHE_BYTES_VARIABLE, "much")
    with pytest.raises(InvalidOptionError, match=CACHE_BYTES_VARIABLE):
        process_cache()
