"""Numbers by which the memory of decoded table metadata is bounded."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024

HINT_BYTES = 1_000
"""Bytes of a hint to the newest version, which is one number."""


@dataclass(frozen=True, slots=True)
class DecodedLimits:
    """How much metadata of tables a process keeps; a table of 1,000 snapshots has some 0.8 MB."""

    entries_bytes: int = 16 * _MIB
    """Bytes of JSON of snapshots, log entries and schemas, of all tables; with their values they
    take some five times as much."""
    files_bytes: int = 16 * _MIB
    """Bytes of metadata files, not compressed; their values share those entries."""


DECODED = DecodedLimits()


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """What reports of scans and commits to a server may take; times in seconds."""

    waiting: int = 64
    """Reports that wait to be sent; more are dropped."""
    timeout_s: float = 10.0
    """For each step of a request: connecting, sending, an answer."""
    at_end_s: float = 1.0
    """How long a process that ends waits for those that are left."""


REPORTS = ReportLimits()
