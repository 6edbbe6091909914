"""Arrow batches of the core as Spark expects them from a Python source, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql.types import StructType

from iceberg_spark.arrow.arrays import Step, map_list, struct_children, struct_of
from iceberg_spark.arrow.uuid_text import uuid_text
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.types import spark_wkb, to_spark
from iceberg_spark.spark.session.compat import expected_arrow_schema
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_SPARKS_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False),
    ]
)


def spark_batches(
    batches: Iterator[pa.RecordBatch], schema: Schema, expected: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the batches with exactly Spark's Arrow types; columns that fit are not copied.

    `schema` names the columns of the batches in order, `expected` is what Spark compares with
    (`compat.expected_arrow_schema`).
    """
    steps = [_step(field.field_type) for field in schema.fields]
    for batch in batches:
        columns = [
            _fit(column if step is None else step(column), field.type)
            for column, step, field in zip(batch.columns, steps, expected, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=expected)


def _fit(column: pa.Array, target: pa.DataType) -> pa.Array:
    if column.type == target:
        return column
    if pa.types.is_fixed_size_binary(column.type):
        return column.cast(pa.binary())
    return column.cast(target)


def _step(kind: t.IcebergType) -> Step | None:
    """Return how a column becomes what Spark shows: UUIDs as text, variants in Spark's order.

    At any depth; None where nothing is to do.
    """
    match kind:
        case t.UUIDType():
            return uuid_text
        case t.VariantType():
            return _variant
        case t.GeometryType() | t.GeographyType():
            return partial(spark_wkb, kind=kind)
        case t.StructType(fields=fields):
            return _struct(fields)
        case t.ListType(element_type=element):
            return _list(_step(element))
        case t.MapType(key_type=key, value_type=value):
            return _map(_step(key), _step(value))
        case _:
            return None


def _variant(column: pa.StructArray) -> pa.StructArray:
    metadata, value = struct_children(column)
    return struct_of(len(column), [value, metadata], _SPARKS_VARIANT, column)


def _struct(fields: tuple[t.NestedField, ...]) -> Step | None:
    steps = [_step(field.field_type) for field in fields]
    if not any(steps):
        return None

    def convert(column: pa.StructArray) -> pa.StructArray:
        children = [
            child if step is None else step(child)
            for child, step in zip(struct_children(column), steps, strict=True)
        ]
        converted_fields = [pa.field(f.name, c.type) for f, c in zip(fields, children, strict=True)]
        return struct_of(len(column), children, pa.struct(converted_fields), column)

    return convert


def _list(step: Step | None) -> Step | None:
    if step is None:
        return None

    def convert(column: pa.ListArray) -> pa.ListArray:
        kind = step(pa.array([], column.type.value_type)).type
        return map_list(column, step, pa.list_(kind))

    return convert


def _map(key: Step | None, value: Step | None) -> Step | None:
    if key is None and value is None:
        return None

    def entries(pairs: pa.StructArray) -> pa.StructArray:
        keys, values = struct_children(pairs)
        converted = [keys if key is None else key(keys), values if value is None else value(values)]
        fields = [
            pa.field("key", converted[0].type, nullable=False),
            pa.field("value", converted[1].type),
        ]
        return struct_of(len(pairs), converted, pa.struct(fields))

    def convert(column: pa.MapArray) -> pa.MapArray:
        empty = entries(pa.array([], pa.struct([column.type.key_field, column.type.item_field])))
        kind = pa.map_(empty.type.field(0).type, empty.type.field(1).type)
        return map_list(column, entries, kind)

    return convert


def task_batches(
    context: ScanContext, tasks: Iterable[FileScanTask], frame_type: StructType | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the live rows of the tasks as batches of exactly the frame's Arrow types.

    `frame_type` is given where the frame's columns differ from the table's in what may be NULL.
    """
    io = context.io
    schema = context.read_schema
    expected = expected_arrow_schema(frame_type or to_spark(schema))
    as_they_are = replace(context, checks_texts=False)  # Spark's texts are any bytes
    for task in tasks:
        yield from spark_batches(read_task(as_they_are, io, task), schema, expected)
