"""Numbers that limit the memory of decoded metadata, and reports."""

from __future__ import annotations

from dataclasses import dataclass

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
