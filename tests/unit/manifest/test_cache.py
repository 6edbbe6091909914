"""The cache of decoded manifests is bounded in bytes and drops the oldest."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from iceberg_spark.manifest.reader import ManifestCache

KILOBYTE = pa.array(range(128), pa.int64())


def test_the_oldest_go_when_the_bytes_are_full() -> None:
    cache = ManifestCache(2 * KILOBYTE.nbytes)
    for name in ("a", "b"):
        cache.put((name, 1), {"c": KILOBYTE})
    cache.get(("a", 1))
    cache.put(("c", 1), {"c": KILOBYTE})
    assert cache.get(("a", 1)) and cache.get(("c", 1)) and not cache.get(("b", 1))
    assert cache.nbytes == 2 * KILOBYTE.nbytes and len(cache) == 2


def test_a_manifest_larger_than_the_cache_is_not_kept() -> None:
    cache = ManifestCache(KILOBYTE.nbytes - 1)
    cache.put(("a", 1), {"c": KILOBYTE})
    assert len(cache) == 0 and cache.nbytes == 0


def test_the_length_is_part_of_the_key() -> None:
    cache = ManifestCache()
    cache.put(("a", 1), {"c": KILOBYTE})
    assert not cache.get(("a", 2))


def test_columns_are_added_to_those_kept_and_counted_once() -> None:
    cache = ManifestCache()
    for name in ("c", "c", "d"):
        cache.put(("a", 1), {name: KILOBYTE, "absent": None})
    assert set(cache.get(("a", 1))) == {"c", "d", "absent"}
    assert cache.nbytes == 2 * KILOBYTE.nbytes


def test_clearing_forgets_all() -> None:
    cache = ManifestCache()
    cache.put(("a", 1), {"c": KILOBYTE})
    cache.clear()
    assert (len(cache), cache.nbytes) == (0, 0)


def test_threads_may_share_it() -> None:
    cache = ManifestCache(10 * KILOBYTE.nbytes)

    def use(at: int) -> int:
        cache.put((str(at % 30), 1), {str(at % 7): KILOBYTE})
        return len(cache.get((str(at % 11), 1)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(2000)))
    assert cache.nbytes <= cache.max_bytes
