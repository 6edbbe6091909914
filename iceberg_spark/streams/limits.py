"""Numbers by which streams bound their work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamingLimits:
    """How often a stream looks at its table, and how much it keeps."""

    idle_share: float = 0.01
    """Of a CPU, for looks at a table where nothing is new; Spark asks some 60 times a second."""
    asked_share: float = 0.1
    """Of the time, for such looks where a store or a server has to be asked."""
    shortest_wait: float = 0.02
    """Seconds between two looks at a table where nothing is new: what the first of them wait."""
    longest_wait: float = 0.2
    """Seconds that Spark is kept waiting for an answer at most: a stop of the query takes as
    long, and rows come later by as much."""
    longest_pause: float = 2.0
    """Seconds between two looks at most, where each costs much."""
    kept_snapshots: int = 4
    """Snapshots whose files are kept decoded, of those that a batch ends in the middle of."""
    former_metadata: int = 100
    """Metadata files that are read to name a snapshot that has expired."""
    changes_together: int = 1_000_000
    """Rows that one task brings together to tell which were only carried over."""
    changes_bytes: int = 128 * 1024 * 1024
    """Bytes of changed files that a task reads, ..."""
    changes_files: int = 64
    """... and files, unless one commit's rows have to be brought together."""


STREAMING = StreamingLimits()
