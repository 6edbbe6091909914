"""DataFrames with a known number of rows."""

from __future__ import annotations

from types import MethodType

from pyspark.sql import DataFrame


def with_count(frame: DataFrame, rows: int) -> DataFrame:
    """Return a DataFrame whose own `count()` returns a known number without a job.

    DataFrames derived from it count their rows, and a cached DataFrame counts to fill the cache.
    """

    def count(self: DataFrame) -> int:
        return type(self).count(self) if self.is_cached else rows

    frame.count = MethodType(count, frame)  # type: ignore[method-assign]
    return frame
