"""Canonical values (`spec.values`) to and from Arrow, and bounds as typed columns."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import validity
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.spec import types as t
from iceberg_spark.spec.values import from_bytes

_INT_LIKE = (
    t.DateType,
    t.TimeType,
    t.TimestampType,
    t.TimestamptzType,
    t.TimestampNanoType,
    t.TimestamptzNanoType,
)
_WIDE: Mapping[type, tuple[str, int, str | None]] = {
    # type: numpy type of its bounds, width in bytes, numpy type of a bound written before promotion
    t.IntegerType: ("<i4", 4, None),
    t.DateType: ("<i4", 4, None),
    t.LongType: ("<i8", 8, "<i4"),
    t.TimeType: ("<i8", 8, None),
    t.TimestampType: ("<i8", 8, None),
    t.TimestamptzType: ("<i8", 8, None),
    t.TimestampNanoType: ("<i8", 8, None),
    t.TimestamptzNanoType: ("<i8", 8, None),
    t.FloatType: ("<f4", 4, None),
    t.DoubleType: ("<f8", 8, "<f4"),
}

_DECIMAL_BYTES = 16


def to_scalar(kind: t.IcebergType, value: Any) -> pa.Scalar:
    """Return a canonical value (None too) as an Arrow scalar of `to_arrow_type(kind)`."""
    return pa.scalar(_plain(kind, value), to_arrow_type(kind))


def to_array(kind: t.IcebergType, values: Iterable[Any]) -> pa.Array:
    """Return canonical values as an Arrow array; meant for few values, e.g. partitions."""
    return pa.array([_plain(kind, value) for value in values], to_arrow_type(kind))


def _plain(kind: t.IcebergType, value: Any) -> Any:
    match value:
        case uuid.UUID():
            return value.bytes
        case dict() if isinstance(kind, t.StructType):
            return {f.name: _plain(f.field_type, value.get(f.name)) for f in kind.fields}
        case list() | tuple() if isinstance(kind, t.ListType):
            return [_plain(kind.element_type, item) for item in value]
        case dict() if isinstance(kind, t.MapType):
            pairs = value.items()
            return [(_plain(kind.key_type, k), _plain(kind.value_type, v)) for k, v in pairs]
        case _:
            return value


def from_array(kind: t.IcebergType, array: pa.Array) -> list[Any]:
    """Return an array of a primitive type as canonical values, None for null."""
    match kind:
        case t.DateType():
            return list(array.cast(pa.int32()).to_pylist())
        case _ if isinstance(kind, _INT_LIKE):
            return list(array.cast(pa.int64()).to_pylist())
        case t.UUIDType():
            return [None if v is None else uuid.UUID(bytes=v) for v in array.to_pylist()]
        case _:
            return list(array.to_pylist())


def bounds_array(kind: t.IcebergType, bounds: pa.Array, *, keep_nan: bool = False) -> pa.Array:
    """Return a binary array of bounds (single-value binary) as a typed array.

    Bounds written before a promotion have 4 bytes for a long or double; NaN bounds become
    null, they bound nothing, unless they are kept to be shown. Source: specification, "Schema
    Evolution" and "Bound serialization".
    """
    if isinstance(kind, t.DecimalType):
        return _decimals(kind, bounds)
    wide = _WIDE.get(type(kind))
    target = to_arrow_type(kind)
    if wide is None:
        return _slow_bounds(kind, bounds)
    dtype, width, narrow = wide
    lengths = pc.binary_length(bounds)
    sizes = set(pc.unique(pc.drop_null(lengths)).to_pylist())
    if not sizes <= {width, *((4,) if narrow else ())}:
        return _slow_bounds(kind, bounds)
    values = _numbers(bounds, lengths, width, dtype)
    if narrow and 4 in sizes:
        short = _numbers(bounds, lengths, 4, narrow)
        values = np.where(pc.fill_null(pc.equal(lengths, 4), fill_value=False), short, values)
    missing = bounds.is_null().to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f" and not keep_nan:
        missing = missing | np.isnan(values)
    made = pa.array(values.astype(dtype), mask=missing)
    return made if made.type == target else made.cast(target)


def _numbers(bounds: pa.Array, lengths: pa.Array, width: int, dtype: str) -> Any:
    """Return the bounds of one width as numbers, 0 in place of the others."""
    other = pa.scalar(bytes(width), pa.binary())
    same = pc.fill_null(pc.equal(lengths, width), fill_value=False)
    fixed = pc.if_else(same, bounds.cast(pa.binary()), other).cast(pa.binary(width))
    return np.frombuffer(fixed.buffers()[1], dtype)[fixed.offset : fixed.offset + len(fixed)]


def _decimals(kind: t.DecimalType, bounds: pa.Array) -> pa.Array:
    """Return unscaled big-endian two's complement numbers of any width up to 16 bytes."""
    lengths = pc.binary_length(bounds)
    sizes = pc.unique(pc.drop_null(lengths)).to_pylist()
    if not all(0 < size <= _DECIMAL_BYTES for size in sizes):
        return _slow_bounds(kind, bounds)
    wide = np.zeros((len(bounds), _DECIMAL_BYTES), np.uint8)
    for size in sizes:
        rows = pc.fill_null(pc.equal(lengths, size), fill_value=False)
        plain = bounds.filter(rows).cast(pa.binary()).cast(pa.binary(size))
        digits = np.frombuffer(plain.buffers()[1], np.uint8).reshape(-1, size)[: len(plain)]
        signed = np.where(digits[:, :1] & 0x80, np.uint8(0xFF), np.uint8(0))
        big = np.concatenate([np.repeat(signed, _DECIMAL_BYTES - size, axis=1), digits], axis=1)
        wide[rows.to_numpy(zero_copy_only=False)] = big[:, ::-1]
    buffers = [validity(bounds), pa.py_buffer(wide.tobytes())]
    return pa.Array.from_buffers(to_arrow_type(kind), len(bounds), buffers)


def _slow_bounds(kind: t.IcebergType, bounds: pa.Array) -> pa.Array:
    """Decode each distinct bound once; strings and bytes are only re-labelled."""
    match kind:
        case t.StringType():
            return bounds.cast(pa.string())
        case t.BinaryType():
            return bounds.cast(pa.binary())
        case t.FixedType() | t.UUIDType():
            return bounds.cast(to_arrow_type(kind))
        case _:
            encoded = bounds.dictionary_encode()
            decoded = [
                None if data is None else from_bytes(kind, data)
                for data in encoded.dictionary.to_pylist()
            ]
            return to_array(kind, decoded).take(encoded.indices)
