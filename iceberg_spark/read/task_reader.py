"""Read one task: a data file's rows without the deleted ones, with the scan's columns.

The walk: file columns -> filter and delete masks -> the kept rows -> the read schema.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import batch_of, struct_of
from iceberg_spark.arrow.evolve import Constants, Evolution, evolution, needed_leaves
from iceberg_spark.arrow.file_fields import (
    FileField,
    Path,
    file_fields,
    has_own_ids,
    ids_by_position,
    ids_of,
)
from iceberg_spark.arrow.position_set import Mask, PositionSet
from iceberg_spark.arrow.schema import to_arrow, to_arrow_type
from iceberg_spark.arrow.values import to_array, to_scalar
from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.expr.logic import field_ids
from iceberg_spark.expr.nodes import ALWAYS_FALSE, ALWAYS_TRUE, Bound
from iceberg_spark.expr.row_filter import Mask as RowMask
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.formats.data_file import DataFileReader, FileBatch, ReadRequest, check_counts
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.formats.parquet_reader import ParquetReader
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyModule
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.read.projected_rows import LeafColumn, leaf_columns
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec import name_mapping, reserved
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.types import StringType, StructType

Array: TypeAlias = Any  # pyarrow ships no types

_equality = LazyModule("iceberg_spark.read.equality_deletes")

_GAP_ROWS = 1_000
_COMPUTED = (reserved.POS_ID, reserved.DELETED_ID)


def read_task(
    context: ScanContext, io: FileIO, task: FileScanTask, cache: BoundedCache | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the task's live rows that match its residual, in the file's order.

    Batches have exactly `arrow.schema.to_arrow(context.read_schema)` and at most
    `context.batch_rows` rows. Where `_deleted` is read, deleted rows are there too, marked. The
    result depends on the arguments only; decoded deletes are kept in `cache` (the process's own
    unless one is given). Raises CorruptFileError (also for a file with other rows or bytes than the
    metadata says), NoSuchFileError or StorageError naming a file,
    UnsupportedError naming a column or file that can't be read.
    """
    if task.residual == ALWAYS_FALSE:
        return
    delete_cache = process_cache() if cache is None else cache
    with open_data_file(io, task.file_path, task.file_format) as file:
        size, rows = task.file_size_in_bytes, task.record_count
        check_counts(task.file_path, size=(file.file_size, size), rows=(file.rows, rows))
        relevant = replace(task, delete_files=_deletes_in_range(task, file))
        deletes = load_deletes(context, io, relevant, _names(context), delete_cache)
        plan = _plan(context, task, file, deletes)
        for batch in file.batches(plan.request):
            rows = plan.rows_of(batch)
            if rows.num_rows:
                yield rows


def may_have_matches(context: ScanContext, io: FileIO, task: FileScanTask) -> bool:
    """Return whether the Bloom filters of a Parquet file allow rows that match the residual.

    Reads the footer, and filters that are smaller than their row groups; no rows. Files of other
    formats are not opened. Raises as `read_task` does.
    """
    if task.file_format is not FileFormat.PARQUET:
        return True
    with open_data_file(io, task.file_path, task.file_format) as file:
        if not isinstance(file, ParquetReader):
            return True
        fields = _identified(context, task, file, constants(context, task))
        return file.may_match(fields, task.residual)


def _deletes_in_range(task: FileScanTask, file: DataFileReader) -> tuple[DeleteFile, ...]:
    """Leave out position deletes whose positions all lie outside the rows of a split."""
    if task.is_whole_file or not task.delete_files:
        return task.delete_files
    rows = file.rows_in(task.start, task.length)
    if rows is None:
        return task.delete_files
    return tuple(
        delete_file for delete_file in task.delete_files if delete_file.may_delete_rows(*rows)
    )


@dataclass(frozen=True, slots=True)
class _TaskPlan:
    """All that was decided once for a task's batches."""

    request: ReadRequest
    output: pa.Schema
    evolve: Evolution
    masks: _RowMasks
    has_computed: bool
    lineage: FileLineage

    def rows_of(self, batch: FileBatch) -> pa.RecordBatch:
        """Return the rows of the read schema that a batch of the file has."""
        deleted, selected = self.masks.of(batch)
        rows, indices = batch.rows, None
        if selected is not None and not selected.all():
            indices = np.flatnonzero(selected)
            rows = _filtered(rows, selected, len(indices))
        evolved = self.evolve.apply(rows)
        if not self.has_computed:
            return evolved
        return self._with_computed(evolved, batch.first_row, indices, deleted)

    def _with_computed(
        self,
        evolved: pa.RecordBatch,
        first_row: int,
        indices: np.ndarray | None,
        deleted: np.ndarray | None,
    ) -> pa.RecordBatch:
        """Put `_pos` and `_deleted` among the columns, and what rows inherit of their lineage."""
        rows = evolved.num_rows
        positions = (np.arange(rows, dtype=np.int64) if indices is None else indices) + first_row
        columns, others = [], iter(evolved.columns)
        for field in self.output:
            match int(field.metadata[b"PARQUET:field_id"]):
                case reserved.POS_ID:
                    columns.append(pa.array(positions))
                case (reserved.ROW_ID_ID | reserved.LAST_UPDATED_SEQUENCE_NUMBER_ID) as number:
                    columns.append(self.lineage.of(number, next(others), positions))
                case reserved.DELETED_ID:
                    marks = np.zeros(rows, bool) if deleted is None else deleted
                    chosen = marks if deleted is None or indices is None else marks[indices]
                    columns.append(pa.array(chosen))
                case _:
                    columns.append(next(others))
        return batch_of(rows, columns, self.output)


@dataclass(frozen=True, slots=True)
class _RowMasks:
    """Decides which rows of a file are deleted and which match the filter."""

    leaves: tuple[LeafColumn, ...]
    evolve: Evolution
    matches: RowMask | None
    deletes: TaskDeletes
    keep_deleted: bool

    def of(self, batch: FileBatch) -> tuple[Mask | None, Mask | None]:
        """Return which rows are deleted and which are to be kept; None for none and for all."""
        if self.matches is None and self.deletes.is_empty:
            return None, None
        columns = self._leaf_arrays(batch.rows)
        selected = None
        if self.matches is not None:
            data = batch_of(
                batch.rows.num_rows,
                list(columns.values()),
                pa.schema([pa.field(str(i), column.type) for i, column in columns.items()]),
            )
            selected = np.asarray(self.matches(data).to_numpy(zero_copy_only=False))
        deleted = deleted_rows(self.deletes, batch.first_row, batch.rows.num_rows, columns)
        if deleted is not None and not self.keep_deleted:
            selected = ~deleted if selected is None else selected & ~deleted
        return deleted, selected

    def _leaf_arrays(self, rows: pa.RecordBatch) -> dict[int, pa.Array]:
        if not self.leaves:
            return {}
        columns = self.evolve.apply(rows).columns
        return {
            leaf.field_id: leaf.of(column)
            for leaf, column in zip(self.leaves, columns, strict=True)
        }

    def windows(self, batches: Iterable[FileBatch]) -> Iterator[tuple[int, int]]:
        """Yield the positions (first, end) of rows to keep; gaps are left out if they are long."""
        for batch in batches:
            selected = self.of(batch)[1]
            rows = np.arange(batch.rows.num_rows) if selected is None else np.flatnonzero(selected)
            if len(rows):
                gaps = np.flatnonzero(np.diff(rows) > _GAP_ROWS)
                first, last = rows[np.append(0, gaps + 1)], rows[np.append(gaps, len(rows) - 1)]
                ends = last + batch.first_row + 1
                yield from zip((first + batch.first_row).tolist(), ends.tolist(), strict=True)


def _plan(
    context: ScanContext, task: FileScanTask, file: DataFileReader, deletes: TaskDeletes
) -> _TaskPlan:
    constant_values = constants(context, task)
    fields = _identified(context, task, file, constant_values)
    columns = [f for f in context.read_schema.fields if f.field_id not in _COMPUTED]
    leaves = _leaves(context, task.residual, deletes)
    leaf_fields = [leaf.field for leaf in leaves]
    request = ReadRequest(
        fields,
        needed_leaves(fields, [*columns, *leaf_fields], constant_values),
        task.start,
        task.length,
        task.residual,
        context.batch_rows,
        context.checks_texts,
    )
    selected_ids = {field.field_id for field in context.read_schema.fields}
    residual = task.residual
    matches = None if residual == ALWAYS_TRUE else row_filter(residual, _column_of(leaves))

    def masks(request: ReadRequest) -> _RowMasks:
        stored = file.output_fields(request)
        evolve = evolution(stored, leaf_fields, constant_values, task.file_path)
        return _RowMasks(leaves, evolve, matches, deletes, reserved.DELETED_ID in selected_ids)

    if matches is not None:
        finder = replace(request, leaves=needed_leaves(fields, leaf_fields, constant_values))
        if isinstance(file, ParquetReader) and file.finds_rows_cheaply(finder, request):
            windows = masks(finder).windows(file.batches(finder))
            request = replace(request, windows=tuple(windows), filter=ALWAYS_TRUE)
    return _TaskPlan(
        request,
        to_arrow(context.read_schema),
        evolution(file.output_fields(request), columns, constant_values, task.file_path),
        masks(request),
        not selected_ids.isdisjoint({*_COMPUTED, *reserved.LINEAGE_IDS}),
        FileLineage(task.first_row_id, task.data_sequence_number),
    )


def _leaves(context: ScanContext, residual: Bound, deletes: TaskDeletes) -> tuple[LeafColumn, ...]:
    """Return the columns that the masks need, each once; they may lie outside the projection."""
    leaves = {leaf.field_id: leaf for equality in deletes.equality for leaf in equality.keys}
    ids = [number for number in field_ids(residual) if number not in leaves]
    for leaf in leaf_columns(
        ids, context.table_schema, context.dropped_fields, context.read_schema
    ):
        leaves[leaf.field_id] = leaf
    return tuple(leaves.values())


def _column_of(leaves: tuple[LeafColumn, ...]) -> Mapping[int, tuple[str, ...]]:
    return {leaf.field_id: (str(leaf.field_id),) for leaf in leaves}


def _identified(
    context: ScanContext, task: FileScanTask, file: DataFileReader, constant_values: Constants
) -> tuple[FileField, ...]:
    """Return the file's columns with ids: their own, by the name mapping, or by Java's fallback.

    Without ids and without a mapping, Java takes a Parquet file's columns by position and the
    others' by name (ParquetSchemaUtil, OrcIterable, ProjectionDatumReader).
    """
    names = _names(context)
    plain = file_fields(file.schema)
    if not context.name_mapping and not has_own_ids(plain):
        current = name_mapping.from_schema(context.table_schema)
        parquet = task.file_format is FileFormat.PARQUET
        names = ids_by_position(file.schema, current) if parquet else ids_of(current)
    if not names:
        return plain
    return file_fields(file.schema, {p: i for p, i in names.items() if i not in constant_values})


def _names(context: ScanContext) -> Mapping[Path, int]:
    if not context.name_mapping:
        return {}
    return ids_of(name_mapping.parse(context.name_mapping))


def _filtered(rows: pa.RecordBatch, selected: np.ndarray, count: int) -> pa.RecordBatch:
    if rows.num_columns:
        return rows.filter(pa.array(selected))
    return batch_of(count, (), rows.schema)


def deleted_rows(
    deletes: TaskDeletes, first_row: int, rows: int, columns: Mapping[int, pa.Array]
) -> Mask | None:
    """Return which of `rows` rows from position `first_row` on are deleted, None for none.

    `columns` holds the key columns of the rows by field id.
    """
    deleted: Mask | None = deletes.positions.mask(first_row, rows)
    for equality in deletes.equality:
        matched = equality.deleted(columns)
        if matched.any():
            deleted = matched if deleted is None else deleted | matched
    return deleted


@dataclass(frozen=True, slots=True)
class FileLineage:
    """What rows of a data file inherit: ids from its first one on, and its sequence number."""

    first_row_id: int | None
    data_sequence_number: int

    def of(self, field_id: int, own: Array, positions: npt.NDArray[np.int64]) -> Array:
        """Return a lineage column of rows at some positions; `own` is what the file says of it.

        In a file without a first row id both are null, whatever it says: it belongs to a snapshot
        from before the table's upgrade.
        """
        if self.first_row_id is None:
            return pa.nulls(len(positions), pa.int64())
        if not own.null_count:
            return own
        if field_id == reserved.ROW_ID_ID:
            return pc.coalesce(own, pa.array(positions + self.first_row_id))
        return pc.fill_null(own, pa.scalar(self.data_sequence_number, pa.int64()))


def constants(context: ScanContext, task: FileScanTask) -> dict[int, pa.Scalar]:
    """Return values by field id that are the same for all rows of a task.

    Identity partition values stand for columns that the file lacks (specification, "Column
    Projection"); metadata columns are there only where they are asked for. Raises
    CorruptFileError for a task of a spec that the table does not have.
    """
    spec = context.specs.get(task.spec_id)
    if spec is None:
        raise CorruptFileError(
            f"{task.file_path} has partition spec {task.spec_id}, which the table does not have"
        )
    values = identity_values(context, spec, task.partition)
    for field in context.read_schema.fields:
        match field.field_id:
            case reserved.FILE_ID:
                values[field.field_id] = to_scalar(StringType(), task.file_path)
            case reserved.SPEC_ID_ID:
                values[field.field_id] = to_scalar(field.field_type, task.spec_id)
            case reserved.PARTITION_ID if isinstance(field.field_type, StructType):
                values[field.field_id] = partition_value(field.field_type, spec, task.partition)
            case _:
                pass
    return values


def identity_values(
    context: ScanContext, spec: PartitionSpec, partition: tuple[Any, ...]
) -> dict[int, pa.Scalar]:
    """Return the partition values of identity fields by the id of their source column."""
    values: dict[int, pa.Scalar] = {}
    for part, value in zip(spec.fields, partition, strict=True):
        source = context.table_schema.get(part.source_id)
        if source is None and context.dropped_fields is not None:
            source = context.dropped_fields.get(part.source_id)
        if source is not None and isinstance(part.transform, IdentityTransform):
            values[part.source_id] = to_scalar(source.field_type, value)
    return values


def partition_value(kind: StructType, spec: PartitionSpec, partition: tuple[Any, ...]) -> pa.Scalar:
    """Return a partition tuple as a value of the union of all specs; other specs' fields are null.

    Source: Java's Partitioning.partitionType and PartitionUtil.coercePartition.
    """
    values = {part.field_id: value for part, value in zip(spec.fields, partition, strict=True)}
    children = [to_array(f.field_type, [values.get(f.field_id)]) for f in kind.fields]
    return struct_of(1, children, to_arrow_type(kind))[0]


class DeletedKeys(Protocol):
    """What `equality_deletes` loads: keys that a group of delete files deletes."""

    @property
    def keys(self) -> tuple[LeafColumn, ...]:
        """The key columns."""
        ...

    def deleted(self, columns: Mapping[int, pa.Array]) -> Mask:
        """Return which rows are deleted; `columns` holds the key columns by field id."""
        ...


@dataclass(frozen=True, slots=True)
class TaskDeletes:
    """Deleted positions of the data file and sets of deleted keys."""

    positions: PositionSet
    equality: tuple[DeletedKeys, ...]

    @property
    def is_empty(self) -> bool:
        """Whether no row can be deleted."""
        return self.positions.is_empty and not self.equality


def load_deletes(
    context: ScanContext,
    io: FileIO,
    task: FileScanTask,
    names: Mapping[Path, int],
    cache: BoundedCache,
) -> TaskDeletes:
    """Decode the delete files of a task; which of them apply is the planner's matter.

    `names` gives ids to columns of delete files that have none. Raises CorruptFileError,
    NoSuchFileError or StorageError naming a delete file.
    """
    by_position: list[DeleteFile] = []
    by_key: list[DeleteFile] = []
    for file in task.delete_files:
        match file.content:
            case DataFileContent.POSITION_DELETES:
                by_position.append(file)
            case DataFileContent.EQUALITY_DELETES:
                by_key.append(file)
            case DataFileContent.DATA:
                raise CorruptFileError(f"{file.file_path} is listed as a delete file but has data")
            case _:
                assert_never(file.content)
    positions = deleted_positions(io, task, by_position, cache)
    if not by_key:
        return TaskDeletes(positions, ())
    equality = tuple(
        _equality.load_equality_deletes(
            io,
            files,
            leaf_columns(ids, context.table_schema, context.dropped_fields),
            names,
            cache,
        )
        for ids, files in _equality.groups_by_keys(by_key).items()
    )
    return TaskDeletes(positions, equality)


Task = TypeVar("Task")
Batch = TypeVar("Batch")


def read_ahead(
    tasks: Iterable[Task], read: Callable[[Task], Iterator[Batch]], at_once: int | None = None
) -> Iterator[Batch]:
    """Yield the batches of each task, while tasks that follow are read by other threads.

    A file's store is waited for while another's rows are decoded. All batches of `at_once` tasks
    are held, four at least: this is for who will hold all rows.
    """
    most = at_once or max(4, os.cpu_count() or 1)
    waiting: deque[Future[list[Batch]]] = deque()
    with ThreadPoolExecutor(most, thread_name_prefix="read-ahead") as threads:
        try:
            for task in tasks:
                waiting.append(threads.submit(_all, read, task))
                if len(waiting) == most:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for unread in waiting:
                unread.cancel()


def _all(read: Callable[[Task], Iterator[Batch]], task: Task) -> list[Batch]:
    return list(read(task))
