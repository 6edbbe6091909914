"""The stored form of a table's columns: columns of `unknown`, which are always null, are left out.

Parquet and ORC have no structs without fields, lists without elements or tables without columns:
if nothing else would be left, an unknown column is stored as nulls, which readers ignore.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from iceberg_spark.arrow.arrays import Step, map_list, map_struct, struct_children, struct_of
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema


def stored_schema(schema: Schema) -> Schema:
    """Return the columns of files; the schema itself if it has no `unknown`."""
    if not any(
        isinstance(schema.find_type(field_id), t.UnknownType) for field_id in schema.field_ids
    ):
        return schema
    fields = _stored_fields(schema.fields)
    return Schema(*fields, schema_id=schema.schema_id)


def _stored_fields(fields: Sequence[t.NestedField]) -> tuple[t.NestedField, ...]:
    typed = [field for field in fields if not isinstance(field.field_type, t.UnknownType)]
    return tuple(
        replace(field, field_type=_stored(field.field_type)) for field in typed or fields[:1]
    )


def _stored(kind: t.IcebergType) -> t.IcebergType:
    match kind:
        case t.StructType(fields=fields):
            return t.StructType(*_stored_fields(fields))
        case t.ListType(element_type=element):
            return replace(kind, element_type=_stored(element))
        case t.MapType(key_type=key, value_type=value):
            return replace(kind, key_type=_stored(key), value_type=_stored(value))
        case _:
            return kind


def to_stored(table: pa.Table, schema: Schema, stored: Schema) -> pa.Table:
    """Return a table's rows with the columns of `stored`, a result of `stored_schema`."""
    if stored is schema:
        return table
    places = {field.field_id: index for index, field in enumerate(schema.fields)}
    columns = []
    for field in stored.fields:
        index = places[field.field_id]
        step = _step(schema.fields[index].field_type, field.field_type)
        column = table.column(index)
        if step is not None:
            kind = to_arrow_type(field.field_type)
            column = pa.chunked_array([step(chunk) for chunk in column.chunks], kind)
        columns.append(column)
    return pa.table(columns, names=[field.name for field in stored.fields])


def _step(full: t.IcebergType, stored: t.IcebergType) -> Step | None:
    if full == stored:
        return None
    target = to_arrow_type(stored)
    match full, stored:
        case t.StructType(fields=every), t.StructType(fields=remaining):
            places = {field.field_id: index for index, field in enumerate(every)}
            picked = [places[field.field_id] for field in remaining]
            steps = [
                _step(every[index].field_type, field.field_type)
                for index, field in zip(picked, remaining, strict=True)
            ]
            return lambda array: map_struct(
                array, _done(struct_children(array), picked, steps), target
            )
        case t.ListType(), t.ListType():
            inner = _step(full.element_type, stored.element_type)
            return lambda array: map_list(array, inner or _same, target)
        case t.MapType(), t.MapType():
            pair = [
                _step(full.key_type, stored.key_type),
                _step(full.value_type, stored.value_type),
            ]
            entry = pa.struct([target.key_field, target.item_field])

            def entries(array: pa.Array) -> pa.Array:
                return struct_of(len(array), _done(struct_children(array), (0, 1), pair), entry)

            return lambda array: map_list(array, entries, target)
        case _:
            return None


def _done(
    children: Sequence[pa.Array], places: Sequence[int], steps: Sequence[Step | None]
) -> list[pa.Array]:
    return [
        children[index] if step is None else step(children[index])
        for index, step in zip(places, steps, strict=True)
    ]


def _same(array: pa.Array) -> pa.Array:
    return array
