"""A data file's metrics, collected from its batches while it is written.

Source: specification, "Field-level Metrics and Statistics"; Java's ParquetMetrics, OrcMetrics
and AvroMetrics for what each format's files carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.floats import extremes
from iceberg_spark.arrow.values import from_array
from iceberg_spark.formats.geo_bounds import BoundingBox
from iceberg_spark.formats.metrics_modes import MetricsMode
from iceberg_spark.formats.truncate_bounds import lower_bound, upper_bound
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
    StructType,
    UnknownType,
    UUIDType,
    VariantType,
)
from iceberg_spark.spec.values import total_order

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
        pair = _pair(min_max, array.type)
        if column.extremes is not None:
            both = pa.concat_arrays([column.extremes, pair])
            pair = _pair(pc.min_max(both), array.type)
        column.extremes = pair


def _pair(min_max: pa.StructScalar, kind: pa.DataType) -> pa.Array:
    return pa.array([min_max["min"], min_max["max"]], kind)


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
