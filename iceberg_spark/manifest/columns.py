"""Manifest entries as columns: names, Arrow types, Avro field ids (specification: "Manifests")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from iceberg_spark.expr.arrow_literal import arrow_type
from iceberg_spark.spec.types import StructType

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


def entry_schema(partition_type: StructType, columns: Collection[str] | None = None) -> Any:
    """Return the Arrow schema of an entry table, of some columns or (None) of all."""
    return pa.schema(
        [
            (name, partition_arrow_type(partition_type) if name == PARTITION else column.type)
            for name, column in ENTRY_COLUMNS.items()
            if columns is None or name in columns
        ]
    )
