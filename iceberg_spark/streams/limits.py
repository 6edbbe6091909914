"""Numbers that limit the work of streams."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamingLimits:
    """How often a stream loads its table, and how much it caches."""

    idle_share: float = 0.01
    """Share of a CPU for loading an unchanged table; Spark asks about 60 times a second."""
    asked_share: float = 0.1
    """Share of the time for such loads if they send requests to a store or a server."""
    shortest_wait: float = 0.02
    """Seconds between two loads of an unchanged table, at first."""
    longest_wait: float = 0.2
    """Seconds that Spark waits for a response, at most; stops and new rows are delayed as long."""
    longest_pause: float = 2.0
    """Seconds between two loads, at most, if each is expensive."""
    kept_snapshots: int = 4
    """Snapshots whose files are cached, of those in which a batch ends."""
    former_metadata: int = 100
    """Metadata files to read to find an expired snapshot."""
    changes_together: int = 1_000_000
    """Rows that one task compares to find those that were only carried over."""
    changes_bytes: int = 128 * 1024 * 1024
    """Bytes of changed files that a task reads, ..."""
    changes_files: int = 64
    """... and files, unless the rows of one commit must be compared."""


STREAMING = StreamingLimits()
