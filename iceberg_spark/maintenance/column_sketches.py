"""Sketches of a table's columns: the number of distinct values, for groups of data files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.arrow.arrays import distinct
from iceberg_spark.arrow.theta import NOTHING, ThetaSketch, hashes_of
from iceberg_spark.catalog.planned_io import refuse_server_planning
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.limits import SKETCHING
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
    VariantType,
)

Sketches: TypeAlias = tuple[ThetaSketch, ...]
SketchRunner: TypeAlias = Callable[
    ["SketchWork", Sequence[FileScanTask], FileIO], Iterable[Sketches]
]
"""Runs sketching tasks, in this process or on Spark, and returns the result of each group."""

_NESTED = (StructType, ListType, MapType, VariantType, UnknownType)


@dataclass(frozen=True, slots=True)
class SketchWork:
    """What all sketching tasks share; `paths` are columns by names, outermost first."""

    scan: ScanContext
    paths: tuple[tuple[str, ...], ...]

    def sketches(self, io: FileIO, tasks: Iterable[FileScanTask]) -> Sketches:
        """Return a sketch of each column over the live rows of data files.

        One sketch passes through all files: the fuller it is, the fewer hashes enter it and must be
        sorted.
        """
        sketches = [NOTHING] * len(self.paths)
        for task in tasks:
            for batch in read_task(self.scan, io, task):
                for index, path in enumerate(self.paths):
                    sketches[index] = _counted(sketches[index], _column(batch, path))
        return tuple(sketches)


def _counted(sketch: ThetaSketch, column: Any) -> ThetaSketch:
    """Return the sketch after adding a column of a batch."""
    for values in value_bytes(column):
        for start in range(0, len(values), SKETCHING.values_at_once):
            some = values[start : start + SKETCHING.values_at_once]
            sketch = sketch.with_hashes(hashes_of(some))
    return sketch


@dataclass(frozen=True, slots=True)
class SketchPlan:
    """The columns of a snapshot and the data files that have them."""

    fields: tuple[NestedField, ...]
    names: tuple[str, ...]
    work: SketchWork
    tasks: tuple[FileScanTask, ...]


def plan_sketches(
    metadata: TableMetadata, io: FileIO, snapshot_id: int, columns: Sequence[str]
) -> SketchPlan:
    """Plan to read columns of a snapshot; by default all columns of primitive types.

    Raises:
        InvalidSchemaError: a column does not exist.
        InvalidInputError: a column is nested.
        UnsupportedError: the table's catalog plans its scans.
    """
    refuse_server_planning(io, "compute the statistics")
    snapshot = metadata.snapshot(snapshot_id)
    schema = metadata.schemas.get(snapshot.schema_id or 0, metadata.schema)
    names = tuple(dict.fromkeys(columns)) or _primitive(schema)
    if not names:
        raise InvalidInputError("The table has no column of a primitive type to count values of")
    fields = tuple(_field(schema, name) for name in names)
    request = ScanRequest(snapshot_id=snapshot_id, selected_fields=names)
    scan = replace(scan_context(metadata, request, io), checks_texts=False)
    paths = tuple(_path(schema, field) for field in fields)
    return SketchPlan(fields, names, SketchWork(scan, paths), tuple(plan(metadata, io, scan)))


def sketch_groups(tasks: Sequence[FileScanTask]) -> list[tuple[FileScanTask, ...]]:
    """Return the tasks in groups of similar size, each large enough for a Spark task."""
    size = sum(task.file_size_in_bytes + SKETCHING.file_bytes for task in tasks)
    count = min(len(tasks), SKETCHING.most_tasks, -(-size // SKETCHING.task_bytes))
    ordered = sorted(tasks, key=lambda task: -task.file_size_in_bytes)
    return [tuple(ordered[first::count]) for first in range(count)]


def sketch_here(work: SketchWork, tasks: Sequence[FileScanTask], io: FileIO) -> Iterable[Sketches]:
    """Run the tasks in threads of this process."""
    groups = sketch_groups(tasks)
    with ThreadPoolExecutor(SKETCHING.threads) as pool:
        try:
            yield from pool.map(lambda group: work.sketches(io, group), groups)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def merge_sketches(sketches_of_files: Iterable[Sketches], columns: int) -> Sketches:
    """Merge the sketches of all files, column by column, as they arrive."""
    every: list[ThetaSketch] = [NOTHING] * columns
    for sketches in sketches_of_files:
        every = [ThetaSketch.union(pair) for pair in zip(every, sketches, strict=True)]
    return tuple(every)


def _primitive(schema: Schema) -> tuple[str, ...]:
    return tuple(field.name for field in schema.fields if not isinstance(field.field_type, _NESTED))


def _field(schema: Schema, name: str) -> NestedField:
    field = schema.find_field(name)
    if isinstance(field.field_type, _NESTED):
        raise InvalidInputError(
            f"Column '{name}' is {field.field_type}: values are counted of primitive types only"
        )
    above = [
        schema.find_field(number).field_type for number in schema.path_ids(field.field_id)[:-1]
    ]
    if not all(isinstance(parent_type, StructType) for parent_type in above):
        raise InvalidInputError(
            f"Column '{name}' is in a list or map: values are counted of columns and of fields of "
            "structs"
        )
    return field


def _path(schema: Schema, field: NestedField) -> tuple[str, ...]:
    return tuple(schema.find_field(number).name for number in schema.path_ids(field.field_id))


def _column(batch: Any, path: Sequence[str]) -> Any:
    column = batch.column(batch.schema.get_field_index(path[0]))
    for name in path[1:]:
        index = column.type.get_field_index(name)
        column = column.flatten()[index]
    return column


# Values as the bytes that Iceberg has for single values, a whole column at a time.
#
# Source: specification, "Appendix D: Single-value serialization", binary.

Bytes: TypeAlias = npt.NDArray[np.uint8]
Array: TypeAlias = Any  # pyarrow ships no types

_DECIMAL_BYTES = 16


def value_bytes(values: Array) -> Iterator[Bytes]:
    """Yield the bytes of all values but nulls and empty ones, a matrix for each length.

    Raises TypeError for nested values.
    """
    present = values.drop_null()
    kind = present.type
    if isinstance(kind, pa.ExtensionType):
        present, kind = present.storage, kind.storage_type
    if not len(present):
        return
    if pa.types.is_boolean(kind):
        yield _fixed(present.cast(pa.uint8()), 1)
    elif pa.types.is_decimal(kind):
        yield from _decimals(present.cast(pa.decimal128(kind.precision, kind.scale)))
    elif pa.types.is_fixed_size_binary(kind):
        yield _fixed(present, kind.byte_width)
    elif pa.types.is_binary(kind) or pa.types.is_string(kind):
        yield from _texts(present)
    elif pa.types.is_nested(kind) or kind.bit_width % 8:
        raise TypeError(f"{kind} has no single-value bytes")
    else:
        yield _fixed(present, kind.bit_width // 8)


def _fixed(values: Array, width: int) -> Bytes:
    """Return values of one width: the machine's order of bytes is the format's."""
    every = np.frombuffer(values.buffers()[1], np.uint8)
    start = values.offset * width
    return every[start : start + len(values) * width].reshape(-1, width)


def _texts(values: Array) -> Iterator[Bytes]:
    offsets = np.frombuffer(values.buffers()[1], np.int32)
    starts = offsets[values.offset : values.offset + len(values) + 1].astype(np.int64)
    data = values.buffers()[2]
    if data is None:
        return
    every = np.frombuffer(data, np.uint8)
    lengths = np.diff(starts)
    for length in distinct(lengths[lengths > 0]).tolist():
        where = starts[:-1][lengths == length]
        if len(where) == len(lengths):
            yield every[starts[0] : starts[-1]].reshape(-1, length)
        else:
            yield every[where[:, None] + np.arange(length)]


def _decimals(values: Array) -> Iterator[Bytes]:
    """Yield unscaled values, big-endian, in as few bytes as possible including the sign."""
    unscaled = _fixed(values, _DECIMAL_BYTES)[:, ::-1]
    sign = unscaled[:, 0] >> 7
    filled = unscaled == np.where(sign, np.uint8(255), np.uint8(0))[:, None]
    first = np.argmin(filled, axis=1)
    first[filled.all(axis=1)] = _DECIMAL_BYTES - 1
    same_sign = unscaled[np.arange(len(unscaled)), first] >> 7 == sign
    first = np.where(same_sign, first, np.maximum(first - 1, 0))
    for start in np.flatnonzero(np.bincount(first)).tolist():
        yield np.ascontiguousarray(unscaled[first == start, start:])
