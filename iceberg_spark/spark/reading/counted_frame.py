"""A frame that knows how many rows it has."""

from __future__ import annotations

from types import MethodType

from pyspark.sql import DataFrame


def with_count(frame: DataFrame, rows: int) -> DataFrame:
    """Return the frame; its own `count()` answers from the plan, without a job.

    Java's runtime does so by pushing the aggregate down, which Parquet in Spark has no way to.
    Frames derived from it count for themselves, and a cached frame counts to fill its cache.
    """

    def count(self: DataFrame) -> int:
        return type(self).count(self) if self.is_cached else rows

    frame.count = MethodType(count, frame)  # type: ignore[method-assign]
    return frame
