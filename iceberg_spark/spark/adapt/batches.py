"""Arrow batches of the core as Spark expects them from a Python source, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from iceberg_spark.arrow.uuid_text import uuid_text
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

Convert = Callable[[pa.Array], pa.Array]


def spark_batches(
    batches: Iterator[pa.RecordBatch], schema: Schema, expected: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the batches with exactly Spark's Arrow types; columns that fit are not copied.

    `schema` names the columns of the batches in order, `expected` is what Spark compares with
    (`compat.expected_arrow_schema`).
    """
    uuids = [_holds_uuid(field.field_type) for field in schema.fields]
    for batch in batches:
        columns = [
            _fit(_show_uuids(column, field.field_type) if uuid else column, wanted.type)
            for column, field, uuid, wanted in zip(
                batch.columns, schema.fields, uuids, expected, strict=True
            )
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=expected)


def _fit(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if column.type == wanted:
        return column
    if pa.types.is_fixed_size_binary(column.type):
        return column.cast(pa.binary())
    return column.cast(wanted)


def _holds_uuid(kind: t.IcebergType) -> bool:
    return isinstance(kind, t.UUIDType) or any(
        _holds_uuid(child.field_type) for child in t.child_fields(kind)
    )


def _show_uuids(column: pa.Array, kind: t.IcebergType) -> pa.Array:
    """Replace 16-byte UUIDs by their text, at any depth."""
    match kind:
        case t.UUIDType():
            return uuid_text(column)
        case t.StructType(fields=fields):
            children = [
                _show_uuids(child, field.field_type)
                for child, field in zip(_struct_children(column), fields, strict=True)
            ]
            names = [field.name for field in fields]
            return pa.StructArray.from_arrays(children, names=names, mask=column.is_null())
        case t.ListType(element_type=element):
            values = _show_uuids(column.values, element)
            return pa.ListArray.from_arrays(column.offsets, values, mask=_mask(column))
        case t.MapType(key_type=key, value_type=value):
            return pa.MapArray.from_arrays(
                column.offsets, _show_uuids(column.keys, key), _show_uuids(column.items, value)
            )
        case _:
            return column


def _struct_children(column: pa.StructArray) -> list[pa.Array]:
    return [column.field(i) for i in range(column.type.num_fields)]


def _mask(column: pa.Array) -> pa.Array | None:
    return column.is_null() if column.null_count else None
