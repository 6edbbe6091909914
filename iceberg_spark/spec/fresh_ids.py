"""New column ids in Java's order (Java: TypeUtil.assignFreshIds)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.partition import FIRST_PARTITION_FIELD_ID, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED, SortOrder
from iceberg_spark.spec.types import IcebergType, ListType, MapType, NestedField, StructType

NextId = Callable[[int], int]  # old field id -> new field id


def assign_fresh_ids(
    schema: Schema, *, last_column_id: int = 0, base: Schema | None = None
) -> Schema:
    """Return the schema with new ids, counted up after `last_column_id`.

    All fields of a struct get theirs before anything nested in them. A column that `base` has
    under the same full name keeps the id it has there.
    """
    numbers = count(last_column_id + 1)

    def next_id(old: int) -> int:
        name = schema.find_column_name(old)
        base_id = None if base is None or name is None else base.find_id(name)
        return next(numbers) if base_id is None else base_id

    fields = _fields(schema.fields, next_id)
    fresh = Schema(*fields)
    names = [schema.find_column_name(old) for old in schema.identifier_field_ids]
    identifiers = [fresh.find_field(name).field_id for name in names if name is not None]
    return Schema(*fields, identifier_field_ids=identifiers, extra=schema.extra)


def _fields(fields: tuple[NestedField, ...], next_id: NextId) -> tuple[NestedField, ...]:
    numbers = [next_id(child.field_id) for child in fields]
    return tuple(
        replace(child, field_id=number, field_type=_type(child.field_type, next_id))
        for child, number in zip(fields, numbers, strict=True)
    )


def _type(kind: IcebergType, next_id: NextId) -> IcebergType:
    match kind:
        case StructType(fields=fields):
            return StructType(*_fields(fields, next_id))
        case ListType():
            number = next_id(kind.element_id)
            return ListType(number, _type(kind.element_type, next_id), kind.element_required)
        case MapType():
            key_id, value_id = next_id(kind.key_id), next_id(kind.value_id)
            key = _type(kind.key_type, next_id)
            return MapType(
                key_id, key, value_id, _type(kind.value_type, next_id), kind.value_required
            )
        case _:
            return kind


def reassign_spec(spec: PartitionSpec, schema: Schema, fresh: Schema) -> PartitionSpec:
    """Bind a spec made for `schema` to `fresh`, by column name; field ids count from 1000.

    Raises InvalidSchemaError for a source column that is not in both.
    """
    fields = tuple(
        replace(
            part,
            source_ids=_sources(part.source_ids, schema, fresh, f"partition field '{part.name}'"),
            field_id=FIRST_PARTITION_FIELD_ID + index,
        )
        for index, part in enumerate(spec.fields)
    )
    return PartitionSpec(0, fields, spec.extra)


def reassign_order(order: SortOrder, schema: Schema, fresh: Schema) -> SortOrder:
    """Bind a sort order made for `schema` to `fresh`, by column name; its id becomes 1.

    Raises InvalidSchemaError for a source column that is not in both.
    """
    if order.is_unsorted:
        return UNSORTED
    fields = tuple(
        replace(key, source_ids=_sources(key.source_ids, schema, fresh, f"sort field '{key}'"))
        for key in order.fields
    )
    return SortOrder(1, fields, order.extra)


def _sources(
    source_ids: tuple[int, ...], schema: Schema, fresh: Schema, what: str
) -> tuple[int, ...]:
    return tuple(_source(source_id, schema, fresh, what) for source_id in source_ids)


def _source(source_id: int, schema: Schema, fresh: Schema, what: str) -> int:
    name = schema.find_column_name(source_id)
    fresh_id = None if name is None else fresh.find_id(name)
    if fresh_id is None:
        raise InvalidSchemaError(f"The source column {source_id} of {what} is not in the schema")
    return fresh_id
