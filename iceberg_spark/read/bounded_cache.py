"""A cache bounded in bytes: decoded deletes, footers and other values of a process."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

from iceberg_spark.errors import InvalidOptionError

CACHE_BYTES_VARIABLE = "ICEBERG_SPARK_DELETE_CACHE_BYTES"
"""Environment variable that sets the capacity of the process's cache, in bytes."""
DEFAULT_CACHE_BYTES = 256 * 1024 * 1024


class BoundedCache:
    """Values by key; the least recently used ones are evicted first.

    Files never change once written, so a key that holds the path never goes stale. Safe
    to use from several threads; two of them may decode the same file at once, one result stays.
    """

    __slots__ = ("_entries", "_held", "_lock", "capacity")

    def __init__(self, capacity: int = DEFAULT_CACHE_BYTES) -> None:
        self.capacity = capacity
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()

    @property
    def held_bytes(self) -> int:
        """The bytes of all values that are kept now, never more than the capacity."""
        return self._held

    def get_or_load(self, key: Hashable, load: Callable[[], tuple[Any, int]]) -> Any:
        """Return the value of a key, loading it (value, bytes) where it is not kept.

        A value larger than the whole capacity is returned and not kept.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                return entry[0]
        value, size = load()
        with self._lock:
            if size <= self.capacity and key not in self._entries:
                self._entries[key] = (value, size)
                self._held += size
                while self._held > self.capacity:
                    _, (_, dropped) = self._entries.popitem(last=False)
                    self._held -= dropped
        return value


@lru_cache(maxsize=1)
def process_cache() -> BoundedCache:
    """Return the one cache of this process; its capacity is read from the environment once.

    Raises InvalidOptionError where the variable is no number of bytes.
    """
    text = os.environ.get(CACHE_BYTES_VARIABLE, str(DEFAULT_CACHE_BYTES))
    try:
        capacity = int(text)
    except ValueError as cause:
        raise InvalidOptionError(
            f"The environment variable {CACHE_BYTES_VARIABLE} is {text!r}; give a number of bytes"
        ) from cause
    return BoundedCache(max(capacity, 0))
