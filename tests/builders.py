"""One-line helpers to build schemas, table metadata and data files in tests."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_json import type_from_json
from iceberg_spark.spec.snapshot import Snapshot, SnapshotRef, SnapshotRefType
from iceberg_spark.spec.sort import SortOrder
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_sort_order
from iceberg_spark.spec.types import IcebergType, ListType, MapType, NestedField, StructType

TABLE_UUID = str(uuid.UUID(int=7))
CREATED_MS = 1_700_000_000_000


def field(
    field_id: int, name: str, kind: str | IcebergType, required: bool = False, **rest: Any
) -> NestedField:
    """A field whose type may be text, as in `field(1, "id", "long")`."""
    return NestedField(field_id, name, type_of(kind), required, **rest)


def type_of(kind: str | IcebergType) -> IcebergType:
    """A type given by its text, or as it is."""
    return type_from_json(kind) if isinstance(kind, str) else kind


def struct(*fields: NestedField) -> StructType:
    return StructType(*fields)


def list_of(element_id: int, element: str | IcebergType, required: bool = False) -> ListType:
    return ListType(element_id, type_of(element), required)


def map_of(key_id: int, key: str | IcebergType, value_id: int, value: str | IcebergType) -> MapType:
    return MapType(key_id, type_of(key), value_id, type_of(value))


def schema(*fields: NestedField | tuple[str, str | IcebergType], **rest: Any) -> Schema:
    """A schema of fields, or of (name, type) pairs with the ids 1, 2, ..."""
    built = [
        one if isinstance(one, NestedField) else field(at, *one)
        for at, one in enumerate(fields, start=1)
    ]
    return Schema(*built, **rest)


EVENTS = schema(("id", "long"), ("ts", "timestamptz"), ("s", "string"), ("d", "decimal(9, 2)"))


def metadata(
    columns: Schema = EVENTS,
    partition_by: Sequence[str] = (),
    sort_order: Sequence[str] = (),
    *,
    format_version: int = 2,
    location: str = "file:/warehouse/t",
    properties: Mapping[str, str] | None = None,
    now_ms: int = CREATED_MS,
) -> TableMetadata:
    """The metadata of a new, empty table."""
    spec: PartitionSpec = parse_partition_spec(partition_by, columns)
    order: SortOrder = parse_sort_order(sort_order, columns)
    return new_metadata(
        columns,
        spec,
        order,
        location=location,
        now_ms=now_ms,
        properties=properties,
        format_version=format_version,
        table_uuid=TABLE_UUID,
    )


def snapshot(snapshot_id: int, sequence_number: int = 1, **rest: Any) -> Snapshot:
    """A snapshot that appended, `snapshot_id` ms after the table was made."""
    members: dict[str, Any] = {
        "timestamp_ms": CREATED_MS + snapshot_id,
        "manifest_list": f"file:/warehouse/t/metadata/snap-{snapshot_id}.avro",
        "summary": {"operation": "append"},
        "schema_id": 0,
    }
    return Snapshot(snapshot_id, sequence_number=sequence_number, **(members | rest))


def branch(snapshot_id: int, **retention: int) -> SnapshotRef:
    return SnapshotRef(snapshot_id, SnapshotRefType.BRANCH, **retention)


def tag(snapshot_id: int, **retention: int) -> SnapshotRef:
    return SnapshotRef(snapshot_id, SnapshotRefType.TAG, **retention)


def data_file(path: str = "file:/warehouse/t/data/1.parquet", **rest: Any) -> DataFile:
    """A Parquet data file of 10 rows and 100 bytes."""
    members: dict[str, Any] = {
        "content": DataFileContent.DATA,
        "file_format": FileFormat.PARQUET,
        "partition": (),
        "record_count": 10,
        "file_size_in_bytes": 100,
    }
    return DataFile(file_path=path, **(members | rest))


def position_deletes(path: str = "file:/warehouse/t/data/p.parquet", **rest: Any) -> DataFile:
    return data_file(path, content=DataFileContent.POSITION_DELETES, **rest)


def equality_deletes(
    equality_ids: Sequence[int], path: str = "file:/warehouse/t/data/e.parquet", **rest: Any
) -> DataFile:
    return data_file(
        path,
        content=DataFileContent.EQUALITY_DELETES,
        equality_ids=tuple(equality_ids),
        **rest,
    )


def scan_of(metadata: TableMetadata, **asked: Any) -> ScanContext:
    """The pinned scan of a request given by its fields."""
    return scan_context(metadata, ScanRequest(**asked))
