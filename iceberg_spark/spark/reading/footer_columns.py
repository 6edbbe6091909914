"""How Spark's reader finds the columns of files, and which it may filter by: by their footers.

A file with field ids is read by id, one without by the names that the table's name mapping knows.
Columns that a file leaves to its partition are constants. Source: specification, "Column
Projection"; the order is that of `arrow.evolve`. What may be filtered by is for `column_proof`.
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
from iceberg_spark.spark.deletes.row_position import ROW_INDEX
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
    """Where a file's columns are.

    `names` has the physical names of columns and nested fields by field id, in the order of the
    ids; None: the file is read by field id. `constants` are canonical values by field id, None for
    a column of lineage that the file lacks, and `same_constants` is what they are compared by: NaN
    is NaN, and 0.0 is not -0.0.
    `unproven` are the ids of top-level columns that no filter may be pushed down on.
    """

    names: tuple[tuple[int, str], ...] | None = None
    constants: tuple[tuple[int, Any], ...] = field(default=(), compare=False)
    same_constants: tuple[object, ...] = field(init=False, repr=False)
    unproven: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "same_constants", partition_key(tuple(chain(*self.constants))))


HIDDEN = "__field_"
"""So begin names that no file has, under which columns are asked for that mustn't be filtered."""
Found: TypeAlias = FileColumns | str
"""Where the columns are, or why Spark's reader can't find them."""


FindMisread: TypeAlias = Callable[[ScanPlan, Longs, Sequence[t.NestedField]], Mapping[int, str]]
"""From a plan, rows of its files and columns to why Spark's reader misreads a file, by its row."""


def file_columns(
    plan: ScanPlan,
    rows: Longs,
    wanted: Sequence[t.NestedField],
    *,
    isolated: bool,
    find_misread: FindMisread,
) -> list[Found]:
    """Return for each of some planned files where its wanted top-level columns are.

    With `isolated` False a setting could make Spark read by name, so that a file whose names are
    not the table's is not for it. `find_misread` is asked about files whose footers are too many
    to be read here. Of files that agree in all but what is proven, two kinds are made at most.
    Raises CorruptFileError as `footers` does.
    """
    most = footer_limit(plan)
    if len(rows) > most and plan.context.name_mapping:
        why = f"more than {most:,} files may have no field ids, by the table's name mapping"
        return [why] * len(rows)
    search = _FileSearch(plan, tuple(wanted), isolated)
    places = (plan.files.column(name).to_numpy()[rows].tolist() for name in _PLACE)
    if len(rows) <= most:
        return _joined(list(map(search.found, rows.tolist(), footers(plan, rows), *places)))
    # A session that is not isolated leaves files without a footer to the Arrow engine anyway.
    misread = find_misread(plan, rows, wanted) if isolated else {}
    found = map(search.found, rows.tolist(), [None] * len(rows), *places)
    return _joined(
        [misread.get(row, columns) for row, columns in zip(rows.tolist(), found, strict=True)]
    )


_PLACE = ("spec_id", "partition_index")


@dataclass(frozen=True, slots=True)
class _FileSearch:
    """Finds columns once for all files whose footers and, where these count, partitions agree."""

    plan: ScanPlan
    wanted: tuple[t.NestedField, ...]
    isolated: bool
    known: dict[tuple[Any, ...], Found] = field(default_factory=dict)

    def found(self, row: int, head: FooterHead | None, spec_id: int, partition: int) -> Found:
        if head is not None and head.is_rebased and self._has_times():
            return "days and times of the calendar that Spark had before 3.0"
        if head is not None and head.rare_encodings:
            names = " and ".join(head.rare_encodings)
            return f"pages in {names}, which Spark's reader can't decode"
        stored = None if head is None else head.columns
        left = self._sources(spec_id)
        if stored is not None:
            left -= {one.own_id for one in stored.fields}
        key = (stored, spec_id, partition if left else None)
        if key not in self.known:
            self.known[key] = self._search(row, stored, left=bool(left))
        return self.known[key]

    def _has_times(self) -> bool:
        kinds = (t.DateType, t.TimestampType, t.TimestamptzType)
        return any(
            isinstance(each.field_type, kinds) for one in self.wanted for each in _nested(one)
        )

    def _sources(self, spec_id: int) -> set[int | None]:
        """Return the wanted columns whose values a partition of that spec has."""
        spec = self.plan.context.specs.get(spec_id)
        if spec is None or spec.is_unpartitioned:
            return set()
        wanted = {each.field_id for one in self.wanted for each in _nested(one)}
        return {
            part.source_id
            for part in spec.fields
            if isinstance(part.transform, IdentityTransform) and part.source_id in wanted
        }

    def _search(self, row: int, stored: StoredColumns | None, *, left: bool) -> Found:
        context = self.plan.context
        if stored is None:
            if context.name_mapping:
                return "footer that can't be read"  # the action says what is wrong
            if left:
                return "footer that was not read, so that partition values may be missing"
            return self._fit(FileColumns(), tuple(sorted(one.field_id for one in self.wanted)))
        mapping = ids_of(name_mapping.parse(context.name_mapping)) if context.name_mapping else {}
        if not mapping and not has_own_ids(stored.fields):
            return "without field ids, in a table that has no name mapping"
        constants: dict[int, Any] = {}
        if left:
            (task,) = self.plan.tasks_at(np.array([row]))
            constants = identity_values(context.specs[task.spec_id], task.partition)
        found = columns_in(stored.arrow, self.wanted, mapping, constants, stored.leaves)
        if isinstance(found, str):
            return found
        mapped = {path: number for path, number in mapping.items() if number not in constants}
        doubtful = unproven(
            file_fields(stored.arrow, mapped) if mapped else stored.fields,
            stored.leaves,
            self.wanted,
            by_id=found.names is None,
            exact_names=not self.isolated,
        )
        return self._fit(found, doubtful)

    def _fit(self, found: FileColumns, doubtful: tuple[int, ...]) -> Found:
        if doubtful and not self.isolated:
            return "columns that a setting of the session could mistake for others"
        return replace(found, unproven=doubtful)


def _joined(found: list[Found]) -> list[Found]:
    """Make one kind of those that only differ in what is not proven."""
    doubtful: dict[FileColumns, set[int]] = {}
    for one in dict.fromkeys(found):
        if isinstance(one, FileColumns) and one.unproven:
            doubtful.setdefault(replace(one, unproven=()), set()).update(one.unproven)

    def joined(one: Found) -> Found:
        if isinstance(one, str) or not one.unproven:
            return one
        return replace(one, unproven=tuple(sorted(doubtful[replace(one, unproven=())])))

    by_kind = {one: joined(one) for one in dict.fromkeys(found)}
    return [by_kind[one] for one in found]


def _nested(wanted: t.NestedField) -> Iterator[t.NestedField]:
    yield wanted
    for child in t.child_fields(wanted.field_type):
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
    wanted: Sequence[t.NestedField],
    mapping: Mapping[Path, int],
    constants: Mapping[int, Any],
    leaves: Sequence[StoredLeaf],
) -> Found:
    """Return where the wanted columns are in a file with the `stored` columns and `leaves`."""
    mapped = {path: number for path, number in mapping.items() if number not in constants}
    search = _Search(has_own_ids(file_fields(stored)), constants, leaves)
    fields = file_fields(stored, mapped)
    folded = {one.name.lower() for one in fields}
    if not search.by_id and len(folded) < len(fields):
        return "column names that differ by case only"
    if any(name.startswith(HIDDEN) or name == ROW_INDEX for name in folded):
        return "a column name that the native engine uses itself"
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
    leaves: Sequence[StoredLeaf]
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
        elif wanted.field_id in LINEAGE_IDS:
            self.used[wanted.field_id] = None
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
            case t.VariantType() if is_stored_variant(found.kind):
                pass
            case kind if _is_stored_as(found.kind, kind):
                if found.leaves and _is_misread(self.leaves[found.leaves[0]], kind):
                    leaf = self.leaves[found.leaves[0]]
                    width = f" of {leaf.length} bytes" if leaf.length else ""
                    raise _UnfitError(
                        f"column '{found.name}' stores decimals as {leaf.physical}{width}"
                    )
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


_LONG_PRECISION = 18
"""Decimals of up to so many digits are longs to Spark."""
_RIGHT_WIDTHS = frozenset((*range(1, 9), 16))
"""Bytes of FIXED_LEN_BYTE_ARRAY that Spark reads right as longs.

It shifts the bytes into a long, then the sign by 64 minus the width in bits, which Java takes
modulo 64: 12 bytes are shifted by -32, that is by 32, and lose the upper half; 16 bytes by 0.
Source: `ParquetRowConverter.binaryToUnscaledLong`.
"""


def may_be_misread(column: t.NestedField) -> bool:
    """Return whether a column has decimals that Spark's reader misreads in some files."""
    kinds = (each.field_type for each in _nested(column))
    return any(isinstance(k, t.DecimalType) and k.precision <= _LONG_PRECISION for k in kinds)


def _is_misread(leaf: StoredLeaf, wanted: t.IcebergType) -> bool:
    """Return whether Spark's reader returns other decimals than a leaf stores, or fails."""
    if not isinstance(wanted, t.DecimalType) or wanted.precision > _LONG_PRECISION:
        return False
    match leaf.physical:
        case "FIXED_LEN_BYTE_ARRAY":
            return leaf.length not in _RIGHT_WIDTHS
        case physical:
            return physical == "BYTE_ARRAY"
