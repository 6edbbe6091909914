"""The entry of a file that was written or looked into, with its metrics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq

from iceberg_spark.formats.metrics import Metrics
from iceberg_spark.formats.parquet_writer import row_group_offsets
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.transforms import IdentityTransform


def file_entry(metrics: Metrics, spec: PartitionSpec, **entry: Any) -> DataFile:
    """Return a file's manifest entry; `entry` are the members that are not metrics."""
    file = DataFile(
        record_count=metrics.record_count,
        column_sizes=metrics.column_sizes,
        value_counts=metrics.value_counts,
        null_value_counts=metrics.null_value_counts,
        nan_value_counts=metrics.nan_value_counts,
        lower_bounds=metrics.lower_bounds,
        upper_bounds=metrics.upper_bounds,
        **entry,
    )
    return _with_partition_counts(file, spec)


def _with_partition_counts(file: DataFile, spec: PartitionSpec) -> DataFile:
    """Give a data file the counts of its identity partition columns where it lacks them.

    They follow from the partition: a file of the partition k=NULL with 10 rows has 10 nulls in k.
    Metrics mode `none` and files of `k=v` folders have none, and Trino then returns rows of the
    NULL partition for `k < 'b'`.
    """
    if file.content is not DataFileContent.DATA:
        return file
    values, nulls = file.value_counts or {}, file.null_value_counts or {}
    counts = {
        field.source_id: file.record_count if value is None else 0
        for field, value in zip(spec.fields, file.partition, strict=True)
        if isinstance(field.transform, IdentityTransform)
        and not (field.source_id in values and field.source_id in nulls)
    }
    if not counts:
        return file
    return replace(
        file,
        value_counts={**values, **dict.fromkeys(counts, file.record_count)},
        null_value_counts={**nulls, **counts},
    )


def parquet_entry(
    metrics: Metrics, footer: pq.FileMetaData, spec: PartitionSpec, **entry: Any
) -> DataFile:
    """Return the entry of a stored Parquet data file, by its footer."""
    return file_entry(
        metrics,
        spec,
        content=DataFileContent.DATA,
        file_format=FileFormat.PARQUET,
        split_offsets=row_group_offsets(footer),
        **entry,
    )
