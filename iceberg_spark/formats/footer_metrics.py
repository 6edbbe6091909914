"""Metrics of another writer's Parquet file, from its footer.

Only reliable statistics count: no bounds from INT96, from NaN, from fixed-length bytes (some
writers compared them as signed), or if a row group has none. Source: Java's ParquetMetrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.arrow.promote import leaf_step, storage_type
from iceberg_spark.arrow.values import from_array
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.metrics import Metrics, lower_bound, upper_bound
from iceberg_spark.formats.metrics_modes import MetricsMode
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import IcebergType
from iceberg_spark.spec.values import is_nan, total_order

_JAVA_WRITER = re.compile(r"parquet-mr version 1\.1[67]\.")
"""The writers of PySpark 4.1 to 4.3."""


def single_leaves(fields: tuple[FileField, ...]) -> dict[int, FileField]:
    """Return the primitive columns outside lists and maps, by id: they have one value per row."""
    leaves: dict[int, FileField] = {}
    for field in fields:
        number = known_id(field)
        if pt.is_struct(field.kind):
            leaves |= single_leaves(field.children)
        elif not field.children and number is not None:
            leaves[number] = field
    return leaves


def known_id(field: FileField) -> int | None:
    """Return a field's id: its own, else that of the name mapping."""
    return field.mapped_id if field.own_id is None else field.own_id


def footer_metrics(
    footer: pq.FileMetaData,
    fields: tuple[FileField, ...],
    schema: Schema,
    modes: Mapping[int, MetricsMode],
) -> Metrics:
    """Return the metrics of the file columns that the table has."""
    leaves = {
        field_id: leaf
        for field_id, leaf in single_leaves(fields).items()
        if schema.get(field_id) is not None and modes[field_id].has_counts
    }
    values, nulls = {}, {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for field_id, leaf in leaves.items():
        chunks = chunks_of(footer, leaf)
        values[field_id] = sum(chunk.num_values for chunk in chunks)
        missing = null_count(chunks)
        if missing is not None:
            nulls[field_id] = missing
        kind = schema.find_type(field_id)
        ends = extremes(chunks, leaf, kind) if modes[field_id].has_bounds else None
        if ends is not None:
            width = modes[field_id].width
            lower[field_id] = lower_bound(kind, ends[0], width)
            high = upper_bound(kind, ends[1], width)
            if high is not None:
                upper[field_id] = high
    sizes = _column_sizes(footer, fields, modes)
    return Metrics(footer.num_rows, sizes, values, nulls, {}, lower, upper)


def chunks_of(footer: pq.FileMetaData, leaf: FileField) -> list[Any]:
    """Return a column's chunks, one for each row group."""
    return [
        footer.row_group(group).column(leaf.leaves[0]) for group in range(footer.num_row_groups)
    ]


def null_count(chunks: Sequence[Any]) -> int | None:
    """Return the nulls of a column, None if a row group does not have their number."""
    statistics = [chunk.statistics for chunk in chunks]
    if not all(statistic is not None and statistic.has_null_count for statistic in statistics):
        return None
    return sum(int(statistic.null_count) for statistic in statistics)


def extremes(chunks: Sequence[Any], leaf: FileField, kind: IcebergType) -> tuple[Any, Any] | None:
    """Return the least and greatest canonical value of a column, None if they are unknown."""
    raw: list[Any] = []
    for chunk in chunks:
        statistics = chunk.statistics
        if statistics is not None and statistics.has_min_max:
            raw += [statistics.min_raw, statistics.max_raw]
        elif statistics is None or statistics.null_count != chunk.num_values:
            return None
    if not raw or any(chunk.physical_type == "INT96" for chunk in chunks):
        return None
    values = _canonical(raw, storage_type(leaf.kind), kind)
    if values is None or any(map(is_nan, values)):
        return None
    low, high = min(values), max(values)
    # A writer may store either zero: -0.0 and 0.0 are bounds that hold for both.
    if isinstance(low, float):
        return (-0.0 if low == 0 else low), (0.0 if high == 0 else high)
    return low, high


def float_extremes(
    footer: pq.FileMetaData, chunks: Sequence[Any]
) -> tuple[float, float] | tuple[()] | None:
    """Return the least and greatest value of a float column that provably has no NaN.

    An empty tuple if all values are null; None if the footer can't prove it. Parquet's Java writer
    compares by `Double.compare`: NaN is the largest and -0.0 is below 0.0, so a NaN appears as the
    maximum (or both bounds are missing). Later versions ignore NaN, so only versions known to
    do that are trusted.
    """
    if _JAVA_WRITER.match(footer.created_by or "") is None:
        return None
    values: list[float] = []
    for chunk in chunks:
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        if statistics.has_min_max:
            values += [statistics.min_raw, statistics.max_raw]
        elif statistics.null_count != chunk.num_values:
            return None
    if any(map(is_nan, values)):
        return None
    if not values:
        return ()
    return min(values, key=total_order), max(values, key=total_order)


def _canonical(raw: list[Any], stored: pa.DataType, kind: IcebergType) -> list[Any] | None:
    """Return raw statistics as canonical values of the table's type, None for an unsafe order."""
    try:
        array = _array(raw, stored)
        if array is None:
            return None
        step = leaf_step(stored, kind, "", "")
        return from_array(kind, array if step is None else step(array))
    except (pa.ArrowInvalid, CorruptFileError, UnicodeDecodeError):
        return None  # text cut inside a character, a time out of the range of the table's unit


def _array(raw: list[Any], stored: pa.DataType) -> pa.Array | None:
    if pt.is_decimal(stored):
        unscaled = [v if isinstance(v, int) else int.from_bytes(v, "big", signed=True) for v in raw]
        return pa.array([Decimal(f"{value}E-{stored.scale}") for value in unscaled], stored)
    if pt.is_temporal(stored):
        return pa.array(raw, pa.int32() if stored.bit_width == 32 else pa.int64()).cast(stored)
    if pt.is_boolean(stored) or pt.is_signed_integer(stored) or pt.is_floating(stored):
        return pa.array(raw, stored)
    if pt.is_string(stored) or pt.is_large_string(stored) or pt.is_binary(stored):
        return pa.array(raw, pa.binary()).cast(stored)
    return None


def _column_sizes(
    footer: pq.FileMetaData, fields: tuple[FileField, ...], modes: Mapping[int, MetricsMode]
) -> dict[int, int]:
    sizes = {}
    for field_id, leaf in _all_leaves(fields):
        if field_id in modes and modes[field_id].has_counts:
            sizes[field_id] = sum(c.total_compressed_size for c in chunks_of(footer, leaf))
    return sizes


def _all_leaves(fields: tuple[FileField, ...]) -> Iterator[tuple[int, FileField]]:
    for field in fields:
        number = known_id(field)
        if field.children:
            yield from _all_leaves(field.children)
        elif number is not None:
            yield number, field
