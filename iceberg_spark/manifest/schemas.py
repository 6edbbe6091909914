"""The structs of manifests and manifest lists per format version, field order as Java writes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa

from iceberg_spark.expr.arrow_literal import arrow_type
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    FixedType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

ENTRY_NAME = "manifest_entry"
MANIFEST_FILE_NAME = "manifest_file"
BLOCK_SIZE = "block_size_in_bytes"
DEFAULT_BLOCK_SIZE = 64 * 1024 * 1024
"""Required in v1 and without meaning (specification: "Data File Fields")."""

_INT, _LONG, _STRING, _BYTES = IntegerType(), LongType(), StringType(), BinaryType()


def _required(field_id: int, name: str, kind: IcebergType) -> NestedField:
    return NestedField(field_id, name, kind, required=True)


def _optional(field_id: int, name: str, kind: IcebergType) -> NestedField:
    return NestedField(field_id, name, kind)


def _map(key_id: int, value_id: int, value: IcebergType) -> MapType:
    return MapType(key_id, _INT, value_id, value, value_required=True)


def _stored_partition(field: NestedField) -> NestedField:
    is_fixed = isinstance(field.field_type, FixedType)
    return replace(field, field_type=_BYTES) if is_fixed else field


_METRICS = (
    _optional(108, "column_sizes", _map(117, 118, _LONG)),
    _optional(109, "value_counts", _map(119, 120, _LONG)),
    _optional(110, "null_value_counts", _map(121, 122, _LONG)),
    _optional(137, "nan_value_counts", _map(138, 139, _LONG)),
    _optional(125, "lower_bounds", _map(126, 127, _BYTES)),
    _optional(128, "upper_bounds", _map(129, 130, _BYTES)),
    _optional(131, "key_metadata", _BYTES),
    _optional(132, "split_offsets", ListType(133, _LONG, element_required=True)),
)
_EQUALITY_IDS = _optional(135, "equality_ids", ListType(136, _INT, element_required=True))
_SORT_ORDER = _optional(140, "sort_order_id", _INT)
_REFERENCED = _optional(143, "referenced_data_file", _STRING)
_VECTOR = (
    _optional(144, "content_offset", _LONG),
    _optional(145, "content_size_in_bytes", _LONG),
)


def data_file_struct(partition_type: StructType, format_version: int) -> StructType:
    """Return the `data_file` struct (specification: "Data File Fields").

    Partition values of type fixed are stored as bytes: Java up to 1.12 expects a length before
    them, which Avro's fixed does not have. Other readers read bytes as well.
    """
    partition_type = StructType(*map(_stored_partition, partition_type.fields))
    head = (
        _required(100, "file_path", _STRING),
        _required(101, "file_format", _STRING),
        _required(102, "partition", partition_type),
        _required(103, "record_count", _LONG),
        _required(104, "file_size_in_bytes", _LONG),
    )
    if format_version == 1:
        block = _required(105, BLOCK_SIZE, _LONG)
        return StructType(*head, block, *_METRICS, _SORT_ORDER)
    content = _required(134, "content", _INT)
    tail = (_EQUALITY_IDS, _SORT_ORDER)
    if format_version == 2:
        return StructType(content, *head, *_METRICS, *tail, _REFERENCED)
    row_id = _optional(142, "first_row_id", _LONG)
    return StructType(content, *head, *_METRICS, *tail, row_id, _REFERENCED, *_VECTOR)


def entry_struct(partition_type: StructType, format_version: int) -> StructType:
    """Return the `manifest_entry` struct (specification: "Manifest Entry Fields")."""
    data_file = _required(2, "data_file", data_file_struct(partition_type, format_version))
    status = _required(0, "status", _INT)
    if format_version == 1:
        return StructType(status, _required(1, "snapshot_id", _LONG), data_file)
    return StructType(
        status,
        _optional(1, "snapshot_id", _LONG),
        _optional(3, "sequence_number", _LONG),
        _optional(4, "file_sequence_number", _LONG),
        data_file,
    )


_SUMMARY = StructType(
    _required(509, "contains_null", BooleanType()),
    _optional(518, "contains_nan", BooleanType()),
    _optional(510, "lower_bound", _BYTES),
    _optional(511, "upper_bound", _BYTES),
)
_PARTITIONS = _optional(507, "partitions", ListType(508, _SUMMARY, element_required=True))
_KEY_METADATA = _optional(519, "key_metadata", _BYTES)
_COUNTS = (
    (504, "added_files_count", _INT),
    (505, "existing_files_count", _INT),
    (506, "deleted_files_count", _INT),
    (512, "added_rows_count", _LONG),
    (513, "existing_rows_count", _LONG),
    (514, "deleted_rows_count", _LONG),
)


def manifest_file_struct(format_version: int) -> StructType:
    """Return the `manifest_file` struct (specification: "Manifest Lists")."""
    head = (
        _required(500, "manifest_path", _STRING),
        _required(501, "manifest_length", _LONG),
        _required(502, "partition_spec_id", _INT),
    )
    snapshot = _required(503, "added_snapshot_id", _LONG)
    if format_version == 1:
        counts = [_optional(*count) for count in _COUNTS]
        return StructType(*head, snapshot, *counts[:3], _PARTITIONS, *counts[3:], _KEY_METADATA)
    sequence = (
        _required(517, "content", _INT),
        _required(515, "sequence_number", _LONG),
        _required(516, "min_sequence_number", _LONG),
    )
    body = (*(_required(*count) for count in _COUNTS), _PARTITIONS, _KEY_METADATA)
    row_id = () if format_version == 2 else (_optional(520, "first_row_id", _LONG),)
    return StructType(*head, *sequence, snapshot, *body, *row_id)


DataType: TypeAlias = Any  # pyarrow ships no types

DATA_FILE_ID = 2
PARTITION_ID = 102
PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class EntryColumn:
    """A column of an entry table: field id in manifests and Arrow type."""

    field_id: int
    type: DataType


def _counts() -> DataType:
    return pa.list_(pa.struct([("key", pa.int32()), ("value", pa.int64())]))


def _bounds() -> DataType:
    return pa.list_(pa.struct([("key", pa.int32()), ("value", pa.binary())]))


ENTRY_COLUMNS: Mapping[str, EntryColumn] = {
    "status": EntryColumn(0, pa.int32()),
    "snapshot_id": EntryColumn(1, pa.int64()),
    "data_sequence_number": EntryColumn(3, pa.int64()),
    "file_sequence_number": EntryColumn(4, pa.int64()),
    "content": EntryColumn(134, pa.int32()),
    "file_path": EntryColumn(100, pa.string()),
    "file_format": EntryColumn(101, pa.string()),
    PARTITION: EntryColumn(PARTITION_ID, pa.struct([])),  # typed by the spec: `entry_schema`
    "record_count": EntryColumn(103, pa.int64()),
    "file_size_in_bytes": EntryColumn(104, pa.int64()),
    "column_sizes": EntryColumn(108, _counts()),
    "value_counts": EntryColumn(109, _counts()),
    "null_value_counts": EntryColumn(110, _counts()),
    "nan_value_counts": EntryColumn(137, _counts()),
    "lower_bounds": EntryColumn(125, _bounds()),
    "upper_bounds": EntryColumn(128, _bounds()),
    "key_metadata": EntryColumn(131, pa.binary()),
    "split_offsets": EntryColumn(132, pa.list_(pa.int64())),
    "equality_ids": EntryColumn(135, pa.list_(pa.int32())),
    "sort_order_id": EntryColumn(140, pa.int32()),
    "first_row_id": EntryColumn(142, pa.int64()),
    "referenced_data_file": EntryColumn(143, pa.string()),
    "content_offset": EntryColumn(144, pa.int64()),
    "content_size_in_bytes": EntryColumn(145, pa.int64()),
}
"""The columns of an entry table, in order."""

REQUIRED = ("status", "file_path", "file_format", "record_count", "file_size_in_bytes")
"""Columns that every manifest has, of every format version."""


def partition_arrow_type(partition_type: StructType) -> DataType:
    """Return the Arrow struct of a partition tuple; children are named by partition field id."""
    return pa.struct(
        [(str(field.field_id), arrow_type(field.field_type)) for field in partition_type.fields]
    )


def value_column(name: str, field_id: int) -> str:
    """Return the name of the column of an entry table with one column's values in a map."""
    return f"{name}.{field_id}"


def value_columns(columns: Collection[str]) -> dict[str, tuple[str, int]]:
    """Return the map and the field id of each name that `value_column` returned."""
    split = {name: name.partition(".") for name in columns if name not in ENTRY_COLUMNS}
    return {
        name: (base, int(field_id))
        for name, (base, _, field_id) in split.items()
        if field_id.isdecimal() and base in ENTRY_COLUMNS and _is_map(ENTRY_COLUMNS[base].type)
    }


def _is_map(kind: DataType) -> bool:
    """Return whether a column of an entry table is a list of keys and values."""
    return bool(pa.types.is_list(kind) and pa.types.is_struct(kind.value_type))


def column_type(name: str) -> DataType:
    """Return the type of a column of ENTRY_COLUMNS or of `value_columns`."""
    base = name.partition(".")[0]
    kind = ENTRY_COLUMNS[base].type
    return kind if base == name else kind.value_type.field("value").type


def entry_schema(partition_type: StructType, columns: Collection[str] | None = None) -> Any:
    """Return the Arrow schema of an entry table, of some columns or (None) of ENTRY_COLUMNS.

    Columns of `value_columns` follow the others.
    """
    names = [name for name in ENTRY_COLUMNS if columns is None or name in columns]
    names += sorted(value_columns(columns or ()))
    return pa.schema(
        [
            (name, partition_arrow_type(partition_type) if name == PARTITION else column_type(name))
            for name in names
        ]
    )
