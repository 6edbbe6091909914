"""Recently decoded table metadata: the next versions of a table repeat most of it."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_json import DecodedEntries, FormerEntries, metadata_from_dict

_MIB = 1024 * 1024

HINT_BYTES = 1_000
"""Bytes of a version hint, which is one number."""


@dataclass(frozen=True, slots=True)
class DecodedLimits:
    """How much table metadata a process caches; a table of 1,000 snapshots has about 0.8 MB."""

    entries_bytes: int = 16 * _MIB
    """Bytes of JSON of snapshots, log entries and schemas of all tables; five times with values."""
    files_bytes: int = 16 * _MIB
    """Bytes of uncompressed metadata files; their values share those entries."""


DECODED = DecodedLimits()


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """What reports of scans and commits to a server may cost; times in seconds."""

    waiting: int = 64
    """Reports in the queue; further ones are dropped."""
    timeout_s: float = 10.0
    """For each step of a request: connect, send, receive."""
    at_end_s: float = 1.0
    """How long an ending process waits for reports in the queue."""


REPORTS = ReportLimits()


class LatelyUsed:
    """A cache of values up to a number of bytes; evicts the oldest first."""

    __slots__ = ("_entries", "_held", "_lock", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self.clear()

    def clear(self) -> None:
        """Drop everything. A forked process needs it: another thread may have held the lock."""
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._held = 0

    @property
    def held(self) -> int:
        """Bytes of all values, never more than the limit."""
        return self._held

    def get(self, key: Hashable) -> Any:
        """Return a value, None if it is not cached."""
        with self._lock:
            return self._entries.get(key, (None, 0))[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Set the value of a key, unless it is larger than the cache."""
        with self._lock:
            self._held -= self._entries.pop(key, (None, 0))[1]
            if size > self._most:
                return
            self._entries[key] = value, size
            self._held += size
            while self._held > self._most:
                self._held -= self._entries.popitem(last=False)[1][1]


_tables = LatelyUsed(DECODED.entries_bytes)
_files = LatelyUsed(DECODED.files_bytes)
os.register_at_fork(after_in_child=_tables.clear)
os.register_at_fork(after_in_child=_files.clear)


def decoded_file(key: Hashable, read: Callable[[], tuple[TableMetadata, int]]) -> TableMetadata:
    """Return the metadata of a file, with its bytes; calls `read` if the key is not cached."""
    decoded: TableMetadata | None = _files.get(key)
    if decoded is not None:
        return decoded
    metadata, size = read()
    _files.put(key, metadata, size)
    return metadata


def decoded(node: Any) -> TableMetadata:
    """Return the metadata of a parsed JSON object, as `metadata_from_dict` does.

    The uuid only selects the cached version to compare with. An entry is reused only if its bytes
    are equal.
    """
    uuid = node.get("table-uuid") if isinstance(node, dict) else None
    if not isinstance(uuid, str):
        return metadata_from_dict(node)
    former: DecodedEntries = _tables.get(uuid) or {}
    entries = FormerEntries(former)
    metadata = metadata_from_dict(node, entries)
    _tables.put(uuid, entries.seen, entries.nbytes)
    return metadata
