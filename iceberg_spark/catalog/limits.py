"""Numbers by which the memory of decoded table metadata is bounded."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class DecodedLimits:
    """How much metadata of tables a process keeps; a table of 1,000 snapshots has some 0.8 MB."""

    entries_bytes: int = 16 * _MIB
    """Bytes of JSON of snapshots, log entries and schemas, of all tables; with their values they
    take some five times as much."""
    files_bytes: int = 16 * _MIB
    """Bytes of metadata files, not compressed; their values share those entries."""


DECODED = DecodedLimits()
