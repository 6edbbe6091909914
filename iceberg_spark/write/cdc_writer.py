"""Upserts written without reading the table: the work of one task (Java: BaseTaskWriter's deltas).

Every key of the source gets an equality delete, which reaches the rows of earlier commits; every
insert or update is written as a row. Where a later change of the same key follows in the task,
the earlier row is deleted by its position, since equality deletes never reach the rows of their
own commit (specification, "Scan Planning").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.arrays import struct_of, without_nulls
from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.spec.properties import DELETE_GRANULARITY, text_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType
from iceberg_spark.write.cdc_rows import CdcReader
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.data_file_writer import chunks, overlap, rolling_data_files
from iceberg_spark.write.deletion_vector_writer import (
    DeletedRows,
    write_vectors,
    writes_vectors,
)
from iceberg_spark.write.equality_delete_writer import rolling_equality_deletes
from iceberg_spark.write.inserted_rows import NOT_WRITTEN, InsertedRows, Ints, Longs, Resolved
from iceberg_spark.write.partitioned import Group, Partition, group_rows
from iceberg_spark.write.position_delete_writer import write_positions
from iceberg_spark.write.rolling_files import RollingFiles
from iceberg_spark.write.task_keys import KeyCollector
from iceberg_spark.write.uncommitted_files import remove_written
from iceberg_spark.write.upsert_context import UpsertContext

_POSITION = "place"  # the column that tracks rows through the grouping by partition
_Files = dict[int, list[DataFile]]


@dataclass(frozen=True, slots=True)
class UpsertedFiles:
    """The files that one task of an upsert wrote: data files, and both kinds of delete files."""

    data: tuple[DataFile, ...] = ()
    deletes: tuple[DataFile, ...] = ()

    @property
    def paths(self) -> list[str]:
        """The locations of all files."""
        return [file.file_path for file in (*self.data, *self.deletes)]


def write_upserts(
    context: UpsertContext,
    io: FileIO,
    batches: Iterable[pa.RecordBatch],
    task: TaskId,
    *,
    collector: KeyCollector | None = None,
) -> UpsertedFiles:
    """Write one task's changes; all changes of a key must be in one task.

    Batches are the source's, with its `_op` and order columns (`cdc_rows.CdcReader`). The collector
    receives the hashes of the keys. On any error all written files are deleted. Raises
    InvalidSchemaError, InvalidInputError (values, a tie in the order), StorageError.
    """
    writer = _TaskWriter(context, io, task)
    try:
        overlap(_source_chunks(batches), writer.write)
        return writer.finish(collector)
    except BaseException:
        writer.abort()
        raise


def _source_chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    stream = iter(batches)
    first = next(stream, None)
    if first is None:
        return

    def every() -> Iterator[pa.RecordBatch]:
        yield first
        yield from stream

    yield from chunks(every(), first.schema)


@dataclass(slots=True)
class _Series:
    """The rows of one partition: `number` names it in the inserted-row map."""

    number: int
    partition: Partition
    rows: int = 0
    superseded: list[Longs] = field(default_factory=list)


class _TaskWriter:
    """Writes rows and keeps the inserted-row map; the end resolves it."""

    def __init__(self, context: UpsertContext, io: FileIO, task: TaskId) -> None:
        self._context = context
        self._io = io
        self._task = task
        self._reader: CdcReader | None = None
        self._series: dict[tuple[object, ...], _Series] = {}
        schema = context.write.schema
        kinds = [schema.find_type(key) for key in context.equality_ids]
        self._map = InsertedRows(kinds, len(context.order_by), context.map_bytes)
        self._files: list[RollingFiles] = [rolling_data_files(context.write, io, task)]
        self._written: list[DataFile] = []

    def write(self, chunk: pa.Table) -> None:
        """Write the rows of a chunk and remember their keys and places."""
        batch = chunk.combine_chunks().to_batches()[0]
        if self._reader is None:
            self._reader = CdcReader(self._context, batch.schema)
        changes = self._reader.changes(batch)
        series = np.full(batch.num_rows, NOT_WRITTEN, np.int32)
        ordinals = np.full(batch.num_rows, NOT_WRITTEN, np.int64)
        if changes.rows is not None:
            placed = self._write_rows(changes.rows)
            if changes.written is None:
                series, ordinals = placed
            else:
                series[changes.written], ordinals[changes.written] = placed
        self._map.add(changes.keys, changes.order, series, ordinals)

    def _write_rows(self, rows: pa.RecordBatch) -> tuple[Ints, Longs]:
        """Write rows to the files of their partitions; return the series and number of each."""
        series = np.zeros(rows.num_rows, np.int32)
        ordinals = np.empty(rows.num_rows, np.int64)
        for group, positions in self._groups(pa.Table.from_batches([rows])):
            there = self._series_of(group)
            count = group.rows.num_rows
            numbers = np.arange(there.rows, there.rows + count)
            if positions is None:
                ordinals[:] = numbers
            else:
                series[positions] = there.number
                ordinals[positions] = numbers
            there.rows += count
            self._files[0].write(group.key, group.partition, group.rows)
        return series, ordinals

    def _groups(self, table: pa.Table) -> Iterator[tuple[Group, Longs | None]]:
        """Yield the rows of each partition, and where in the table they were (None: all)."""
        write = self._context.write
        if write.spec.is_unpartitioned:
            yield Group((), (None,) * len(write.spec.fields), table), None
            return
        numbered = table.append_column(_POSITION, pa.array(np.arange(table.num_rows)))
        for group in group_rows(numbered, write.spec, write.schema):
            places = group.rows.column(group.rows.num_columns - 1).to_numpy()
            rows = group.rows.select(range(group.rows.num_columns - 1))
            yield Group(group.key, group.partition, rows), places

    def _series_of(self, group: Group) -> _Series:
        if group.key not in self._series:
            self._series[group.key] = _Series(len(self._series), group.partition)
        return self._series[group.key]

    def finish(self, collector: KeyCollector | None) -> UpsertedFiles:
        """Close the data files, write the deletes, return all files."""
        data = self._files[0].finish()
        equality = self._write_keys(collector)
        position = self._write_superseded(data)
        return UpsertedFiles(data, (*equality, *position))

    def _write_keys(self, collector: KeyCollector | None) -> list[DataFile]:
        """Write every key once per spec; record the superseded rows."""
        context = self._context
        writers = [
            rolling_equality_deletes(
                context.write,
                self._io,
                equality_ids=context.equality_ids,
                spec=spec,
                task=self._task,
            )
            for spec in context.delete_specs
        ]
        self._files.extend(writers)
        by_number = list(self._series.values())
        schema = context.key_schema
        for bucket in self._map.resolve():
            keys = key_table(schema, dict(zip(context.equality_ids, bucket.keys, strict=True)))
            for writer, spec in zip(writers, context.delete_specs, strict=True):
                if spec.is_unpartitioned:
                    writer.write((), (None,) * len(spec.fields), keys)
                    continue
                for group in group_rows(keys, spec, schema):
                    writer.write(group.key, group.partition, group.rows)
            _note_superseded(by_number, bucket)
            if collector is not None:
                collector.add(bucket.hashes)
        return [file for writer in writers for file in writer.finish()]

    def _write_superseded(self, data: Iterable[DataFile]) -> list[DataFile]:
        """Delete superseded rows by position, from their number in the partition."""
        write = self._context.write
        superseded = self._superseded(data)
        if writes_vectors(write):
            self._written += write_vectors(
                write,
                self._io,
                (
                    DeletedRows(path, write.spec.spec_id, series.partition, positions)
                    for series, superseded_positions in superseded
                    for path, positions in superseded_positions
                ),
                specs={write.spec.spec_id: write.spec},
                task=self._task,
            )
            return self._written
        for series, superseded_positions in superseded:
            self._written += write_positions(
                write,
                self._io,
                sorted(superseded_positions, key=lambda item: item[0].encode()),
                spec=write.spec,
                partition=series.partition,
                task=self._task,
                granularity=text_property(write.properties, DELETE_GRANULARITY),
            )
        return self._written

    def _superseded(
        self, data: Iterable[DataFile]
    ) -> Iterator[tuple[_Series, Iterator[tuple[str, PositionSet]]]]:
        """Yield each partition with superseded rows, and their positions by data file."""
        is_unpartitioned = self._context.write.spec.is_unpartitioned
        by_partition: dict[tuple[object, ...], list[DataFile]] = {}
        for file in data:
            by_partition.setdefault(_key_of(is_unpartitioned, file), []).append(file)
        for key, series in self._series.items():
            if series.superseded:
                ordinals = np.sort(np.concatenate(series.superseded))
                yield series, _positions(by_partition[key], ordinals)

    def abort(self) -> None:
        """Delete every created file."""
        for files in self._files:
            files.abort()
        remove_written(self._io, [file.file_path for file in self._written])


def _key_of(is_unpartitioned: bool, file: DataFile) -> tuple[object, ...]:
    return () if is_unpartitioned else partition_key(file.partition)


def _note_superseded(by_number: list[_Series], bucket: Resolved) -> None:
    if not len(bucket.series):
        return
    order = np.argsort(bucket.series, kind="stable")
    numbers, starts = np.unique(bucket.series[order], return_index=True)
    parts = np.split(bucket.ordinals[order], starts[1:])
    for number, part in zip(numbers.tolist(), parts, strict=True):
        by_number[number].superseded.append(part)


def _positions(files: list[DataFile], ordinals: Longs) -> Iterator[tuple[str, PositionSet]]:
    """Yield for each file of a partition, in the order they were filled, positions of rows."""
    end = 0
    for file in files:
        start, end = end, end + file.record_count
        first, last = np.searchsorted(ordinals, (start, end))
        if last > first:
            yield file.file_path, PositionSet.from_positions(ordinals[first:last] - start)


def key_table(schema: Schema, keys: Mapping[int, pa.Array]) -> pa.Table:
    """Return the rows of keys, passed by field id; `schema` is `equality_schema(...)`.

    An optional struct is null where all keys inside it are: readers can't distinguish a null
    struct from nulls in it (specification, "Equality Delete Files").
    """
    target = to_arrow(schema)
    columns = [
        _column(field, arrow.type, keys) for field, arrow in zip(schema.fields, target, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=target)


def _column(field: NestedField, kind: pa.DataType, keys: Mapping[int, pa.Array]) -> pa.Array:
    if not isinstance(field.field_type, StructType):
        return keys[field.field_id]
    fields = field.field_type.fields
    children = [_column(child, kind.field(index).type, keys) for index, child in enumerate(fields)]
    rows = len(children[0])
    nulls = None
    if not field.required:
        valid = np.zeros(rows, bool)
        for child in children:
            valid |= child.is_valid().to_numpy(zero_copy_only=False)
        nulls = pa.array(valid, mask=~valid)
    laid = [
        without_nulls(child) if inner.required else child
        for child, inner in zip(children, fields, strict=True)
    ]
    return struct_of(rows, laid, kind, nulls)
