"""A user's or a file's Arrow schema as an Iceberg schema."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from iceberg_spark.arrow.schema import DOC, child_fields, field_id, is_list
from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

IdOf = Callable[[pa.Field, tuple[str, ...]], int | None]

_SIMPLE: Mapping[pa.DataType, t.IcebergType] = {
    pa.null(): t.UnknownType(),
    pa.bool_(): t.BooleanType(),
    pa.int8(): t.IntegerType(),
    pa.int16(): t.IntegerType(),
    pa.int32(): t.IntegerType(),
    pa.uint8(): t.IntegerType(),
    pa.uint16(): t.IntegerType(),
    pa.uint32(): t.LongType(),
    pa.int64(): t.LongType(),
    pa.float16(): t.FloatType(),
    pa.float32(): t.FloatType(),
    pa.float64(): t.DoubleType(),
    pa.date32(): t.DateType(),
    pa.date64(): t.DateType(),
    pa.time32("s"): t.TimeType(),
    pa.time32("ms"): t.TimeType(),
    pa.time64("us"): t.TimeType(),
    pa.time64("ns"): t.TimeType(),
    pa.string(): t.StringType(),
    pa.large_string(): t.StringType(),
    pa.string_view(): t.StringType(),
    pa.binary(): t.BinaryType(),
    pa.large_binary(): t.BinaryType(),
    pa.binary_view(): t.BinaryType(),
    pa.uuid(): t.UUIDType(),
}
_LARGEST_PRECISION = 38


def from_arrow(
    schema: pa.Schema, *, id_of: Mapping[tuple[str, ...], int] | None = None, nano: bool = False
) -> Schema:
    """Return the Iceberg schema of an Arrow schema, docs kept.

    Ids come from `id_of` (paths of names, e.g. a flattened name mapping) if it is passed, else
    from the metadata if every field has one, else they are new: 1, 2, ... depth first.
    Nanosecond timestamps become microsecond ones (writing refuses values that don't fit) unless
    `nano` selects version 3's types. `large_*`, views and dictionaries become plain types. Raises
    InvalidSchemaError naming a column without an Iceberg type, or without an id in `id_of`.
    """
    if id_of is None and _all_have_ids(schema):
        ids: IdOf = _metadata_id
    elif id_of is None:
        ids = _fresh(itertools.count(1))
    else:
        ids = _mapped(id_of)
    return Schema(*(_field(field, (), ids, nano=nano) for field in schema))


def iceberg_type(kind: pa.DataType, *, nano: bool = False) -> t.IcebergType:
    """Return the Iceberg type of an Arrow type; nested fields get provisional ids."""
    return _type(kind, ("value",), _fresh(itertools.count(1)), nano=nano)


def _all_have_ids(fields: pa.Schema | tuple[pa.Field, ...]) -> bool:
    return all(
        field_id(field) is not None and _all_have_ids(child_fields(_storage(field.type)))
        for field in fields
    )


def _metadata_id(field: pa.Field, _path: tuple[str, ...]) -> int | None:
    return field_id(field)


def _fresh(numbers: Iterator[int]) -> IdOf:
    return lambda _field, _path: next(numbers)


def _mapped(id_of: Mapping[tuple[str, ...], int]) -> IdOf:
    return lambda _field, path: id_of.get(path)


def _field(
    field: pa.Field, parent: tuple[str, ...], ids: IdOf, *, nano: bool, name: str | None = None
) -> t.NestedField:
    own = field.name if name is None else name
    path = (*parent, own)
    number = ids(field, path)
    if number is None:
        raise InvalidSchemaError(f"Column '{'.'.join(path)}' has no field id in the name mapping")
    doc = (field.metadata or {}).get(DOC)
    kind = _type(field.type, path, ids, nano=nano)
    required = not field.nullable and not isinstance(kind, t.UnknownType)
    return t.NestedField(number, own, kind, required, doc.decode() if doc else None)


def _type(kind: pa.DataType, path: tuple[str, ...], ids: IdOf, *, nano: bool) -> t.IcebergType:
    kind = _storage(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if pa.types.is_struct(kind):
        return t.StructType(*(_field(child, path, ids, nano=nano) for child in kind))
    if pa.types.is_map(kind):
        key = _field(kind.key_field, path, ids, nano=nano, name="key")
        value = _field(kind.item_field, path, ids, nano=nano, name="value")
        return t.MapType(
            key.field_id, key.field_type, value.field_id, value.field_type, value.required
        )
    if is_list(kind):
        element = _field(kind.value_field, path, ids, nano=nano, name="element")
        return t.ListType(element.field_id, element.field_type, element.required)
    if pa.types.is_timestamp(kind):
        return _timestamp(kind, nano=nano)
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width:
        return t.FixedType(kind.byte_width)
    if pa.types.is_decimal(kind) and kind.precision <= _LARGEST_PRECISION and kind.scale >= 0:
        return t.DecimalType(kind.precision, kind.scale)
    raise InvalidSchemaError(
        f"Column '{'.'.join(path)}' has Arrow type {kind}, which Iceberg has no type for; cast it"
    )


def _timestamp(kind: pa.DataType, *, nano: bool) -> t.IcebergType:
    if kind.unit == "ns" and nano:
        return t.TimestamptzNanoType() if kind.tz else t.TimestampNanoType()
    return t.TimestamptzType() if kind.tz else t.TimestampType()


def _storage(kind: pa.DataType) -> pa.DataType:
    """Return the plain type of a dictionary, run-end or extension type; Arrow's uuid stays."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _storage(kind.value_type)
    return kind
