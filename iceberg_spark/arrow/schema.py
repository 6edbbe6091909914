"""Iceberg schemas as Arrow schemas, field ids in the metadata (key `PARQUET:field_id`)."""

from __future__ import annotations

import pyarrow as pa

from iceberg_spark.arrow.variant_layout import VARIANT
from iceberg_spark.expr.arrow_literal import arrow_type
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

FIELD_ID = b"PARQUET:field_id"
"""Where Arrow's Parquet reader and writer keep a field's id."""
ORC_FIELD_ID = b"iceberg.id"
"""The ORC type attribute with a field's id (specification, Appendix A)."""
DOC = b"doc"


def to_arrow(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of a table schema; ids and docs are in the field metadata."""
    return pa.schema([to_arrow_field(field, field.name) for field in schema.fields])


def to_arrow_field(field: t.NestedField, path: str = "") -> pa.Field:
    """Return one field; `path` is its full name, for messages."""
    path = path or field.name
    metadata: dict[bytes, bytes] = {FIELD_ID: str(field.field_id).encode()}
    if field.doc:
        metadata[DOC] = field.doc.encode()
    kind = to_arrow_type(field.field_type, path)
    # Arrow's null type has no values, so it is never required.
    nullable = field.optional or pa.types.is_null(kind)
    return pa.field(field.name, kind, nullable, metadata)


def to_arrow_type(kind: t.IcebergType, path: str = "value") -> pa.DataType:
    """Return the Arrow type: uuid is 16 fixed bytes, timestamptz microseconds in UTC.

    A variant is a struct of its two parts, geometries are WKB.
    """
    match kind:
        case t.StructType(fields=fields):
            return pa.struct([to_arrow_field(f, f"{path}.{f.name}") for f in fields])
        case t.ListType():
            return pa.list_(to_arrow_field(kind.element_field, f"{path}.element"))
        case t.MapType():
            return pa.map_(
                to_arrow_field(kind.key_field, f"{path}.key"),
                to_arrow_field(kind.value_field, f"{path}.value"),
            )
        case t.VariantType():
            return VARIANT
        case _:
            return arrow_type(kind)


def field_id(field: pa.Field) -> int | None:
    """Return the id that a field of a file or of a user's schema carries, or None.

    Spark's Parquet writer gives list elements and map parts the id -1: that counts as none.
    """
    metadata = field.metadata or {}
    text = metadata.get(FIELD_ID) or metadata.get(ORC_FIELD_ID)
    number = int(text) if text is not None else -1
    return number if number >= 0 else None


def child_fields(kind: pa.DataType) -> tuple[pa.Field, ...]:
    """Return the fields right below an Arrow type, map entries as key and value."""
    if pa.types.is_map(kind):
        return (kind.key_field, kind.item_field)
    if is_list(kind):
        return (kind.value_field,)
    if pa.types.is_struct(kind):
        return tuple(kind)
    return ()


def is_list(kind: pa.DataType) -> bool:
    """Return whether a type is a list of any of Arrow's layouts (a map is none)."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )
