"""A data file's metrics, collected from its batches while it is written.

Source: specification, "Field-level Metrics and Statistics"; Java's ParquetMetrics, OrcMetrics
and AvroMetrics for what each format's files carry.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import extremes
from iceberg_spark.arrow.values import from_array
from iceberg_spark.formats.limits import WRITING
from iceberg_spark.formats.metrics_modes import MetricsMode
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
    UnknownType,
    UUIDType,
    VariantType,
)
from iceberg_spark.spec.values import to_bytes, total_order

_FLOATS = (FloatType, DoubleType)
_NO_ORC_BOUNDS = (BinaryType, FixedType, UUIDType)  # ORC keeps no extremes of bytes


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts and bounds keyed by field id; None where the format keeps none."""

    record_count: int
    column_sizes: Mapping[int, int] | None = None
    value_counts: Mapping[int, int] | None = None
    null_value_counts: Mapping[int, int] | None = None
    nan_value_counts: Mapping[int, int] | None = None
    lower_bounds: Mapping[int, bytes] | None = None
    upper_bounds: Mapping[int, bytes] | None = None


@dataclass(slots=True)
class _Column:
    """The state of one column's metrics; `path` are child positions from the top."""

    field_id: int
    kind: IcebergType
    path: tuple[int, ...]
    mode: MetricsMode
    has_bounds: bool
    nulls: int = 0
    nans: int = 0
    extremes: pa.Array | None = None  # [least, greatest]
    floats: list[float] = field(default_factory=list)  # extremes of floats, signs of zeros kept
    box: BoundingBox | None = None  # of geometries


class MetricsCollector:
    """Folds batches into the metrics of one file.

    Columns inside lists and maps have none. A value below a null struct counts as null, so that
    every value count is the file's record count.
    """

    __slots__ = ("_columns", "_format", "_rows", "_schema")

    def __init__(
        self, schema: Schema, modes: Mapping[int, MetricsMode], file_format: FileFormat
    ) -> None:
        self._schema = schema
        self._format = file_format
        self._rows = 0
        self._columns: list[_Column] = []
        if file_format is not FileFormat.AVRO:
            fields = schema.as_struct()
            self._columns = [
                column
                for column in _columns(fields, (), modes, file_format)
                if column.mode.has_counts
            ]

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Count a batch with the columns of the schema in its order."""
        self._rows += batch.num_rows
        for column in self._columns:
            for array in _chunks(batch.column(column.path[0])):
                _fold(column, _descend(array, column.path[1:]))

    def finish(self, column_sizes: Mapping[int, int] | None = None) -> Metrics:
        """Return the metrics of all batches; the file itself provides the sizes."""
        if self._format is FileFormat.AVRO:
            return Metrics(self._rows)
        lower: dict[int, bytes] = {}
        upper: dict[int, bytes] = {}
        allow_full = self._format is FileFormat.ORC
        for column in self._columns:
            if column.box is not None and (corners := column.box.bounds()) is not None:
                lower[column.field_id], upper[column.field_id] = corners
            elif column.has_bounds and (ends := _extremes(column)) is not None:
                width = column.mode.width
                lower[column.field_id] = lower_bound(column.kind, ends[0], width)
                high = upper_bound(column.kind, ends[1], width, or_whole=allow_full)
                if high is not None:
                    upper[column.field_id] = high
        return Metrics(
            self._rows,
            column_sizes,
            {column.field_id: self._rows for column in self._columns},
            {column.field_id: column.nulls for column in self._columns},
            {c.field_id: c.nans for c in self._columns if isinstance(c.kind, _FLOATS)},
            lower,
            upper,
        )


def _columns(
    struct: StructType,
    path: tuple[int, ...],
    modes: Mapping[int, MetricsMode],
    file_format: FileFormat,
) -> Iterator[_Column]:
    is_orc = file_format is FileFormat.ORC
    for index, child in enumerate(struct.fields):
        here = (*path, index)
        kind = child.field_type
        nested = isinstance(kind, StructType | ListType | MapType)
        if not isinstance(kind, UnknownType) and (is_orc or not nested):
            yield _column(child, here, modes[child.field_id], nested=nested, is_orc=is_orc)
        if isinstance(kind, StructType):
            yield from _columns(kind, here, modes, file_format)


def _column(
    child: NestedField, path: tuple[int, ...], mode: MetricsMode, *, nested: bool, is_orc: bool
) -> _Column:
    kind = child.field_type
    bounded = mode.has_bounds and not nested and not isinstance(kind, VariantType)
    if is_orc and isinstance(kind, _NO_ORC_BOUNDS):
        bounded = False
    if isinstance(kind, GeometryType | GeographyType):
        box = BoundingBox(isinstance(kind, GeographyType)) if bounded else None
        return _Column(child.field_id, kind, path, mode, has_bounds=False, box=box)
    return _Column(child.field_id, kind, path, mode, bounded)


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _descend(array: pa.Array, path: tuple[int, ...]) -> pa.Array:
    for index in path:
        array = array.flatten()[index]  # with the struct's nulls
    return array


def _fold(column: _Column, array: pa.Array) -> None:
    column.nulls += array.null_count
    if column.box is not None:
        column.box.add(array)
    if isinstance(column.kind, _FLOATS):
        _fold_floats(column, array)
    elif column.has_bounds and array.null_count < len(array):
        min_max = pc.min_max(array)
        pair = _pair(min_max)
        if column.extremes is not None:
            both = pa.concat_arrays([column.extremes, pair])
            pair = _pair(pc.min_max(both))
        column.extremes = pair


def _pair(min_max: pa.StructScalar) -> pa.Array:
    return pa.concat_arrays([pa.repeat(min_max[side], 1) for side in ("min", "max")])


def _fold_floats(column: _Column, array: pa.Array) -> None:
    column.nans += pc.sum(pc.is_nan(array), min_count=0).as_py()
    if not column.has_bounds:
        return
    ends = extremes(array)
    if ends is not None:
        candidates = (*column.floats, *ends)
        column.floats = [min(candidates, key=total_order), max(candidates, key=total_order)]


def _extremes(column: _Column) -> tuple[Any, Any] | None:
    """Return the least and greatest canonical value, None if there is no value.

    Also None for a text that is not UTF-8, which Spark can create from any bytes.
    """
    if column.floats:
        return column.floats[0], column.floats[1]
    if column.extremes is None:
        return None
    try:
        low, high = from_array(column.kind, column.extremes)
    except UnicodeDecodeError:
        return None
    return low, high


# Bounding boxes of geometries in WKB, as bounds of files (specification, "Bounds for Geometry").
#
# Points are read as columns; other geometries one by one, up to a number of bytes.

_POINT, _LINE, _POLYGON, _COLLECTION = 1, 2, 3, 7
_XY, _XYZ, _XYM, _XYZM = range(4)
_AXES = {_XY: (0, 1), _XYZ: (0, 1, 2), _XYM: (0, 1, 3), _XYZM: (0, 1, 2, 3)}
_POINT_BYTES = 21
_LITTLE_POINT = b"\x01\x01\x00\x00\x00"
_DEEPEST = 32


class _NoBoundsError(Exception):
    """The box of a value is unknown."""


@dataclass(slots=True)
class BoundingBox:
    """The least and greatest coordinates of X, Y, Z and M so far; `gone` once they are unknown.

    A geography's box may cross the 180th meridian, and its edges bulge beyond its corners: only
    boxes of points are computed.
    """

    points_only: bool
    low: list[float] = field(default_factory=lambda: [math.inf] * 4)
    high: list[float] = field(default_factory=lambda: [-math.inf] * 4)
    gone: bool = False
    slow_bytes: int = 0

    def add(self, column: pa.Array) -> None:
        """Take in a column of WKB, nulls among them."""
        if self.gone:
            return
        values = column.drop_null()
        plain = pc.and_(
            pc.equal(pc.binary_length(values), _POINT_BYTES),
            pc.starts_with(values, pattern=_LITTLE_POINT),
        )
        self._points(values.filter(plain))
        rest = values.filter(pc.invert(plain))
        self.slow_bytes += pc.sum(pc.binary_length(rest), min_count=0).as_py()
        if self.slow_bytes > WRITING.geometry_bytes:
            self.gone = True
            return
        try:
            for value in rest.to_pylist():
                self._value(value)
        except (_NoBoundsError, struct.error, IndexError):
            self.gone = True

    def bounds(self) -> tuple[bytes, bytes] | None:
        """Return the lower and upper corner as bounds, None where there are none."""
        if self.gone or any(self.low[axis] > self.high[axis] for axis in (0, 1)):
            return None
        return _corner(self.low, self.high, self.low), _corner(self.low, self.high, self.high)

    def _points(self, values: pa.Array) -> None:
        if not len(values):
            return
        fixed = values.cast(pa.binary()).cast(pa.binary(_POINT_BYTES))
        data = np.frombuffer(fixed.buffers()[1], np.uint8)
        data = data[fixed.offset * _POINT_BYTES : (fixed.offset + len(fixed)) * _POINT_BYTES]
        pairs = np.ascontiguousarray(data.reshape(-1, _POINT_BYTES)[:, 5:]).view("<f8")
        for axis in (0, 1):
            numbers = pairs[:, axis][~np.isnan(pairs[:, axis])]
            if len(numbers):
                self._take(axis, float(numbers.min()), float(numbers.max()))

    def _take(self, axis: int, low: float, high: float) -> None:
        self.low[axis] = min(self.low[axis], low)
        self.high[axis] = max(self.high[axis], high)

    def _value(self, data: bytes) -> None:
        for axis, number in _coordinates(data, points_only=self.points_only):
            if not math.isnan(number):
                self._take(axis, number, number)


def _corner(low: list[float], high: list[float], corner: list[float]) -> bytes:
    """Return x:y, with z and m where there are any (specification, "Bound serialization")."""
    has_z, has_m = (low[axis] <= high[axis] for axis in (2, 3))
    if has_m:
        z = corner[2] if has_z else math.nan
        return struct.pack("<4d", corner[0], corner[1], z, corner[3])
    return struct.pack("<3d", *corner[:3]) if has_z else struct.pack("<2d", *corner[:2])


def _coordinates(data: bytes, *, points_only: bool) -> Iterator[tuple[int, float]]:
    """Yield the coordinates of a geometry with their axes."""
    end = yield from _geometry(data, 0, points_only, 0)
    if end != len(data):
        raise _NoBoundsError


def _geometry(
    data: bytes, offset: int, points_only: bool, depth: int
) -> Generator[tuple[int, float], None, int]:
    order = "<" if data[offset] == 1 else ">"
    (code,) = struct.unpack_from(f"{order}I", data, offset + 1)
    offset += 5
    layout, kind = divmod(code, 1000)
    if layout not in _AXES or depth > _DEEPEST or not 1 <= kind <= _COLLECTION:
        raise _NoBoundsError
    if points_only and kind not in (_POINT, 4, _COLLECTION):
        raise _NoBoundsError
    axes = _AXES[layout]
    match kind:
        case 1:
            return (yield from _run(data, offset, 1, axes, order))
        case 2:
            count, offset = _count(data, offset, order)
            return (yield from _run(data, offset, count, axes, order))
        case 3:
            rings, offset = _count(data, offset, order)
            for _ in range(rings):
                count, offset = _count(data, offset, order)
                offset = yield from _run(data, offset, count, axes, order)
            return offset
        case _:
            parts, offset = _count(data, offset, order)
            for _ in range(parts):
                offset = yield from _geometry(data, offset, points_only, depth + 1)
            return offset


def _count(data: bytes, offset: int, order: str) -> tuple[int, int]:
    (count,) = struct.unpack_from(f"{order}I", data, offset)
    if count > len(data):
        raise _NoBoundsError
    return count, offset + 4


def _run(
    data: bytes, offset: int, count: int, axes: tuple[int, ...], order: str
) -> Generator[tuple[int, float], None, int]:
    numbers = struct.unpack_from(f"{order}{count * len(axes)}d", data, offset)
    for index, number in enumerate(numbers):
        yield axes[index % len(axes)], number
    return offset + 8 * len(numbers)


# Bounds cut to a width: the lower one down, the upper one up.
#
# Source: Java's UnicodeUtil and BinaryUtil; specification, "Field-level Metrics and Statistics".

_LAST_CODE_POINT = 0x10FFFF
_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000
_LAST_BYTE = 0xFF


def lower_bound(kind: IcebergType, value: Any, width: int | None) -> bytes:
    """Return a bound at or below a canonical value, text and bytes cut to `width`."""
    if width is not None and isinstance(kind, StringType | BinaryType):
        value = value[:width]
    return to_bytes(kind, value)


def upper_bound(
    kind: IcebergType, value: Any, width: int | None, *, or_whole: bool = False
) -> bytes | None:
    """Return a bound at or above a canonical value.

    Text and bytes that are cut have their last code point or byte increased that can be. Where
    none can be, the bound is the whole value (`or_whole`) or None: left out.
    """
    if width is None or not isinstance(kind, StringType | BinaryType) or len(value) <= width:
        return to_bytes(kind, value)
    is_text = isinstance(kind, StringType)
    raised = _next_text(value[:width]) if is_text else _next_bytes(value[:width])
    if raised is None:
        return to_bytes(kind, value) if or_whole else None
    return to_bytes(kind, raised)


def _next_text(prefix: str) -> str | None:
    for index in range(len(prefix) - 1, -1, -1):
        code_point = ord(prefix[index])
        if code_point < _LAST_CODE_POINT:
            after = _AFTER_SURROGATES if code_point == _BEFORE_SURROGATES else code_point + 1
            return prefix[:index] + chr(after)
    return None


def _next_bytes(prefix: bytes) -> bytes | None:
    for index in range(len(prefix) - 1, -1, -1):
        if prefix[index] < _LAST_BYTE:
            return prefix[:index] + bytes([prefix[index] + 1])
    return None
