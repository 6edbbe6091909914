"""Values that come from metadata: `_file`, `_spec_id`, `_partition`, identity partition values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.arrays import struct_of
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.arrow.values import to_array, to_scalar
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec import reserved
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.types import StringType, StructType


def constants(context: ScanContext, task: FileScanTask) -> dict[int, pa.Scalar]:
    """Return values by field id that are the same for all rows of a task.

    Identity partition values stand for columns that the file lacks (specification, "Column
    Projection"); metadata columns are there only where they are asked for. Raises
    CorruptFileError for a task of a spec that the table does not have.
    """
    spec = context.specs.get(task.spec_id)
    if spec is None:
        raise CorruptFileError(
            f"{task.file_path} has partition spec {task.spec_id}, which the table does not have"
        )
    values = identity_values(context, spec, task.partition)
    for field in context.read_schema.fields:
        match field.field_id:
            case reserved.FILE_ID:
                values[field.field_id] = to_scalar(StringType(), task.file_path)
            case reserved.SPEC_ID_ID:
                values[field.field_id] = to_scalar(field.field_type, task.spec_id)
            case reserved.PARTITION_ID if isinstance(field.field_type, StructType):
                values[field.field_id] = partition_value(field.field_type, spec, task.partition)
            case _:
                pass
    return values


def identity_values(
    context: ScanContext, spec: PartitionSpec, partition: tuple[Any, ...]
) -> dict[int, pa.Scalar]:
    """Return the partition values of identity fields by the id of their source column."""
    values: dict[int, pa.Scalar] = {}
    for part, value in zip(spec.fields, partition, strict=True):
        source = context.table_schema.get(part.source_id)
        if source is None and context.dropped_fields is not None:
            source = context.dropped_fields.get(part.source_id)
        if source is not None and isinstance(part.transform, IdentityTransform):
            values[part.source_id] = to_scalar(source.field_type, value)
    return values


def partition_value(kind: StructType, spec: PartitionSpec, partition: tuple[Any, ...]) -> pa.Scalar:
    """Return a partition tuple as a value of the union of all specs; other specs' fields are null.

    Source: Java's Partitioning.partitionType and PartitionUtil.coercePartition.
    """
    values = {part.field_id: value for part, value in zip(spec.fields, partition, strict=True)}
    children = [to_array(f.field_type, [values.get(f.field_id)]) for f in kind.fields]
    return struct_of(1, children, to_arrow_type(kind))[0]
