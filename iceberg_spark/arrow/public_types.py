"""Rows as callers get them in Arrow: UUIDs have Arrow's UUID type, as in PyIceberg.

Inside the package UUIDs are 16 fixed bytes, because Arrow's functions do not take its UUID type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema


def public_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema that callers get."""
    return pa.schema(list(map(_public_field, schema.fields, to_arrow(schema))))


def public_batches(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield batches with the types of a public schema; nothing is copied."""
    for batch in batches:
        yield batch if batch.schema.types == schema.types else batch.cast(schema)


def _public_field(field: t.NestedField, stored: pa.Field) -> pa.Field:
    return stored.with_type(_public_type(field.field_type, stored.type))


def _public_type(kind: t.IcebergType, stored: pa.DataType) -> pa.DataType:
    match kind:
        case t.UUIDType():
            return pa.uuid()
        case t.StructType(fields=fields):
            return pa.struct(list(map(_public_field, fields, stored)))
        case t.ListType():
            return pa.list_(_public_field(kind.element_field, stored.value_field))
        case t.MapType():
            return pa.map_(
                _public_field(kind.key_field, stored.key_field),
                _public_field(kind.value_field, stored.item_field),
            )
        case _:
            return stored
