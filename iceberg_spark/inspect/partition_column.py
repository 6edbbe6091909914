"""Partition tuples of all specs as one struct type; fields that a spec lacks are null."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.arrays import struct_of
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.spec.types import NestedField, StructType


def align_partitions(partitions: Any, target: StructType) -> pa.StructArray:
    """Return partition tuples, their children named by field id, as the struct `target`."""
    children = [_child(partitions, field) for field in target.fields]
    return struct_of(len(partitions), children, to_arrow_type(target))


def _child(partitions: Any, field: NestedField) -> Any:
    kind = to_arrow_type(field.field_type)
    position = partitions.type.get_field_index(str(field.field_id))
    if position < 0:
        return pa.nulls(len(partitions), kind)
    child = partitions.field(position)
    return child if child.type == kind else child.cast(kind)
