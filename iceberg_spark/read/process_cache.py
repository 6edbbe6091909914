"""The cache of this process for decoded deletes, footers and other values of single files.

Files never change once written: a key with the path of its file never goes stale.
"""

from __future__ import annotations

from functools import lru_cache

from iceberg_spark.bounded_cache import BoundedCache, bytes_from_environment

CACHE_BYTES_VARIABLE = "ICEBERG_SPARK_DELETE_CACHE_BYTES"
"""Environment variable that sets the capacity of the process's cache, in bytes."""


@lru_cache(maxsize=1)
def process_cache() -> BoundedCache:
    """Return the one cache of this process; its capacity is read from the environment once.

    Raises InvalidOptionError if the variable is not a number of bytes.
    """
    return BoundedCache(bytes_from_environment(CACHE_BYTES_VARIABLE))
