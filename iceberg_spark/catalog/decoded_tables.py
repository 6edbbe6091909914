"""Recently decoded table metadata: the next versions of a table repeat most of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from iceberg_spark.bounded_cache import BoundedCache
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


_tables = BoundedCache(DECODED.entries_bytes)
_files = BoundedCache(DECODED.files_bytes)


def decoded_file(key: Hashable, read: Callable[[], tuple[TableMetadata, int]]) -> TableMetadata:
    """Return the metadata of a file, with its bytes; calls `read` if the key is not cached."""
    metadata: TableMetadata = _files.get_or_load(key, read)
    return metadata


def decode_table(node: Any) -> TableMetadata:
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
