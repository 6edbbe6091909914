"""How Spark's reader finds the columns of files, by their footers.

A file with field ids is read by id, another one by the names in the table's name mapping. Columns
that a file does not store but its partition has are constants. Source: specification, "Column
Projection"; the order is that of `arrow.evolve`. `column_proof` decides which columns Spark may
filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.file_fields import FileField, Path, file_fields, has_own_ids, ids_of
from iceberg_spark.arrow.schema import is_list
from iceberg_spark.arrow.variant_layout import is_stored_variant
from iceberg_spark.formats.parquet_head import FooterHead, StoredColumns, StoredLeaf
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.split import Longs
from iceberg_spark.spark.deletes.per_file_values import ROW_INDEX
from iceberg_spark.spark.reading.column_proof import unproven
from iceberg_spark.spark.reading.footers import footer_limit, footers
from iceberg_spark.spec import name_mapping
from iceberg_spark.spec import types as t
from iceberg_spark.spec.partition import PartitionSpec, partition_key
from iceberg_spark.spec.reserved import LINEAGE_IDS
from iceberg_spark.spec.transforms import IdentityTransform

_CONSTANTS = (
    t.BooleanType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType, t.DecimalType,
    t.DateType, t.TimestampType, t.TimestamptzType, t.StringType, t.FixedType, t.BinaryType,
    t.UUIDType,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileColumns:
    """Where a file stores its columns.

    `names` has the physical names of columns and nested fields by field id, in the order of the
    ids. It is None if the file is read by field id. `constants` are canonical values by field id,
    None for a lineage column that the file lacks. `same_constants` is the key by which they are
    compared: NaN equals NaN, and 0.0 differs from -0.0. `unproven` are the ids of top-level columns
    by which Spark must not filter.
    """

    names: tuple[tuple[int, str], ...] | None = None
    constants: tuple[tuple[int, Any], ...] = field(default=(), compare=False)
    same_constants: tuple[object, ...] = field(init=False, repr=False)
    unproven: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "same_constants", partition_key(tuple(chain(*self.constants))))


HIDDEN = "__field_"
"""Prefix of names that no file has: Spark cannot push filters down to columns of such a name."""
ColumnsOrReason: TypeAlias = FileColumns | str
"""Where a file stores the columns, or why Spark's reader cannot read it."""


FindMisread: TypeAlias = Callable[[ScanPlan, Longs, Sequence[t.NestedField]], Mapping[int, str]]
"""Returns why Spark misreads files, from a plan, indices of its files, and columns."""


def file_columns(
    plan: ScanPlan,
    rows: Longs,
    fields: Sequence[t.NestedField],
    *,
    isolated: bool,
    find_misread: FindMisread,
) -> list[ColumnsOrReason]:
    """Return where each planned file stores the top-level columns of `fields`.

    Files that differ only in what is unproven give two kinds at most.

    Args:
        plan: the files.
        rows: their indices in `plan.files`.
        fields: top-level columns to read.
        isolated: no setting can make Spark read by name. Otherwise a file whose names are not the
            table's is not for Spark.
        find_misread: checks files if there are more than footers are read here.

    Raises:
        CorruptFileError: a footer contradicts the metadata.
    """
    limit = footer_limit(plan)
    if len(rows) > limit and plan.context.name_mapping:
        reason = f"more than {limit:,} files may have no field ids, by the table's name mapping"
        return [reason] * len(rows)
    search = _FileSearch(plan, tuple(fields), isolated)
    partitions = (plan.files.column(name).to_numpy()[rows].tolist() for name in _PARTITION)
    if len(rows) <= limit:
        return _joined(
            list(map(search.columns_of, rows.tolist(), footers(plan, rows), *partitions))
        )
    # A session that is not isolated leaves files without a footer to the Arrow engine anyway.
    misread = find_misread(plan, rows, fields) if isolated else {}
    columns_by_file = map(search.columns_of, rows.tolist(), [None] * len(rows), *partitions)
    return _joined(
        [
            misread.get(row, columns)
            for row, columns in zip(rows.tolist(), columns_by_file, strict=True)
        ]
    )


_PARTITION = ("spec_id", "partition_index")


@dataclass(frozen=True, slots=True)
class _FileSearch:
    """Finds columns once for all files with equal footers and, where these count, partitions."""

    plan: ScanPlan
    fields: tuple[t.NestedField, ...]
    isolated: bool
    by_key: dict[tuple[Any, ...], ColumnsOrReason] = field(default_factory=dict)

    def columns_of(
        self, row: int, head: FooterHead | None, spec_id: int, partition: int
    ) -> ColumnsOrReason:
        if head is not None and head.is_rebased and self._has_times():
            return "days and times of the calendar that Spark had before 3.0"
        if head is not None and head.rare_encodings:
            names = " and ".join(head.rare_encodings)
            return f"pages in {names}, which Spark's reader can't decode"
        stored = None if head is None else head.columns
        left = self._sources(spec_id)
        if stored is not None:
            left -= {stored_field.own_id for stored_field in stored.fields}
        key = (stored, spec_id, partition if left else None)
        if key not in self.by_key:
            self.by_key[key] = self._search(row, stored, left=bool(left))
        return self.by_key[key]

    def _has_times(self) -> bool:
        kinds = (t.DateType, t.TimestampType, t.TimestamptzType)
        return any(
            isinstance(inner.field_type, kinds) for field in self.fields for inner in _nested(field)
        )

    def _sources(self, spec_id: int) -> set[int | None]:
        """Return the ids of columns whose values the partitions of a spec have."""
        spec = self.plan.context.specs.get(spec_id)
        if spec is None or spec.is_unpartitioned:
            return set()
        read_ids = {inner.field_id for field in self.fields for inner in _nested(field)}
        return {
            part.source_id
            for part in spec.fields
            if isinstance(part.transform, IdentityTransform) and part.source_id in read_ids
        }

    def _search(self, row: int, stored: StoredColumns | None, *, left: bool) -> ColumnsOrReason:
        context = self.plan.context
        if stored is None:
            if context.name_mapping:
                return "footer that can't be read"  # the action says what is wrong
            if left:
                return "footer that was not read, so that partition values may be missing"
            return self._fit(FileColumns(), tuple(sorted(field.field_id for field in self.fields)))
        mapping = ids_of(name_mapping.parse(context.name_mapping)) if context.name_mapping else {}
        if not mapping and not has_own_ids(stored.fields):
            return "without field ids, in a table that has no name mapping"
        constants: dict[int, Any] = {}
        if left:
            (task,) = self.plan.tasks_at(np.array([row]))
            constants = identity_values(context.specs[task.spec_id], task.partition)
        columns = columns_in(stored.arrow, self.fields, mapping, constants, stored.leaves)
        if isinstance(columns, str):
            return columns
        mapped = {path: number for path, number in mapping.items() if number not in constants}
        doubtful = unproven(
            file_fields(stored.arrow, mapped) if mapped else stored.fields,
            stored.leaves,
            self.fields,
            by_id=columns.names is None,
            exact_names=not self.isolated,
        )
        return self._fit(columns, doubtful)

    def _fit(self, columns: FileColumns, doubtful: tuple[int, ...]) -> ColumnsOrReason:
        if doubtful and not self.isolated:
            return "columns that a setting of the session could mistake for others"
        return replace(columns, unproven=doubtful)


def _joined(columns_by_file: list[ColumnsOrReason]) -> list[ColumnsOrReason]:
    """Return one kind for columns that differ only in what is unproven."""
    doubtful: dict[FileColumns, set[int]] = {}
    for columns in dict.fromkeys(columns_by_file):
        if isinstance(columns, FileColumns) and columns.unproven:
            doubtful.setdefault(replace(columns, unproven=()), set()).update(columns.unproven)

    def joined(columns: ColumnsOrReason) -> ColumnsOrReason:
        if isinstance(columns, str) or not columns.unproven:
            return columns
        return replace(columns, unproven=tuple(sorted(doubtful[replace(columns, unproven=())])))

    by_kind = {columns: joined(columns) for columns in dict.fromkeys(columns_by_file)}
    return [by_kind[columns] for columns in columns_by_file]


def _nested(field: t.NestedField) -> Iterator[t.NestedField]:
    yield field
    for child in t.child_fields(field.field_type):
        yield from _nested(child)


def identity_values(spec: PartitionSpec, partition: tuple[Any, ...]) -> dict[int, Any]:
    """Return the canonical partition values of identity fields by the id of their column."""
    return {
        part.source_id: value
        for part, value in zip(spec.fields, partition, strict=True)
        if isinstance(part.transform, IdentityTransform)
    }


def columns_in(
    stored: pa.Schema,
    fields: Sequence[t.NestedField],
    mapping: Mapping[Path, int],
    constants: Mapping[int, Any],
    leaves: Sequence[StoredLeaf],
) -> ColumnsOrReason:
    """Return where a file with the `stored` columns and `leaves` stores the fields."""
    mapped = {path: number for path, number in mapping.items() if number not in constants}
    search = _Search(has_own_ids(file_fields(stored)), constants, leaves)
    file_columns = file_fields(stored, mapped)
    folded = {field.name.lower() for field in file_columns}
    if not search.by_id and len(folded) < len(file_columns):
        return "column names that differ by case only"
    if any(name.startswith(HIDDEN) or name == ROW_INDEX for name in folded):
        return "a column name that the native engine uses itself"
    try:
        for field in fields:
            search.column(file_columns, field)
    except _UnfitError as unfit:
        return str(unfit)
    names = None if search.by_id else tuple(sorted(search.names.items()))
    return FileColumns(names, tuple(sorted(search.used.items())))


class _UnfitError(Exception):
    """The reason why Spark's reader cannot read a file."""


@dataclass(frozen=True, slots=True)
class _Search:
    by_id: bool
    constants: Mapping[int, Any]
    leaves: Sequence[StoredLeaf]
    names: dict[int, str] = field(default_factory=dict)
    used: dict[int, Any] = field(default_factory=dict)

    def column(self, fields: tuple[FileField, ...], field: t.NestedField) -> None:
        stored = self._find(fields, field)
        if stored is not None:
            self._inside(stored, field)
        elif field.field_id in self.constants:
            if not isinstance(field.field_type, _CONSTANTS):
                raise _UnfitError(f"partition value of '{field.name}', a {field.field_type}")
            self.used[field.field_id] = self.constants[field.field_id]
        elif field.field_id in LINEAGE_IDS:
            self.used[field.field_id] = None
        elif field.required and field.initial_default is None:
            raise _UnfitError(f"required column that a file lacks ('{field.name}')")

    def _find(self, fields: tuple[FileField, ...], field: t.NestedField) -> FileField | None:
        for stored in fields:
            if stored.own_id == field.field_id:
                return stored
        for stored in fields:
            if stored.mapped_id == field.field_id:
                if self.by_id:
                    raise _UnfitError(f"field ids on some columns only ('{stored.name}' has none)")
                return stored
        return None

    def _inside(self, stored: FileField, field: t.NestedField) -> None:
        if not self.by_id:
            self.names[field.field_id] = stored.name
        match field.field_type:
            case t.StructType(fields=children) if pt.is_struct(stored.kind):
                for child in children:
                    self._child(stored, child)
            case t.ListType(element_id=number, element_type=kind) if is_list(stored.kind):
                self._part(stored.children[0], t.NestedField(number, "element", kind))
            case t.MapType() as kind if pt.is_map(stored.kind):
                key, value = t.child_fields(kind)
                self._part(stored.children[0], key)
                self._part(stored.children[1], value)
            case t.VariantType() if is_stored_variant(stored.kind):
                pass
            case kind if _is_stored_as(stored.kind, kind):
                if stored.leaves and _is_misread(self.leaves[stored.leaves[0]], kind):
                    leaf = self.leaves[stored.leaves[0]]
                    width = f" of {leaf.length} bytes" if leaf.length else ""
                    raise _UnfitError(
                        f"column '{stored.name}' stores decimals as {leaf.physical}{width}"
                    )
            case _:
                raise _UnfitError(f"column '{stored.name}' is stored as {stored.kind}")

    def _child(self, parent: FileField, field: t.NestedField) -> None:
        stored = self._find(parent.children, field)
        if stored is not None:
            self._inside(stored, field)
        elif field.field_id in self.constants or field.required:
            raise _UnfitError(f"field '{parent.name}.{field.name}' that a file lacks")

    def _part(self, stored: FileField, field: t.NestedField) -> None:
        """Find the element of a list or map, which is the only one: its name does not count."""
        if (stored.own_id or stored.mapped_id or field.field_id) != field.field_id:
            raise _UnfitError(f"another column's {field.name}")
        self._inside(stored, field)


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


def _is_stored_as(kind: pa.DataType, field_type: t.IcebergType) -> bool:
    """Return whether a leaf is stored as Iceberg's writers store a type, or one promoted to it."""
    if pt.is_dictionary(kind):
        kind = kind.value_type
    match field_type:
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
            return kind in _STORED.get(type(field_type), ())


_LONG_PRECISION = 18
"""Spark stores decimals of up to this precision as longs."""
_RIGHT_WIDTHS = frozenset((*range(1, 9), 16))
"""Bytes of FIXED_LEN_BYTE_ARRAY that Spark reads right as longs.

It shifts the bytes into a long, then the sign by 64 minus the width in bits, which Java takes
modulo 64: 12 bytes are shifted by -32, that is by 32, and lose the upper half; 16 bytes by 0.
Source: `ParquetRowConverter.binaryToUnscaledLong`.
"""


def may_be_misread(column: t.NestedField) -> bool:
    """Return whether a column has decimals that Spark's reader misreads in some files."""
    kinds = (inner.field_type for inner in _nested(column))
    return any(isinstance(k, t.DecimalType) and k.precision <= _LONG_PRECISION for k in kinds)


def _is_misread(leaf: StoredLeaf, field_type: t.IcebergType) -> bool:
    """Return whether Spark's reader returns other decimals than a leaf stores, or fails."""
    if not isinstance(field_type, t.DecimalType) or field_type.precision > _LONG_PRECISION:
        return False
    match leaf.physical:
        case "FIXED_LEN_BYTE_ARRAY":
            return leaf.length not in _RIGHT_WIDTHS
        case physical:
            return physical == "BYTE_ARRAY"
