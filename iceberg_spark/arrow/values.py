"""Canonical values (`spec.values`) to and from Arrow, and bounds as typed columns."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import validity
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.errors import CorruptFileError, UnsupportedError
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


class Side(Enum):
    """The use of bounds, which decides whether an incomplete one is still useful."""

    LOWER = auto()
    UPPER = auto()
    SHOWN = auto()  # to a person: NaN stays, text that is not UTF-8 gets replacement characters


def bounds_array(kind: t.IcebergType, bounds: pa.Array, side: Side) -> pa.Array:
    """Return a binary array of bounds (single-value binary) as a typed array.

    Bounds written before a promotion have 4 bytes for a long or double. A bound is a hint: one
    that is not a value of its type, or is NaN, becomes null, which is unknown. Some writers cut
    within a character: the part before it is still a lower bound, and no upper bound. Source:
    specification, "Schema Evolution" and "Bound serialization".
    """
    if isinstance(kind, t.DecimalType):
        return _decimals(kind, bounds)
    wide = _WIDE.get(type(kind))
    target = to_arrow_type(kind)
    if wide is None:
        return _byte_bounds(kind, bounds, side)
    dtype, width, narrow = wide
    lengths = pc.binary_length(bounds)
    sizes = set(pc.unique(pc.drop_null(lengths)).to_pylist())
    if not sizes <= {width, *((4,) if narrow else ())}:
        return _each_bound(kind, bounds)
    values = _numbers(bounds, lengths, width, dtype)
    if narrow and 4 in sizes:
        short = _numbers(bounds, lengths, 4, narrow)
        values = np.where(pc.fill_null(pc.equal(lengths, 4), fill_value=False), short, values)
    missing = bounds.is_null().to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f" and side is not Side.SHOWN:
        missing = missing | np.isnan(values)
    typed = pa.array(values.astype(dtype), mask=missing)
    return typed if typed.type == target else typed.cast(target)


def _numbers(bounds: pa.Array, lengths: pa.Array, width: int, dtype: str) -> Any:
    """Return the bounds of one width as numbers, 0 for the others."""
    other = pa.scalar(bytes(width), pa.binary())
    same = pc.fill_null(pc.equal(lengths, width), fill_value=False)
    fixed = pc.if_else(same, bounds.cast(pa.binary()), other).cast(pa.binary(width))
    return np.frombuffer(fixed.buffers()[1], dtype)[fixed.offset : fixed.offset + len(fixed)]


def _decimals(kind: t.DecimalType, bounds: pa.Array) -> pa.Array:
    """Return unscaled big-endian two's complement numbers of any width up to 16 bytes."""
    lengths = pc.binary_length(bounds)
    sizes = pc.unique(pc.drop_null(lengths)).to_pylist()
    if not all(0 < size <= _DECIMAL_BYTES for size in sizes):
        return _each_bound(kind, bounds)
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


def _byte_bounds(kind: t.IcebergType, bounds: pa.Array, side: Side) -> pa.Array:
    """Return bounds of text and bytes; they get their type only if all are complete."""
    match kind:
        case t.StringType():
            try:
                return bounds.cast(pa.string())
            except pa.ArrowInvalid:
                return _each_text(bounds, side)
        case t.BinaryType():
            return bounds.cast(pa.binary())
        case t.FixedType(length=length):
            return _fixed_bounds(bounds, length, side)
        case t.UUIDType():
            right = pc.equal(pc.binary_length(bounds), 16)
            return pc.if_else(right, bounds, None).cast(to_arrow_type(kind))
        case _:
            return _each_bound(kind, bounds)


def _fixed_bounds(bounds: pa.Array, length: int, side: Side) -> pa.Array:
    """Return bounds of `fixed`, which writers cut: filled up so that they still are bounds."""
    lengths = pc.binary_length(bounds)
    bounds = pc.if_else(pc.greater(lengths, length), None, bounds)
    if pc.any(pc.less(lengths, length)).as_py():
        fill = b"\xff" if side is Side.UPPER else b"\x00"
        filled = [v if v is None else v.ljust(length, fill) for v in bounds.to_pylist()]
        bounds = pa.array(filled, pa.binary())
    return bounds.cast(pa.binary(length))


def _each_text(bounds: pa.Array, side: Side) -> pa.Array:
    """Return bounds of text of which some are not UTF-8, by each distinct value."""
    encoded = bounds.dictionary_encode()
    texts = [None if v is None else _text(v, side) for v in encoded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(encoded.indices)


def _text(bound: bytes, side: Side) -> str | None:
    try:
        return bound.decode()
    except UnicodeDecodeError as error:
        if side is Side.SHOWN:
            return bound.decode(errors="replace")
        # Bytes before the cut: b"M\xc3" of "Mü" leaves "M", which is less than all that begin so.
        is_cut_at_end = error.reason == "unexpected end of data"
        return bound[: error.start].decode() if side is Side.LOWER and is_cut_at_end else None


def _each_bound(kind: t.IcebergType, bounds: pa.Array) -> pa.Array:
    """Decode each distinct bound once; one that is not a value of the type is unknown."""
    encoded = bounds.dictionary_encode()
    typed = [_value(kind, bound) for bound in encoded.dictionary.to_pylist()]
    return pa.array(typed, to_arrow_type(kind)).take(encoded.indices)


def _value(kind: t.IcebergType, bound: bytes | None) -> Any:
    if bound is None:
        return None
    try:
        value = to_scalar(kind, from_bytes(kind, bound)).as_py()
    except (CorruptFileError, UnsupportedError, pa.ArrowInvalid):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value
