"""Sketches of a table's columns: the number of distinct values, for groups of data files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from iceberg_spark.arrow.theta import NOTHING, ThetaSketch, hashes_of
from iceberg_spark.arrow.value_bytes import value_bytes
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
    """
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


def united(sketches_of_files: Iterable[Sketches], columns: int) -> Sketches:
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
