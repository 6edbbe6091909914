"""The partition of a file's rows, computed from its Parquet footer."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq

from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.arrow.values import from_array, to_array
from iceberg_spark.formats.footer_metrics import chunks_of, extremes, null_count
from iceberg_spark.spec.partition import PartitionField
from iceberg_spark.spec.transforms import BucketTransform
from iceberg_spark.spec.types import IcebergType


def values_of_extremes(
    footer: pq.FileMetaData,
    leaf: FileField,
    part: PartitionField,
    source: IcebergType,
    kind: IcebergType,
    *,
    is_one_partition: bool,
) -> list[Any] | None:
    """Return the distinct partition values of a column's extremes (None for its nulls).

    None if they are unknown. `source` is the column's type in the table, `kind` the partition
    field's. With `is_one_partition` all rows share one, so the extremes have its value whatever
    the transform; otherwise buckets of different extremes reveal nothing about values between.
    """
    chunks = chunks_of(footer, leaf)
    nulls = null_count(chunks)
    if nulls is None:
        return None
    if nulls == footer.num_rows:
        return [None]
    bounds = extremes(chunks, leaf, source)
    if bounds is None:
        return None
    values = values_between(bounds, part, source, kind, is_one_partition=is_one_partition)
    return values if values is None or not nulls else [*values, None]


def values_between(
    bounds: tuple[Any, Any],
    part: PartitionField,
    source: IcebergType,
    kind: IcebergType,
    *,
    is_one_partition: bool,
) -> list[Any] | None:
    """Return the different partition values of a least and a greatest value, as above."""
    scattered = isinstance(part.transform, BucketTransform) and not is_one_partition
    if scattered and bounds[0] != bounds[1]:
        return None
    array = apply_transform(part.transform, source, to_array(source, bounds))
    return list(dict.fromkeys(from_array(kind, array)))
