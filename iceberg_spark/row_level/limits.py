"""Numbers that limit the memory of changes by key and the files of their ledger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CdcLimits:
    """Which engine applies changes, and when the ledger's files are merged."""

    here_rows: int = 100_000
    """Rows of a DataFrame up to which the driver collects and applies them itself."""
    task_rows: int = 200_000
    """Changes for each task on Spark, about."""
    ledger_files: int = 8
    """Number of files of about one size from which on they are merged."""
    ledger_growth: int = 8
    """The ratio between two sizes of files."""
    least_rows: int = 1_000
    """Rows of a ledger file of the smallest size, about."""
    merged_rows: int = 2_000_000
    """Rows of the ledger in memory during a merge; more are read in portions."""


CDC = CdcLimits()
