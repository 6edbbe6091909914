"""Bounding boxes of geometries in WKB, as bounds of files (specification, "Bounds for Geometry").

Points are read as columns; other geometries one by one, up to a number of bytes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.formats.limits import WRITING

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
