"""The entry of a file that was written or looked into, with its metrics."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq

from iceberg_spark.formats.metrics import Metrics
from iceberg_spark.formats.parquet_writer import row_group_offsets
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat


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


def parquet_entry(metrics: Metrics, footer: pq.FileMetaData, **entry: Any) -> DataFile:
    """Return the entry of a Parquet data file that lies somewhere, by its footer."""
    return file_entry(
        metrics,
        content=DataFileContent.DATA,
        file_format=FileFormat.PARQUET,
        split_offsets=row_group_offsets(footer),
        **entry,
    )
