"""The structs of manifests and manifest lists per format version, field order as Java writes it."""

from __future__ import annotations

from dataclasses import replace

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
