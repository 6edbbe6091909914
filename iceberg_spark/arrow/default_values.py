"""Defaults of columns as Arrow values: for existing and for new rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.arrays import null_column, struct_of
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.arrow.values import to_scalar
from iceberg_spark.spec import types as t


def default_array(field: t.NestedField, rows: int, *, written: bool, path: str = "") -> pa.Array:
    """Return a column of a field's default, null if it has none.

    `written` selects `write-default` instead of `initial-default`. A struct's default only means
    that it is not null: its fields have their own (specification, "Default values").
    """
    kind = to_arrow_type(field.field_type, path or field.name)
    value = field.write_default if written else field.initial_default
    if value is None:
        return null_column(rows, kind)
    if isinstance(field.field_type, t.StructType):
        inner = [default_array(child, rows, written=written) for child in field.field_type.fields]
        return struct_of(rows, inner, kind)
    if not isinstance(field.field_type, t.ListType | t.MapType):
        return pa.repeat(to_scalar(field.field_type, value), rows)
    return _repeated(_nested(field.field_type, value, written=written), kind, rows)


def _repeated(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    return pa.array([value], kind).take(pa.repeat(pa.scalar(0, pa.int32()), rows))


def _nested(kind: t.IcebergType, value: Any, *, written: bool) -> Any:
    """Return a canonical value in the form that Arrow's builders accept."""
    match kind:
        case _ if value is None:
            return None
        case t.StructType(fields=fields):
            values: Mapping[int, Any] = dict(value)
            return {
                child.name: _nested(
                    child.field_type,
                    values.get(
                        child.field_id, child.write_default if written else child.initial_default
                    ),
                    written=written,
                )
                for child in fields
            }
        case t.ListType(element_type=element):
            return [_nested(element, part, written=written) for part in value]
        case t.MapType(key_type=key, value_type=item):
            return [
                (
                    _nested(key, entry_key, written=written),
                    _nested(item, entry_value, written=written),
                )
                for entry_key, entry_value in value
            ]
        case t.UUIDType():
            return value.bytes
        case _:
            return value
