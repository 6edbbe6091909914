"""How Spark's reader finds the columns of files in a table with a name mapping: by their footers.

Some files of such a table have field ids, others none. A file with ids is read by id, one without
by the names that the mapping knows. Columns that a file leaves to its partition (a Hive layout) are
constants. Source: specification, "Column Projection"; the order is that of `arrow.evolve`.

Bounds on the driver: MAX_FOOTERS footers are read for one frame, READERS at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.file_fields import FileField, Path, file_fields, has_own_ids, ids_of
from iceberg_spark.arrow.schema import is_list
from iceberg_spark.errors import IcebergError
from iceberg_spark.formats.parquet_schema import parquet_schema
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.read.delete_cache import process_cache
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.split import Longs
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec import name_mapping
from iceberg_spark.spec import types as t
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.transforms import IdentityTransform

MAX_FOOTERS = 1_000
"""Local footers take about 0.2 ms each; those of a store some 30 ms, READERS at once."""
READERS = 16

_CONSTANTS = (
    t.BooleanType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType, t.DecimalType,
    t.DateType, t.TimestampType, t.TimestamptzType, t.StringType, t.FixedType, t.BinaryType,
    t.UUIDType,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileColumns:
    """Where a file's columns are.

    `names` has the physical names of columns and nested fields by field id, in the order of the
    ids; None: the file is read by field id. `constants` are canonical values by field id.
    """

    names: tuple[tuple[int, str], ...] | None = None
    constants: tuple[tuple[int, Any], ...] = ()


BY_FIELD_ID = FileColumns()
Found: TypeAlias = FileColumns | str
"""Where the columns are, or why Spark's reader can't find them."""


def file_columns(plan: ScanPlan, rows: Longs, wanted: Sequence[t.NestedField]) -> list[Found]:
    """Return for each of some planned files where its wanted top-level columns are."""
    context = plan.context
    if not context.name_mapping:
        return [BY_FIELD_ID] * len(rows)
    if len(rows) > MAX_FOOTERS:
        why = f"more than {MAX_FOOTERS:,} files may have no field ids, by the table's name mapping"
        return [why] * len(rows)
    io = FsspecIO(context.io_properties)
    mapping = ids_of(name_mapping.parse(context.name_mapping))

    def columns_of(task: FileScanTask) -> Found:
        try:
            stored = _stored_columns(io, task)
        except IcebergError:
            return "footer that can't be read"  # the action says what is wrong
        constants = identity_values(context.specs[task.spec_id], task.partition)
        return columns_in(stored, wanted, mapping, constants)

    with ThreadPoolExecutor(READERS, thread_name_prefix="footers") as pool:
        return list(pool.map(columns_of, plan.tasks_at(rows)))


def _stored_columns(io: FileIO, task: FileScanTask) -> pa.Schema:
    """Return what a footer says; data files never change, so it is remembered."""

    def load() -> tuple[pa.Schema, int]:
        stored = parquet_schema(io, task.file_path)
        return stored, stored.serialize().size

    key = ("columns", task.file_path, task.file_size_in_bytes)
    found: pa.Schema = process_cache().get_or_load(key, load)
    return found


def identity_values(spec: PartitionSpec, partition: tuple[Any, ...]) -> dict[int, Any]:
    """Return the canonical partition values of identity fields by the id of their column."""
    return {
        part.source_id: value
        for part, value in zip(spec.fields, partition, strict=True)
        if isinstance(part.transform, IdentityTransform)
    }


def columns_in(
    stored: pa.Schema,
    wanted: Sequence[t.NestedField],
    mapping: Mapping[Path, int],
    constants: Mapping[int, Any],
) -> Found:
    """Return where the wanted columns are in a file with the `stored` columns."""
    mapped = {path: number for path, number in mapping.items() if number not in constants}
    search = _Search(has_own_ids(file_fields(stored)), constants)
    fields = file_fields(stored, mapped)
    folded = {one.name.lower() for one in fields}
    if not search.by_id and len(folded) < len(fields):
        return "column names that differ by case only"
    try:
        for one in wanted:
            search.column(fields, one)
    except _UnfitError as unfit:
        return str(unfit)
    names = None if search.by_id else tuple(sorted(search.names.items()))
    return FileColumns(names, tuple(sorted(search.used.items())))


class _UnfitError(Exception):
    """Says why Spark's reader can't read a file."""


@dataclass(frozen=True, slots=True)
class _Search:
    by_id: bool
    constants: Mapping[int, Any]
    names: dict[int, str] = field(default_factory=dict)
    used: dict[int, Any] = field(default_factory=dict)

    def column(self, fields: tuple[FileField, ...], wanted: t.NestedField) -> None:
        found = self._find(fields, wanted)
        if found is not None:
            self._inside(found, wanted)
        elif wanted.field_id in self.constants:
            if not isinstance(wanted.field_type, _CONSTANTS):
                raise _UnfitError(f"partition value of '{wanted.name}', a {wanted.field_type}")
            self.used[wanted.field_id] = self.constants[wanted.field_id]
        elif wanted.required and wanted.initial_default is None:
            raise _UnfitError(f"required column that a file lacks ('{wanted.name}')")

    def _find(self, fields: tuple[FileField, ...], wanted: t.NestedField) -> FileField | None:
        for one in fields:
            if one.own_id == wanted.field_id:
                return one
        for one in fields:
            if one.mapped_id == wanted.field_id:
                if self.by_id:
                    raise _UnfitError(f"field ids on some columns only ('{one.name}' has none)")
                return one
        return None

    def _inside(self, found: FileField, wanted: t.NestedField) -> None:
        if not self.by_id:
            self.names[wanted.field_id] = found.name
        match wanted.field_type:
            case t.StructType(fields=children) if pt.is_struct(found.kind):
                for child in children:
                    self._child(found, child)
            case t.ListType(element_id=number, element_type=kind) if is_list(found.kind):
                self._part(found.children[0], t.NestedField(number, "element", kind))
            case t.MapType() as kind if pt.is_map(found.kind):
                key, value = t.child_fields(kind)
                self._part(found.children[0], key)
                self._part(found.children[1], value)
            case kind if self.by_id or _is_stored_as(found.kind, kind):
                pass
            case _:
                raise _UnfitError(f"column '{found.name}' is stored as {found.kind}")

    def _child(self, parent: FileField, wanted: t.NestedField) -> None:
        found = self._find(parent.children, wanted)
        if found is not None:
            self._inside(found, wanted)
        elif wanted.field_id in self.constants or wanted.required:
            raise _UnfitError(f"field '{parent.name}.{wanted.name}' that a file lacks")

    def _part(self, found: FileField, wanted: t.NestedField) -> None:
        """A list has one element, whatever it is called and whether it has an id or not."""
        if (found.own_id or found.mapped_id or wanted.field_id) != wanted.field_id:
            raise _UnfitError(f"another column's {wanted.name}")
        self._inside(found, wanted)


_STORED: Mapping[type, tuple[pa.DataType, ...]] = {
    t.BooleanType: (pa.bool_(),),
    t.IntegerType: (pa.int32(),),
    t.LongType: (pa.int64(), pa.int32()),
    t.FloatType: (pa.float32(),),
    t.DoubleType: (pa.float64(), pa.float32()),
    t.DateType: (pa.date32(),),
    t.TimestampType: (pa.timestamp("us"),),
    t.StringType: (pa.string(), pa.large_string(), pa.string_view()),
    t.BinaryType: (pa.binary(), pa.large_binary(), pa.binary_view()),
}


def _is_stored_as(kind: pa.DataType, wanted: t.IcebergType) -> bool:
    """Return whether a leaf is stored as Iceberg's writers store the wanted type.

    Or a type that may be promoted to it. What else Spark's reader takes isn't asked.
    """
    if pt.is_dictionary(kind):
        kind = kind.value_type
    match wanted:
        case t.TimestamptzType():
            return bool(pt.is_timestamp(kind) and kind.unit == "us" and kind.tz is not None)
        case t.DecimalType(precision=precision, scale=scale):
            fits = pt.is_decimal128(kind) and kind.scale == scale
            return bool(fits and kind.precision <= precision)
        case t.FixedType(length=length):
            return bool(kind == pa.binary(length))
        case t.UUIDType():
            return bool(getattr(kind, "storage_type", kind) == pa.binary(16))
        case t.UnknownType():
            return True
        case _:
            return kind in _STORED.get(type(wanted), ())
