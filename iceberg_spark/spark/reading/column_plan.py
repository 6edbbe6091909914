"""How Spark's Parquet reader reads each column of a group of files.

`requested_columns` finds scans that Spark's reader cannot read, `footer_columns` where a file
stores its columns, and `column_proof` which of them Spark may filter. `ColumnPlan` is the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.pruning import canonical_tuples
from iceberg_spark.scan.split import Longs
from iceberg_spark.spark.reading.footer_columns import (
    HIDDEN,
    ColumnsOrReason,
    FileColumns,
    FindMisread,
    file_columns,
)
from iceberg_spark.spark.reading.identity_columns import is_identity_column
from iceberg_spark.spark.reading.requested_columns import RequestedColumns, with_nested_fields
from iceberg_spark.spec import reserved
from iceberg_spark.spec import types as t


class Origin(Enum):
    """The source of a column's values."""

    FILE = auto()
    """The file; of one that lacks it, its default or NULL."""
    IDENTITY = auto()
    """An identity partition field, whose value is the same for all rows of a file."""
    CONSTANT = auto()
    """The same for all files: `value`, canonical."""
    NOTHING = auto()
    """Always NULL, for its type is unknown."""
    PATH = auto()
    """The file's path; `value` is how the table spells its beginning."""
    POSITION = auto()
    """The row's place in its file."""
    DELETED = auto()
    """What applied deletes say of the row."""
    LINEAGE = auto()
    """The file; where it has none, what the row inherits by its file and its place.

    No file of the group has any where nothing is `asked`."""
    PARTITION = auto()
    """A struct of the partition's values: `value`, canonical by field id."""


class Shield(Enum):
    """What keeps Spark's filters, and its pruning of structs, away from a column of a file."""

    NONE = auto()
    """Nothing: they may reach it, or no file has a column of the name."""
    NAN = auto()
    """Statistics of a float leave NaN out."""
    LEAF = auto()
    """The file may have another column, or another type, under the name."""
    ROOT = auto()
    """So may it for a nested column: neither filters nor pruning."""
    RENAMED = auto()
    """The same by names that no file has; the column gets its own names back."""


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """How a top-level column is read.

    `requested` is the field that Spark's reader gets: `field` under its names in the files, and
    UUIDs as 16 bytes. It is None for metadata columns.
    """

    field: t.NestedField
    origin: Origin
    requested: t.NestedField | None = None
    shield: Shield = Shield.NONE
    value: Any = None

    @property
    def is_as_read(self) -> bool:
        """Whether the values are those that Spark's reader returns, under whatever name."""
        is_plain = self.is_stored and self.shield is Shield.NONE
        return is_plain and not isinstance(self.field.field_type, t.UUIDType)

    @property
    def is_stored(self) -> bool:
        """Whether the relation has the column, with the values of its files or partitions."""
        return self.origin in {Origin.FILE, Origin.IDENTITY}


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPlan:
    """How Spark's reader reads the columns of a group of files.

    `shown` are the columns of the read schema, in its order. `read` are those that come from files:
    without metadata columns, and with the filter's. `keys` are those that only deletes need. `file`
    describes where the files store them.
    """

    file: FileColumns
    shown: tuple[PlannedColumn, ...]
    read: tuple[PlannedColumn, ...]
    keys: tuple[PlannedColumn, ...] = ()

    @property
    def by_id(self) -> bool:
        """Whether columns are read by field id, or else by name."""
        return self.file.names is None

    @property
    def is_as_read(self) -> bool:
        """Whether the relation has the shown columns unchanged and in their order."""
        is_in_order = self.shown == self.read and not self.has(Origin.IDENTITY)
        return is_in_order and all(column.is_as_read for column in self.shown)

    def of(self, field_id: int) -> PlannedColumn:
        """Return how to read a column that the query selects or that delete files refer to."""
        every = (*self.read, *self.keys)
        return next(column for column in every if column.field.field_id == field_id)

    def has(self, origin: Origin) -> bool:
        """Return whether a shown column comes from a source."""
        return any(column.origin is origin for column in self.shown)


def column_plans(
    plan: ScanPlan,
    rows: Longs,
    requested: RequestedColumns,
    prefixes: pa.Array,
    find_misread: FindMisread,
    *,
    has_file_values: bool,
) -> Iterator[tuple[ColumnPlan | str, Longs]]:
    """Yield groups of files whose columns are read the same way, or why Spark's reader cannot.

    Args:
        plan: the files.
        rows: indices of the files in `plan.files`.
        requested: the columns to read.
        prefixes: how the path of each of these files starts.
        find_misread: as in `file_columns`.
        has_file_values: relations can have values of their files as columns.

    Raises:
        CorruptFileError: a footer contradicts the metadata.
    """
    rows_by_columns = defaultdict[ColumnsOrReason, list[int]](list)
    columns_of = file_columns(
        plan, rows, requested.all_fields, isolated=requested.isolated, find_misread=find_misread
    )
    for row, columns in zip(rows.tolist(), columns_of, strict=True):
        rows_by_columns[columns].append(row)
    for columns, members in rows_by_columns.items():
        chosen = np.array(members, np.int64)
        if isinstance(columns, str):
            yield columns, chosen
            continue
        for part in _alike(plan, chosen, prefixes):
            identity = _identity_ids(plan, part, requested) if has_file_values else frozenset()
            planned = _Columns(requested, columns, identity)
            yield _planned(plan, int(part[0]), planned, prefixes), part


def _identity_ids(plan: ScanPlan, rows: Longs, requested: RequestedColumns) -> frozenset[int]:
    """Return the ids of the columns that are identity partition fields of all these files."""
    spec_ids = np.unique(plan.files.column("spec_id").to_numpy()[rows]).tolist()
    return frozenset(
        field.field_id for field in requested.fields if is_identity_column(plan, spec_ids, field)
    )


def _alike(plan: ScanPlan, rows: Longs, prefixes: pa.Array) -> Iterator[Longs]:
    """Split files by the metadata columns that are constant in a relation."""
    read_ids = {field.field_id for field in plan.context.read_schema}
    of_id = {
        reserved.FILE_ID: prefixes,
        reserved.SPEC_ID_ID: plan.files.column("spec_id"),
        reserved.PARTITION_ID: plan.files.column("partition_index"),
    }
    keys = {
        str(number): key.take(pa.array(rows)) for number, key in of_id.items() if number in read_ids
    }
    if not keys:
        yield rows
        return
    numbered = pa.table({**keys, "row": rows}).combine_chunks()
    for group in numbered.group_by(list(keys)).aggregate([("row", "list")]).column("row_list"):
        yield np.sort(group.values.to_numpy())


def _planned(plan: ScanPlan, row: int, columns: _Columns, prefixes: pa.Array) -> ColumnPlan:
    requested = columns.requested
    read = {field.field_id: columns.planned(field) for field in requested.fields}
    shown = tuple(
        _shown(read[field.field_id])
        if field.field_id in read
        else _metadata(plan, row, field, prefixes)
        for field in plan.context.read_schema.fields
    )
    keys = tuple(columns.planned(field) for field in requested.keys)
    return ColumnPlan(columns.file, shown, tuple(read.values()), keys)


def _shown(read: PlannedColumn) -> PlannedColumn:
    if read.field.field_id not in reserved.LINEAGE_IDS:
        return read
    own = None if read.origin is Origin.CONSTANT else read.requested
    return replace(read, origin=Origin.LINEAGE, requested=own)


def _metadata(plan: ScanPlan, row: int, shown: t.NestedField, prefixes: pa.Array) -> PlannedColumn:
    match shown.field_id:
        case reserved.FILE_ID:
            return PlannedColumn(shown, Origin.PATH, value=prefixes[row].as_py())
        case reserved.POS_ID:
            return PlannedColumn(shown, Origin.POSITION)
        case reserved.SPEC_ID_ID:
            spec_id = plan.files.column("spec_id")[row].as_py()
            return PlannedColumn(shown, Origin.CONSTANT, value=spec_id)
        case reserved.PARTITION_ID:
            return PlannedColumn(shown, Origin.PARTITION, value=_partition(plan, row))
        case _:
            return PlannedColumn(shown, Origin.DELETED)


def _partition(plan: ScanPlan, row: int) -> dict[int, Any]:
    spec = plan.context.specs[plan.files.column("spec_id")[row].as_py()]
    tuples = [
        values_of_part
        for part in plan.partitions
        for values_of_part in canonical_tuples(part.kind, part.tuples)
    ]
    values = tuples[plan.files.column("partition_index")[row].as_py()]
    return dict(zip((part.field_id for part in spec.fields), values, strict=True))


@dataclass(slots=True)
class _Columns:
    """Plans the columns of files that store them as `file` describes.

    `identity` are the ids of columns whose values the partitions of the files have.
    """

    requested: RequestedColumns
    file: FileColumns
    identity: frozenset[int]
    names: dict[int, str] = field(init=False)
    constants: dict[int, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.names = dict(self.file.names or ())
        self.constants = dict(self.file.constants)

    def planned(self, field: t.NestedField) -> PlannedColumn:
        must_not = field.field_id in self.file.unproven or has_floats(field)
        is_hidden = self._is_hidden(field, must_not=must_not)
        requested = self._renamed(field, is_hidden=is_hidden)
        if isinstance(field.field_type, t.UUIDType):
            requested = replace(requested, field_type=t.FixedType(16))
        if isinstance(field.field_type, t.UnknownType):
            return PlannedColumn(field, Origin.NOTHING, requested)
        if field.field_id in self.identity:
            return PlannedColumn(field, Origin.IDENTITY, requested)
        if field.field_id in self.constants:
            value = self.constants[field.field_id]
            return PlannedColumn(field, Origin.CONSTANT, requested, value=value)
        shield = _shield(field, requested, is_hidden=is_hidden, must_not=must_not)
        return PlannedColumn(field, Origin.FILE, requested, shield)

    def _is_hidden(self, field: t.NestedField, *, must_not: bool) -> bool:
        """Return whether to request a column under a name that no file has.

        Without field ids, or if a setting could turn reading by id off, the reader would find
        nothing under that name. There a column that must not be filtered keeps its name and is
        shielded.
        """
        if self.file.names is not None:
            return field.field_id not in self.names
        was_dropped = self.requested.context.table_schema.get(field.field_id) is None
        return was_dropped or (self.requested.isolated and must_not)

    def _renamed(self, field: t.NestedField, *, is_hidden: bool) -> t.NestedField:
        """Return a field, and its nested fields, under the names that Spark's reader gets."""
        if self.file.names is None and not is_hidden:
            return field
        names = {} if is_hidden else self.names
        name = names.get(field.field_id, f"{HIDDEN}{field.field_id}")
        kind = self._renamed_type(field.field_type, is_hidden=is_hidden)
        return replace(field, name=name, field_type=kind)

    def _renamed_type(self, kind: t.IcebergType, *, is_hidden: bool) -> t.IcebergType:
        match kind:
            case t.StructType(fields=fields):
                return t.StructType(*(self._renamed(f, is_hidden=is_hidden) for f in fields))
            case t.ListType(element_type=element):
                renamed = self._renamed_type(element, is_hidden=is_hidden)
                return replace(kind, element_type=renamed)
            case t.MapType(key_type=key, value_type=value):
                return replace(
                    kind,
                    key_type=self._renamed_type(key, is_hidden=is_hidden),
                    value_type=self._renamed_type(value, is_hidden=is_hidden),
                )
            case _:
                return kind


def _shield(
    field: t.NestedField, requested: t.NestedField, *, is_hidden: bool, must_not: bool
) -> Shield:
    if t.child_fields(field.field_type):
        if is_hidden:
            return Shield.RENAMED
        return Shield.ROOT if must_not or requested.field_type != field.field_type else Shield.NONE
    if is_hidden or not must_not:
        return Shield.NONE
    if isinstance(field.field_type, t.VariantType):
        return Shield.ROOT
    return Shield.NAN if isinstance(field.field_type, _FLOATS) else Shield.LEAF


def has_floats(field: t.NestedField) -> bool:
    """Return whether Spark must not use statistics of a column, because they leave out NaN.

    Spark would skip row groups that have rows with NaN. It holds for nested floats too.
    """
    return any(isinstance(inner.field_type, _FLOATS) for inner in with_nested_fields(field))


_FLOATS = (t.FloatType, t.DoubleType)
