"""Numbers by which changes by key bound their memory and the files of their ledger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CdcLimits:
    """Who applies changes, and when the ledger's files are put together."""

    here_rows: int = 100_000
    """Rows of a frame, up to which the driver gathers them and applies them by itself."""
    task_rows: int = 200_000
    """Changes that a task gets, about, where Spark applies them."""
    ledger_files: int = 8
    """Files of about one size from which on the ledger puts them together."""
    ledger_growth: int = 8
    """How many times larger files of the next size are."""
    least_rows: int = 1_000
    """Rows of a ledger's file of the smallest size, about."""
    merged_rows: int = 2_000_000
    """Rows of the ledger that are held to put its files together; more are read in portions."""


CDC = CdcLimits()
