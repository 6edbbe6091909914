"""Avro types as Arrow types, and the conversion of a column reader's plain arrays to them.

A plain array has the values on disk: numbers without their logical type, decimals and fixed as
bytes, maps as lists of key and value.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.formats.avro.types import AvroField, AvroType
from iceberg_spark.io.limits import GROWTH

Array: TypeAlias = Any  # pyarrow ships no types
DataType: TypeAlias = Any

FIELD_ID = b"PARQUET:field_id"
_DECIMAL_BYTES = 16
_PLAIN = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "enum": pa.string(),
    "bytes": pa.binary(),
}
_TIMES = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}
_TIMESTAMP_UNITS = {"timestamp-millis": "ms", "timestamp-micros": "us", "timestamp-nanos": "ns"}


def arrow_field(field: AvroField) -> Any:
    """Return the Arrow field of an Avro field, its field id in the metadata."""
    metadata = None if field.field_id is None else {FIELD_ID: str(field.field_id)}
    nullable = field.type.optional or field.type.kind == "null"
    return pa.field(field.name, arrow_type(field.type), nullable, metadata)


def arrow_type(kind: AvroType) -> DataType:
    """Return the Arrow type of an Avro type (specification: "Avro", "Data Type Mappings")."""
    match kind.kind:
        case "record":
            return pa.struct([arrow_field(child) for child in kind.fields])
        case "array":
            return pa.list_(arrow_field(kind.fields[0]))
        case "map":
            key, value = (arrow_field(child) for child in kind.fields)
            return pa.map_(key.with_nullable(False), value)
        case "fixed" | "bytes" if kind.logical == "decimal":
            return pa.decimal128(kind.precision, kind.scale)
        case "fixed":
            return pa.binary(kind.size)
        case "long" if kind.logical in _TIMESTAMP_UNITS:
            return pa.timestamp(_TIMESTAMP_UNITS[kind.logical], "UTC" if kind.utc else None)
        case name:
            return _TIMES.get((name, kind.logical or ""), _PLAIN[name])


def from_plain(array: Array, kind: AvroType) -> Array:
    """Return a plain array of an Avro type as the array of its Arrow type."""
    target = arrow_type(kind)
    match kind.kind:
        case "null":
            return pa.nulls(len(array))
        case "record":
            return _struct(array, kind)
        case "array":
            return _list(array, kind, target)
        case "map":
            return _map(array, kind, target)
        case "fixed" | "bytes" if kind.logical == "decimal":
            return decimals(array, kind.precision, kind.scale)
        case "fixed":
            return fixed_binary(array, kind.size)
        case _:
            return array.cast(target)


def decimals(array: Array, precision: int, scale: int) -> Array:
    """Return big-endian two's complement binaries as decimals of 128 bits."""
    binary = array.cast(pa.large_binary())
    starts, data = _offsets_and_bytes(binary)
    lengths = np.diff(starts)
    if not len(binary) or not data.size:
        return pa.array([None] * len(binary), pa.decimal128(precision, scale))
    # One row of 16 bytes per value, its last byte last; bytes before the value are filled with
    # its sign.
    indices = starts[1:, None] - np.arange(_DECIMAL_BYTES)[None, :] - 1
    inside = indices >= starts[:-1, None]
    first = data[np.clip(starts[:-1], 0, data.size - 1)]
    sign = np.where((first >= 0x80) & (lengths > 0), 0xFF, 0).astype(np.uint8)
    little = np.where(inside, data[np.clip(indices, 0, data.size - 1)], sign[:, None])
    return pa.Array.from_buffers(
        pa.decimal128(precision, scale),
        len(binary),
        [_validity(binary), pa.py_buffer(np.ascontiguousarray(little))],
    )


def fixed_binary(array: Array, size: int) -> Array:
    """Return binaries that all have one length as an array of fixed-size binaries."""
    filled = array.cast(pa.large_binary())
    if filled.null_count:
        if len(array) * size > GROWTH.fixed_bytes:
            raise MemoryError(f"{len(array):,} values of {size:,} bytes, most of them null")
        filled = pc.fill_null(filled, b"\0" * size)
    starts, data = _offsets_and_bytes(filled)
    plain = pa.py_buffer(data[starts[0] :] if len(starts) else data)
    return pa.Array.from_buffers(pa.binary(size), len(array), [_validity(array), plain])


def _struct(array: Array, kind: AvroType) -> Array:
    """Rebuild a struct with the all-null children that the plain one lacks."""
    index, children = 0, []
    for child in kind.fields:
        if child.type.kind == "null":
            children.append(pa.nulls(len(array)))
        else:
            children.append(from_plain(array.field(index), child.type))
            index += 1
    mask = array.is_null() if array.null_count else None
    fields = [arrow_field(child) for child in kind.fields]
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _list(array: Array, kind: AvroType, target: DataType) -> Array:
    offsets = pc.cast(array.offsets, pa.int32())
    values = from_plain(array.values, kind.fields[0].type)
    return pa.Array.from_buffers(
        target, len(array), [_validity(array), offsets.buffers()[1]], children=[values]
    )


def _map(array: Array, kind: AvroType, target: DataType) -> Array:
    """Return a list of key and value as a map: the same memory under another name."""
    offsets = pc.cast(array.offsets, pa.int32())
    entries = array.values
    key, value = (
        from_plain(entries.field(index), child.type) for index, child in enumerate(kind.fields)
    )
    fields = [target.key_field, target.item_field]
    pairs = pa.StructArray.from_arrays([key, value], fields=fields)
    return pa.Array.from_buffers(
        target, len(array), [_validity(array), offsets.buffers()[1]], children=[pairs]
    )


def _validity(array: Array) -> Any:
    """Return the null bitmap as a buffer that starts at the array's first value."""
    return pc.is_valid(array).buffers()[1] if array.null_count else None


def _offsets_and_bytes(binary: Array) -> tuple[Any, Any]:
    _, offsets, data = binary.buffers()
    starts = np.frombuffer(offsets, np.int64)[binary.offset : binary.offset + len(binary) + 1]
    return starts, np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
