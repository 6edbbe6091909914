"""The entry of a file that was written or looked into, with its metrics."""

from __future__ import annotations

from typing import Any

from iceberg_spark.formats.metrics import Metrics
from iceberg_spark.spec.data_file import DataFile


def file_entry(metrics: Metrics, **entry: Any) -> DataFile:
    """Return a file's manifest entry; `entry` are the members that are no metrics."""
    return DataFile(
        record_count=metrics.record_count,
        column_sizes=metrics.column_sizes,
        value_counts=metrics.value_counts,
        null_value_counts=metrics.null_value_counts,
        nan_value_counts=metrics.nan_value_counts,
        lower_bounds=metrics.lower_bounds,
        upper_bounds=metrics.upper_bounds,
        **entry,
    )
