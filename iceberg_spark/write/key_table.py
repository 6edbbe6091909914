"""Key columns laid out as the rows of an equality delete file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.arrays import struct_of, without_nulls
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType


def key_table(schema: Schema, keys: Mapping[int, pa.Array]) -> pa.Table:
    """Return the rows of keys, passed by field id; `schema` is `equality_schema(...)`.

    An optional struct is null where all keys inside it are: readers can't distinguish a null
    struct from nulls in it (specification, "Equality Delete Files").
    """
    target = to_arrow(schema)
    columns = [
        _column(field, arrow.type, keys) for field, arrow in zip(schema.fields, target, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=target)


def _column(field: NestedField, kind: pa.DataType, keys: Mapping[int, pa.Array]) -> pa.Array:
    if not isinstance(field.field_type, StructType):
        return keys[field.field_id]
    fields = field.field_type.fields
    children = [_column(child, kind.field(index).type, keys) for index, child in enumerate(fields)]
    rows = len(children[0])
    nulls = None
    if not field.required:
        valid = np.zeros(rows, bool)
        for child in children:
            valid |= child.is_valid().to_numpy(zero_copy_only=False)
        nulls = pa.array(valid, mask=~valid)
    laid = [
        without_nulls(child) if inner.required else child
        for child, inner in zip(children, fields, strict=True)
    ]
    return struct_of(rows, laid, kind, nulls)
