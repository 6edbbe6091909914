"""Entries of Parquet files that Spark's own writer created for one write.

Counts, sizes and most bounds come from the footer. What a footer lacks (counts of NaN where there
may be any, bounds that were too long for it) is computed from the columns concerned, so that the
metrics equal those of the Arrow writer. The partition is computed from values in the file, never
from its path.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.file_fields import FileField, file_fields
from iceberg_spark.errors import CorruptFileError, IcebergError, UnsupportedError
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.footer_metrics import (
    chunks_of,
    float_extremes,
    footer_metrics,
    null_count,
    single_leaves,
)
from iceberg_spark.formats.metrics import Metrics, MetricsCollector
from iceberg_spark.formats.metrics_modes import COUNTS, MetricsMode, metrics_modes
from iceberg_spark.formats.parquet_reader import ParquetReader, open_parquet
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, FileFormat
from iceberg_spark.spec.partition import PartitionField
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import VoidTransform
from iceberg_spark.spec.types import (
    DoubleType,
    FloatType,
    IcebergType,
    NestedField,
    StructType,
)
from iceberg_spark.spec.values import to_bytes
from iceberg_spark.write.align_columns import null_error
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.footer_partition import values_of_extremes
from iceberg_spark.write.limits import ROWS
from iceberg_spark.write.open_file import parquet_entry
from iceberg_spark.write.partitioned import group_rows

_FLOATS = (FloatType, DoubleType)
Describe = Callable[[str, int], DataFile | None]
"""From a file's location and its size in bytes to its entry; None for a file without rows."""
_IdPath = tuple[int | None, ...]


class NotInFooterError(IcebergError):
    """A file's metrics require reading its columns, which this describer doesn't do."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The values that all files of a write share, computed once: there may be thousands."""

    context: WriteContext
    reads_columns: bool
    modes: Mapping[int, MetricsMode]
    floats: frozenset[int]
    kinds: tuple[IcebergType, ...]  # of the partition fields
    required: frozenset[int]  # columns at the top


def describer(context: WriteContext, io: FileIO, *, reads_columns: bool = True) -> Describe:
    """Return the function that describes the files of a write, one by one.

    It raises InvalidInputError for a null in a required column, UnsupportedError for a file
    that was written under a changed session setting (INT96, no field ids), CorruptFileError;
    NotInFooterError if it would have to read columns and `reads_columns` is False.
    """
    shape = _shape(context, reads_columns)
    last: list[tuple[pa.Schema, tuple[FileField, ...]]] = []

    def fields_of(schema: pa.Schema) -> tuple[FileField, ...]:
        """Return a file's columns; normally all files of a write have the same."""
        for last_schema, fields in last[:1]:
            if last_schema.equals(schema, check_metadata=True):
                return fields
        columns = file_fields(schema)
        last[:] = [(schema, columns)]
        return columns

    return lambda path, size: _describe(io, path, size, shape, fields_of)


def _shape(context: WriteContext, reads_columns: bool) -> _Shape:
    schema = context.schema
    modes = metrics_modes(schema, context.properties)
    floats = frozenset(
        field_id
        for field_id in schema.field_ids
        if isinstance(schema.find_type(field_id), _FLOATS) and modes[field_id].has_counts
    )
    kinds = tuple(child.field_type for child in partition_type(context.spec, schema).fields)
    required = frozenset(field.field_id for field in schema.fields if field.required)
    return _Shape(context, reads_columns, modes, floats, kinds, required)


def _describe(
    io: FileIO,
    path: str,
    size: int,
    shape: _Shape,
    fields_of: Callable[[pa.Schema], tuple[FileField, ...]],
) -> DataFile | None:
    reader = open_parquet(io, path)
    try:
        footer = reader.file.metadata
        fields = fields_of(reader.schema)
        _check(path, footer, fields, shape.context.schema)
        if not footer.num_rows:
            return None
        with decoding(path):
            metrics = _metrics(reader, fields, shape)
        return parquet_entry(
            metrics,
            footer,
            shape.context.spec,
            file_path=path,
            file_size_in_bytes=size,
            partition=_partition(reader, fields, shape),
            partition_spec_id=shape.context.spec.spec_id,
            sort_order_id=shape.context.sort_order_id,
        )
    finally:
        reader.close()


def _check(path: str, footer: Any, fields: tuple[FileField, ...], schema: Schema) -> None:
    """Refuse files that Iceberg's readers would misread."""
    columns = footer.schema
    kinds = [columns.column(index).physical_type for index in range(footer.num_columns)]
    if "INT96" in kinds:
        raise UnsupportedError(
            f"{path} was written with INT96 timestamps: another thread changed the session's "
            "spark.sql.parquet.outputTimestampType while the write ran; write again"
        )
    if set(_id_paths(fields)) != {
        tuple(schema.path_ids(field_id)) for field_id in schema.field_ids
    }:
        raise UnsupportedError(
            f"{path} lacks the field ids of the table's columns: another thread changed the "
            "session's spark.sql.parquet.fieldId.write.enabled while the write ran; write again"
        )


def _id_paths(fields: tuple[FileField, ...], above: _IdPath = ()) -> Iterator[_IdPath]:
    """Yield the ids from a column down to each field: a struct without its id reads as NULL."""
    for field in fields:
        path = (*above, field.own_id)
        yield path
        yield from _id_paths(field.children, path)


@dataclass(frozen=True, slots=True)
class _FooterFacts:
    """Facts of a footer: metrics, nulls, extremes of floats; columns `again` must be read."""

    metrics: Metrics
    nulls: dict[int, int | None]
    floats: Mapping[int, tuple[float, ...]]
    again: frozenset[int]


def _footer_facts(
    reader: ParquetReader, fields: tuple[FileField, ...], shape: _Shape
) -> _FooterFacts:
    footer, schema, modes = reader.file.metadata, shape.context.schema, shape.modes
    metrics = footer_metrics(footer, fields, schema, modes)
    leaves = single_leaves(fields)
    nulls = {leaf_id: null_count(chunks_of(footer, leaf)) for leaf_id, leaf in leaves.items()}
    floats = _proved_floats(footer, leaves, shape)
    again = set(shape.floats - floats.keys())
    for field_id, count in nulls.items():
        mode, bounded = modes[field_id], field_id in (metrics.lower_bounds or {})
        lacks_bounds = mode.has_bounds and not bounded and count != footer.num_rows
        if lacks_bounds or (count is None and (mode.has_counts or field_id in shape.required)):
            again.add(field_id)
    return _FooterFacts(metrics, nulls, floats, frozenset(again))


def _metrics(reader: ParquetReader, fields: tuple[FileField, ...], shape: _Shape) -> Metrics:
    """Return the footer's metrics, completed from the columns where it lacks some."""
    schema, modes = shape.context.schema, shape.modes
    footer_facts = _footer_facts(reader, fields, shape)
    metrics, again = footer_facts.metrics, footer_facts.again
    if again and not shape.reads_columns:
        raise NotInFooterError(f"The footer of {reader.path} lacks metrics of columns {set(again)}")
    seen = _read_back(reader, fields, shape, again) if again else Metrics(0)
    nulls = footer_facts.nulls | dict(seen.null_value_counts or {})
    for field_id in shape.required:
        if nulls.get(field_id):
            raise null_error(schema.find_field(field_id).name)
    pairs = {
        column_id: pair
        for column_id, pair in footer_facts.floats.items()
        if pair and modes[column_id].has_bounds
    }
    low, high = (_float_bounds(schema, pairs, end) for end in (0, 1))
    return replace(
        metrics,
        null_value_counts={
            column_id: nulls[column_id] or 0 for column_id in nulls if modes[column_id].has_counts
        },
        nan_value_counts=dict.fromkeys(footer_facts.floats, 0) | dict(seen.nan_value_counts or {}),
        lower_bounds=_replaced(metrics.lower_bounds, seen.lower_bounds, again) | low,
        upper_bounds=_replaced(metrics.upper_bounds, seen.upper_bounds, again) | high,
    )


def _proved_floats(
    footer: Any, leaves: Mapping[int, FileField], shape: _Shape
) -> dict[int, tuple[float, ...]]:
    """Return the extremes of the float columns that provably have no NaN."""
    extremes = {
        field_id: float_extremes(footer, chunks_of(footer, leaves[field_id]))
        for field_id in shape.floats
    }
    return {field_id: pair for field_id, pair in extremes.items() if pair is not None}


def _float_bounds(
    schema: Schema, extremes: Mapping[int, tuple[float, ...]], end: int
) -> dict[int, bytes]:
    return {
        field_id: to_bytes(schema.find_type(field_id), pair[end])
        for field_id, pair in extremes.items()
    }


def _replaced(
    first: Mapping[int, bytes] | None, second: Mapping[int, bytes] | None, ids: Iterable[int]
) -> dict[int, bytes]:
    remaining = {key: value for key, value in (first or {}).items() if key not in set(ids)}
    return remaining | dict(second or {})


def _read_back(
    reader: ParquetReader, fields: tuple[FileField, ...], shape: _Shape, ids: Collection[int]
) -> Metrics:
    schema = shape.context.schema
    modes = {
        field_id: mode if mode.has_counts else COUNTS for field_id, mode in shape.modes.items()
    }
    part = Schema(*_pruned(schema.fields, ids))
    only_floats = all(isinstance(schema.find_type(field_id), _FLOATS) for field_id in ids)
    leaves = single_leaves(fields)
    collector = MetricsCollector(part, modes, FileFormat.PARQUET)
    what = ReadRequest(
        fields,
        frozenset(leaves[field_id].leaves[0] for field_id in ids),
        batch_rows=ROWS.described_numbers if only_floats else ROWS.described_texts,
        checks_texts=False,  # Spark may write any bytes as text
    )
    for batch in reader.batches(what):
        collector.add(batch.rows)
    return collector.finish()


def _pruned(fields: Iterable[NestedField], ids: Collection[int]) -> list[NestedField]:
    remaining = []
    for field in fields:
        if isinstance(field.field_type, StructType):
            below = _pruned(field.field_type.fields, ids)
            if below:
                remaining.append(replace(field, field_type=StructType(*below)))
        elif field.field_id in ids:
            remaining.append(field)
    return remaining


def _partition(
    reader: ParquetReader, fields: tuple[FileField, ...], shape: _Shape
) -> tuple[Any, ...]:
    """Return the single partition of a file's rows, from the extremes of the source columns.

    All rows share it, so the extremes have it too, whatever the transform; if they are unknown, the
    file's first row is read. Raises CorruptFileError if they differ.
    """
    spec, schema = shape.context.spec, shape.context.schema
    leaves = single_leaves(fields)
    values: list[Any] = []
    for part, kind in zip(spec.fields, shape.kinds, strict=True):
        if isinstance(part.transform, VoidTransform):
            values.append(None)
            continue
        partition_values = _of_extremes(reader, leaves[part.source_id], part, schema, kind)
        if partition_values is None:
            return _of_first_row(reader, fields, shape)
        if len(partition_values) != 1:
            raise CorruptFileError(
                f"{reader.path} has rows of several partitions: {part.name} is "
                f"{' and '.join(map(str, partition_values))}"
            )
        values.append(partition_values[0])
    return tuple(values)


def _of_extremes(
    reader: ParquetReader, leaf: FileField, part: PartitionField, schema: Schema, kind: IcebergType
) -> list[Any] | None:
    """Return the distinct partition values of a column's extremes, None if unknown."""
    footer, source = reader.file.metadata, schema.find_type(part.source_id)
    partition_values = values_of_extremes(footer, leaf, part, source, kind, is_one_partition=True)
    if isinstance(source, _FLOATS) and partition_values != [None]:
        return None  # NaN is not among the extremes
    return partition_values


def _of_first_row(
    reader: ParquetReader, fields: tuple[FileField, ...], shape: _Shape
) -> tuple[Any, ...]:
    spec, schema = shape.context.spec, shape.context.schema
    ids = {part.source_id for part in spec.fields if schema.get(part.source_id) is not None}
    part = Schema(*_pruned(schema.fields, ids))
    leaves = single_leaves(fields)
    what = ReadRequest(
        fields,
        frozenset(leaves[field_id].leaves[0] for field_id in ids),
        batch_rows=1,
        checks_texts=False,
    )
    row = next(reader.batches(what)).rows
    return next(iter(group_rows(pa.Table.from_batches([row]), spec, part))).partition
