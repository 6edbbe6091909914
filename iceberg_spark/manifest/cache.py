"""Decoded manifests in memory: manifests never change, so each is decoded once."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

from iceberg_spark.errors import InvalidOptionError

Columns: TypeAlias = Mapping[str, Any]  # Arrow arrays by name; None for one the file lacks
Key: TypeAlias = Hashable  # path, length, and the store that has it

CACHE_BYTES_VARIABLE = "ICEBERG_SPARK_MANIFEST_CACHE_BYTES"
DEFAULT_CACHE_BYTES = 256 * 1024 * 1024


class ManifestCache:
    """Columns of manifests by path, length and store, at most `max_bytes` of Arrow memory.

    The oldest are evicted first. Thread-safe; 0 bytes turn it off.
    """

    def __init__(self, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Key, tuple[Columns, int]] = OrderedDict()
        self._bytes = 0
        self._times_cleared = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def nbytes(self) -> int:
        """Bytes of Arrow memory that are held."""
        return self._bytes

    @property
    def max_bytes(self) -> int:
        """The limit in bytes."""
        return self._max_bytes

    @property
    def times_cleared(self) -> int:
        """How often the cache was cleared: data derived from it should be dropped too."""
        return self._times_cleared

    def get(self, key: Key) -> Columns:
        """Return the cached columns of a manifest, {} if there are none."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return {}
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Key, columns: Columns) -> None:
        """Add columns of a manifest to those that are cached already."""
        with self._lock:
            before, size_before = self._entries.pop(key, ({}, 0))
            self._bytes -= size_before
            merged = {**before, **columns}
            size = sum(array.nbytes for array in merged.values() if array is not None)
            if size > self._max_bytes:
                return
            self._entries[key] = merged, size
            self._bytes += size
            while self._bytes > self._max_bytes:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._bytes -= dropped

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0
            self._times_cleared += 1


def _configured_bytes() -> int:
    text = os.environ.get(CACHE_BYTES_VARIABLE, str(DEFAULT_CACHE_BYTES))
    try:
        return max(int(text), 0)
    except ValueError:
        raise InvalidOptionError(
            f"The environment variable {CACHE_BYTES_VARIABLE} is '{text}', not a number of bytes"
        ) from None


MANIFEST_CACHE = ManifestCache(_configured_bytes())
"""The cache of this process; its size is set by ICEBERG_SPARK_MANIFEST_CACHE_BYTES."""
