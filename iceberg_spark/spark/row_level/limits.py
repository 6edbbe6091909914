"""Limits of row-level changes in the driver and in tasks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowLevelLimits:
    """Who gathers what, and how much of it."""

    driver_rows: int = 16_000_000
    """Rows in all files that may be hit, up to which the driver gathers the packed positions (a few
    bytes each, 20 at the worst) and writes the deletes: a shuffle and its tasks take longer."""
    writers: int = 4
    """Threads of the driver that write deletes."""
    held_rows: int = 2_000_000
    """Rows that a task holds, some 20 bytes each; then they are packed, so that a file comes
    again."""
    broadcast_bytes: int = 48 * 1024 * 1024
    """Bytes, estimated, of a merge's keys that are sent to every executor."""
    key_bytes: int = 24
    """Bytes of a key of one column in Spark's hash table, about."""


ROW_LEVEL = RowLevelLimits()
