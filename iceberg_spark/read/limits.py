"""Numbers by which a small table is read to read less of a large one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """When a small table's keys are read to prune a large one."""

    read_bytes: int = 8 * 1024 * 1024
    """Bytes of the small table's files: its key and what its condition asks for are read here."""
    rows: int = 1_000_000
    """Rows of the small table: as many keys are held."""
    pruned_bytes: int = 16 * 1024 * 1024
    """Bytes of the large table's files: Spark reads fewer in the time that reading keys takes."""
    files: int = 4
    """Files of the large table, at least."""
    kept_bytes: int = 16 * 1024 * 1024
    """Bytes of plans that joins have made smaller, and of those that they are told apart by."""
    kept_plan_bytes: int = 256 * 1024
    """Bytes that one counts for at least, so that they are 64 at most: each has a table's
    metadata."""


JOINS = JoinLimits()
