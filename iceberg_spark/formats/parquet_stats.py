"""Footer statistics of row groups as a statistics table, to skip row groups by a filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.arrow.promote import leaf_step, storage_type
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.expr import stats
from iceberg_spark.expr.may_match import may_match
from iceberg_spark.expr.nodes import Bound


def may_match_groups(
    metadata: pq.FileMetaData,
    groups: Sequence[int],
    fields: tuple[FileField, ...],
    bound: Bound,
    where: str,
) -> list[bool]:
    """Return for each row group whether it may contain a matching row.

    Missing statistics, and those that can't be compared safely, are unknown.
    """
    leaves = _single_leaves(fields)
    columns: dict[str, pa.Array] = {"": pa.array(groups, pa.int32())}
    for statistic in stats.needed(bound):
        name = stats.column(statistic.kind, statistic.field_id)
        leaf = leaves.get(statistic.field_id)
        kind = to_arrow_type(statistic.field_type)
        if leaf is None:
            columns[name] = pa.nulls(len(groups), kind)
            continue
        chunks = [metadata.row_group(group).column(leaf.leaves[0]) for group in groups]
        columns[name] = _column(chunks, leaf, statistic, where)
    mask = stats.evaluate(may_match(bound), pa.table(columns))
    return [bool(keep) for keep in mask.to_pylist()]


def _single_leaves(fields: tuple[FileField, ...]) -> dict[int, FileField]:
    """Return the primitive columns outside lists and maps, by id: they have one value per row."""
    leaves: dict[int, FileField] = {}
    for field in fields:
        number = field.own_id if field.own_id is not None else field.mapped_id
        if pt.is_struct(field.kind):
            leaves |= _single_leaves(field.children)
        elif not field.children and number is not None:
            leaves[number] = field
    return leaves


def _column(
    chunks: Sequence[pq.ColumnChunkMetaData],
    leaf: FileField,
    statistic: stats.Statistic,
    where: str,
) -> pa.Array:
    match statistic.kind:
        case stats.Kind.VALUE_COUNT:
            return pa.array([chunk.num_values for chunk in chunks], pa.int64())
        case stats.Kind.NULL_COUNT:
            return pa.array([_null_count(chunk) for chunk in chunks], pa.int64())
        case stats.Kind.NAN_COUNT:
            return pa.nulls(len(chunks), pa.int64())
        case stats.Kind.LOWER | stats.Kind.UPPER:
            return _bounds(chunks, leaf, statistic, where)


def _null_count(chunk: pq.ColumnChunkMetaData) -> int | None:
    statistics = chunk.statistics
    return statistics.null_count if statistics and statistics.has_null_count else None


def _bounds(
    chunks: Sequence[pq.ColumnChunkMetaData],
    leaf: FileField,
    statistic: stats.Statistic,
    where: str,
) -> pa.Array:
    """Return one bound per row group in the table's type, null if it is unknown."""
    target = to_arrow_type(statistic.field_type)
    kind = storage_type(leaf.kind)
    decode = _decoder(kind)
    if decode is None:
        return pa.nulls(len(chunks), target)
    lower = statistic.kind is stats.Kind.LOWER
    values = [_bound(chunk, decode, lower=lower) for chunk in chunks]
    try:
        bounds = pa.array(values, _stored(kind)).cast(kind)
        step = leaf_step(kind, statistic.field_type, "", where)
        bounds = bounds if step is None else step(bounds)
    except (pa.ArrowInvalid, CorruptFileError):  # e.g. text cut inside a character
        return pa.nulls(len(chunks), target)
    if pt.is_floating(target):  # a NaN bounds nothing
        return pc.if_else(pc.is_nan(bounds), pa.scalar(None, target), bounds)
    return bounds


def _bound(chunk: pq.ColumnChunkMetaData, decode: Callable[[Any], Any], *, lower: bool) -> Any:
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        return None
    return decode(statistics.min_raw if lower else statistics.max_raw)


def _decimal(raw: int | bytes, scale: int) -> Decimal:
    unscaled = raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
    return Decimal(f"{unscaled}E-{scale}")


def _same(value: Any) -> Any:
    return value


def _decoder(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return the reader of raw bounds of a file's type; None for types without a safe order.

    Some writers compare UUIDs and fixed as signed bytes; unsigned numbers are stored as signed.
    """
    if pt.is_decimal(kind):
        return lambda raw: _decimal(raw, kind.scale)
    if pt.is_boolean(kind) or pt.is_signed_integer(kind) or pt.is_floating(kind):
        return _same
    if pt.is_temporal(kind):
        return _same
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return _same
    return None


def _stored(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type of raw bounds of a file's type."""
    if pt.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return pa.binary()
    return kind
