"""Rows as callers get them in Arrow: UUIDs have Arrow's UUID type, as in PyIceberg.

Inside the package UUIDs are 16 fixed bytes, because Arrow's functions do not take its UUID type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import UnsupportedError
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


def pandas_frame(rows: pa.Table) -> Any:
    """Return rows as a `pandas.DataFrame`.

    pyarrow converts no UUID and no fixed binary within a list. There they become bytes.

    Raises:
        UnsupportedError: pandas is not installed.
    """
    fields = [field.with_type(_convertible(field.type, in_list=False)) for field in rows.schema]
    schema = pa.schema(fields, rows.schema.metadata)
    convertible = rows if schema.types == rows.schema.types else rows.cast(schema)
    try:
        return convertible.to_pandas()
    except ImportError as error:
        raise UnsupportedError(
            f"to_pandas() needs pandas ({error}): pip install 'pandas<3', which "
            "iceberg-spark[spark] has too, or call to_arrow()"
        ) from error


def _convertible(kind: pa.DataType, *, in_list: bool) -> pa.DataType:
    """Return the type to convert from; `in_list` is for elements of lists and maps."""
    if pa.types.is_struct(kind):
        return pa.struct([_convertible_field(field, in_list=in_list) for field in kind])
    if pa.types.is_map(kind):
        key, value = kind.key_field, kind.item_field
        return pa.map_(
            _convertible_field(key, in_list=True), _convertible_field(value, in_list=True)
        )
    if pa.types.is_list(kind):
        return pa.list_(_convertible_field(kind.value_field, in_list=True))
    is_fixed = pa.types.is_fixed_size_binary(kind) or kind == pa.uuid()
    return pa.binary() if is_fixed and in_list else kind


def _convertible_field(field: pa.Field, *, in_list: bool) -> pa.Field:
    return field.with_type(_convertible(field.type, in_list=in_list))
