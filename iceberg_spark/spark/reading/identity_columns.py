"""Columns that are identity partition fields: metadata has their value for each file.

A relation gets them as partition columns, so that Spark's dynamic partition pruning leaves out
files, and their values are not read from the files.

Source: Java's `PartitionUtil.constantsMap`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.scan.plan import PartitionTuples, ScanPlan
from iceberg_spark.spec import types as t
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.transforms import IdentityTransform

EXACT_TYPES = (
    t.BooleanType, t.IntegerType, t.LongType, t.DateType, t.DecimalType, t.TimestampType,
    t.TimestamptzType,
)  # fmt: skip
"""Types with exact bounds. Bounds of text may be truncated, and those of floats leave out NaN."""
_TYPES = (*EXACT_TYPES, t.StringType)
"""Types whose equal values are one value: not floats, of which Spark has several zeros and NaN."""


def is_identity_column(plan: ScanPlan, spec_ids: Iterable[int], field: t.NestedField) -> bool:
    """Return whether each of some specs has an identity field of a top-level column."""
    return isinstance(field.field_type, _TYPES) and all(
        _identity_field(plan.context.specs[spec_id], field.field_id) is not None
        for spec_id in spec_ids
    )


def identity_values(plan: ScanPlan, files: pa.Table, field: t.NestedField) -> Any:
    """Return the value of an identity partition column for each of `files`, rows of the plan's."""
    kind = to_arrow_type(field.field_type)
    values = pa.nulls(files.num_rows, kind)
    for spec_id in pc.unique(files.column("spec_id")).to_pylist():
        partition_id = _identity_field(plan.context.specs[spec_id], field.field_id)
        of_tuples = [_tuple_values(part, partition_id, kind) for part in plan.partitions]
        of_files = pa.chunked_array(of_tuples, kind).take(files.column("partition_index"))
        values = pc.if_else(pc.equal(files.column("spec_id"), spec_id), of_files, values)
    return values


def as_spark_stores(values: Any) -> Any:
    """Return Arrow values as Spark stores them: dates are days, timestamps are microseconds."""
    if pa.types.is_date(values.type):
        return values.cast(pa.int32())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def _identity_field(spec: PartitionSpec, source_id: int) -> int | None:
    for partition_field in spec.fields:
        is_identity = isinstance(partition_field.transform, IdentityTransform)
        if is_identity and partition_field.source_id == source_id:
            return partition_field.field_id
    return None


def _tuple_values(part: PartitionTuples, partition_id: int | None, kind: pa.DataType) -> Any:
    for index, partition_field in enumerate(part.kind.fields):
        if partition_field.field_id == partition_id:
            return pc.struct_field(part.tuples, [index]).cast(kind)
    return pa.nulls(len(part.tuples), kind)
