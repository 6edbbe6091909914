"""The one kind of cache for decoded files, plans and sessions: bounded, thread-safe, fork-safe.

Functions of few small arguments use `functools.lru_cache` instead.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakSet

from iceberg_spark.errors import InvalidOptionError

DEFAULT_BYTES = 256 * 1024 * 1024


class BoundedCache:
    """Values by key, up to a total size; the least recently used ones are evicted first.

    `capacity` bounds the sum of the sizes in the unit of its owner, mostly bytes. `entries` bounds
    the number of values as well. Several threads may use a cache; two of them may load the same
    key at once, then the first result stays. A forked process and a pickled copy start empty.

        cache = BoundedCache(64 * 1024, entries=100)
        cache.put("a", b"value", 5)
        cache.get("a")                                       # b"value"
        cache.get_or_load("b", lambda: (read("b"), 4))       # reads once
    """

    __slots__ = ("__weakref__", "_entries", "_held", "_lock", "_most", "_times_cleared", "capacity")

    def __init__(self, capacity: int = DEFAULT_BYTES, *, entries: int | None = None) -> None:
        self.capacity = capacity
        self._most = entries
        self._times_cleared = -1
        self._start_empty()
        _caches.add(self)

    def __reduce__(self) -> Any:
        return _empty_cache, (self.capacity, self._most)

    @property
    def count(self) -> int:
        """The number of values."""
        return len(self._entries)

    @property
    def held(self) -> int:
        """The sum of the sizes of all values, never more than the capacity."""
        return self._held

    @property
    def times_cleared(self) -> int:
        """How often the cache was cleared: values derived from its values expire with them."""
        return self._times_cleared

    def get(self, key: Hashable) -> Any:
        """Return a value, None if it is not cached."""
        with self._lock:
            return self._used(key)[0]

    def get_or_load(self, key: Hashable, load: Callable[[], tuple[Any, int]]) -> Any:
        """Return a value; if it is not cached, `load` returns it with its size.

        A value larger than the whole capacity is returned and not cached.
        """
        with self._lock:
            if key in self._entries:
                return self._used(key)[0]
        value, size = load()
        with self._lock:
            if key not in self._entries:
                self._put(key, value, size)
                return value
            return self._used(key)[0]

    def put(self, key: Hashable, value: Any, size: int = 1) -> None:
        """Set the value of a key; one larger than the whole capacity only removes the old value."""
        with self._lock:
            self._put(key, value, size)

    def update(self, key: Hashable, change: Callable[[Any], tuple[Any, int]]) -> None:
        """Replace a value, or None if it is not cached, by what `change` returns with its size."""
        with self._lock:
            value, size = change(self._used(key)[0])
            self._put(key, value, size)

    def pop(self, key: Hashable) -> Any:
        """Remove a value and return it, None if it was not cached."""
        with self._lock:
            value, size = self._entries.pop(key, (None, 0))
            self._held -= size
            return value

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._entries.clear()
            self._held = 0
            self._times_cleared += 1

    def _used(self, key: Hashable) -> tuple[Any, int]:
        if key not in self._entries:
            return None, 0
        self._entries.move_to_end(key)
        return self._entries[key]

    def _put(self, key: Hashable, value: Any, size: int) -> None:
        self._held -= self._entries.pop(key, (None, 0))[1]
        if size > self.capacity:
            return
        self._entries[key] = value, size
        self._held += size
        while self._held > self.capacity or len(self._entries) > (self._most or len(self._entries)):
            self._held -= self._entries.popitem(last=False)[1][1]

    def _start_empty(self) -> None:
        # Another thread may have held the lock when the process forked, halfway through a change.
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._held = 0
        self._times_cleared += 1


_caches: WeakSet[BoundedCache] = WeakSet()


def clear_caches() -> None:
    """Clear every cache of this process: tests and measurements of first calls need that."""
    for cache in list(_caches):
        cache.clear()


def bytes_from_environment(variable: str, default: int = DEFAULT_BYTES) -> int:
    """Return a capacity in bytes that an environment variable may set; 0 turns a cache off.

    Raises InvalidOptionError if the variable is not a number.
    """
    text = os.environ.get(variable, str(default))
    try:
        return max(int(text), 0)
    except ValueError as cause:
        raise InvalidOptionError(
            f"The environment variable {variable} is {text!r}; give a number of bytes"
        ) from cause


def _empty_cache(capacity: int, entries: int | None) -> BoundedCache:
    return BoundedCache(capacity, entries=entries)


def _start_all_empty() -> None:
    for cache in list(_caches):
        cache._start_empty()


os.register_at_fork(after_in_child=_start_all_empty)
