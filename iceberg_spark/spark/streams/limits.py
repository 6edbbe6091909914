"""Numbers that bound what a stream brings to the driver."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SmallBatches:
    """Which batches of a stream the driver writes itself: a job of Spark's costs more than they."""

    rows: int = 100_000
    """Rows, at most; 1,000 rows cost half of what Spark's writer takes for them, and 100,000 about
    as much."""
    bytes: int = 32 * 1024 * 1024
    """Bytes of rows as Spark estimates them by the types of the columns, at most."""


SMALL_BATCHES = SmallBatches()
