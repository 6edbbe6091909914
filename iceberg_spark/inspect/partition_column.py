"""Partition tuples of any spec as one struct type: by field id, what a spec lacks is null."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.arrays import struct_of
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.spec.types import NestedField, StructType


def coerced(partitions: Any, wanted: StructType) -> pa.StructArray:
    """Return tuples whose children are named by partition field id as the struct `wanted`."""
    children = [_child(partitions, one) for one in wanted.fields]
    return struct_of(len(partitions), children, to_arrow_type(wanted))


def _child(partitions: Any, wanted: NestedField) -> Any:
    kind = to_arrow_type(wanted.field_type)
    place = partitions.type.get_field_index(str(wanted.field_id))
    if place < 0:
        return pa.nulls(len(partitions), kind)
    found = partitions.field(place)
    return found if found.type == kind else found.cast(kind)
