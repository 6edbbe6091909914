"""The columns of each metadata table: Java's names, types and nullability.

Field ids are Java's where Java fixes them. Otherwise they only have to be unique.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.arrays import struct_of
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.manifest.schemas import data_file_struct
from iceberg_spark.spec import reserved
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_type import union_partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    PRIMITIVES,
    BinaryType,
    BooleanType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

PARTITION = "partition"
READABLE_METRICS = "readable_metrics"
SPEC_ID = "spec_id"
DATA_FILE = "data_file"
COUNT_METRICS = ("column_size", "value_count", "null_value_count", "nan_value_count")
BOUND_METRICS = ("lower_bound", "upper_bound")
_CONTENT_OFFSET_ID = 2_147_483_641
_CONTENT_SIZE_ID = 2_147_483_640

_INT, _LONG, _STRING, _TIME = IntegerType(), LongType(), StringType(), TimestamptzType()


def _required(field_id: int, name: str, kind: IcebergType) -> NestedField:
    return NestedField(field_id, name, kind, required=True)


def _optional(field_id: int, name: str, kind: IcebergType) -> NestedField:
    return NestedField(field_id, name, kind)


HISTORY = Schema(
    _required(1, "made_current_at", _TIME),
    _required(2, "snapshot_id", _LONG),
    _optional(3, "parent_id", _LONG),
    _required(4, "is_current_ancestor", BooleanType()),
)
METADATA_LOG_ENTRIES = Schema(
    _required(1, "timestamp", _TIME),
    _required(2, "file", _STRING),
    _optional(3, "latest_snapshot_id", _LONG),
    _optional(4, "latest_schema_id", _INT),
    _optional(5, "latest_sequence_number", _LONG),
)
SNAPSHOTS = Schema(
    _required(1, "committed_at", _TIME),
    _required(2, "snapshot_id", _LONG),
    _optional(3, "parent_id", _LONG),
    _optional(4, "operation", _STRING),
    _optional(5, "manifest_list", _STRING),
    _optional(6, "summary", MapType(7, _STRING, 8, _STRING, value_required=True)),
)
REFS = Schema(
    _required(1, "name", _STRING),
    _required(2, "type", _STRING),
    _required(3, "snapshot_id", _LONG),
    _optional(4, "max_reference_age_in_ms", _LONG),
    _optional(5, "min_snapshots_to_keep", _INT),
    _optional(6, "max_snapshot_age_in_ms", _LONG),
)
_BLOB = StructType(
    _required(6, "type", _STRING),
    _required(7, "snapshot_id", _LONG),
    _required(8, "sequence_number", _LONG),
    _required(9, "fields", ListType(10, _INT, element_required=True)),
    _optional(11, "properties", MapType(12, _STRING, 13, _STRING, value_required=True)),
)
STATISTICS_FILES = Schema(
    _required(1, "snapshot_id", _LONG),
    _required(2, "statistics_path", _STRING),
    _required(3, "file_size_in_bytes", _LONG),
    _required(4, "file_footer_size_in_bytes", _LONG),
    _required(5, "blob_metadata", ListType(14, _BLOB, element_required=True)),
)
PARTITION_STATISTICS_FILES = Schema(
    _required(1, "snapshot_id", _LONG),
    _required(2, "statistics_path", _STRING),
    _required(3, "file_size_in_bytes", _LONG),
)


def _manifest_fields(*, all_snapshots: bool) -> tuple[NestedField, ...]:
    """Return the columns of `manifests` and `all_manifests`; the latter requires fewer of them."""
    kind = _optional if all_snapshots else _required
    nan = _required if all_snapshots else _optional
    summary = StructType(
        _required(10, "contains_null", BooleanType()),
        nan(11, "contains_nan", BooleanType()),
        _optional(12, "lower_bound", _STRING),
        _optional(13, "upper_bound", _STRING),
    )
    return (
        _required(14, "content", _INT),
        _required(1, "path", _STRING),
        _required(2, "length", _LONG),
        kind(3, "partition_spec_id", _INT),
        kind(4, "added_snapshot_id", _LONG),
        kind(5, "added_data_files_count", _INT),
        kind(6, "existing_data_files_count", _INT),
        kind(7, "deleted_data_files_count", _INT),
        _required(15, "added_delete_files_count", _INT),
        _required(16, "existing_delete_files_count", _INT),
        _required(17, "deleted_delete_files_count", _INT),
        kind(8, "partition_summaries", ListType(9, summary, element_required=True)),
    )


MANIFESTS = Schema(*_manifest_fields(all_snapshots=False))
ALL_MANIFESTS = Schema(
    *_manifest_fields(all_snapshots=True),
    _required(18, "reference_snapshot_id", _LONG),
    _optional(19, "key_metadata", BinaryType()),
)

_FIXED: Mapping[MetadataTable, Schema] = {
    MetadataTable.HISTORY: HISTORY,
    MetadataTable.METADATA_LOG_ENTRIES: METADATA_LOG_ENTRIES,
    MetadataTable.SNAPSHOTS: SNAPSHOTS,
    MetadataTable.REFS: REFS,
    MetadataTable.MANIFESTS: MANIFESTS,
    MetadataTable.ALL_MANIFESTS: ALL_MANIFESTS,
    MetadataTable.STATISTICS_FILES: STATISTICS_FILES,
    MetadataTable.PARTITION_STATISTICS_FILES: PARTITION_STATISTICS_FILES,
}


def metadata_table_schema(name: MetadataTable, metadata: TableMetadata) -> Schema:
    """Return the columns of a metadata table of this table."""
    if name in _FIXED:
        return _FIXED[name]
    partition = partition_struct(metadata)
    match name:
        case MetadataTable.PARTITIONS:
            return _partitions(partition)
        case MetadataTable.POSITION_DELETES:
            return _position_deletes(metadata, partition)
        case _ if name.has_entries:
            return _with_metrics(_entry_fields(partition), metadata.schema)
        case _:
            return _with_metrics(_file_fields(partition), metadata.schema)


def partition_struct(metadata: TableMetadata) -> StructType:
    """Return the partition fields of all specs whose source column the table still has.

    Source: Java's Partitioning.partitionType.
    """
    specs = metadata.partition_specs.values()
    sources = {part.field_id: part.source_ids for spec in specs for part in spec.fields}
    every = union_partition_type(specs, metadata.schema, metadata.schemas.values())
    return StructType(
        *(
            field
            for field in every.fields
            if any(metadata.schema.get(source) is not None for source in sources[field.field_id])
        )
    )


def metric_columns(schema: Schema) -> tuple[NestedField, ...]:
    """Return the columns that have readable metrics, with their full names, in the order of these.

    Source: Java's MetricsUtil.readableMetricsSchema. Geometry and geography have no readable bounds
    and are left out.
    """
    columns = [
        replace(schema.find_field(field_id), name=schema.find_column_name(field_id) or "")
        for field_id in schema.field_ids
    ]
    with_metrics = [
        column
        for column in columns
        if isinstance(column.field_type, PRIMITIVES)
        and not isinstance(column.field_type, GeometryType | GeographyType)
    ]
    return tuple(sorted(with_metrics, key=_java_order))


def _java_order(column: NestedField) -> bytes:
    """Return the key by which Java compares names: their UTF-16 code units."""
    return column.name.encode("utf-16-be")


def _with_metrics(fields: tuple[NestedField, ...], table: Schema) -> Schema:
    ids = itertools.count(Schema(*fields).highest_field_id + 1)
    metrics = StructType(*(_metrics_of(source, ids) for source in metric_columns(table)))
    column = _optional(next(ids), READABLE_METRICS, metrics)
    return Schema(*fields, replace(column, doc=METRICS_DOC))


def _metrics_of(column: NestedField, ids: Iterator[int]) -> NestedField:
    counts = [_optional(next(ids), name, _LONG) for name in COUNT_METRICS]
    bounds = [_optional(next(ids), name, column.field_type) for name in BOUND_METRICS]
    metrics = StructType(*with_docs([*counts, *bounds], METRIC_DOCS))
    metrics_column = _optional(next(ids), column.name, metrics)
    return replace(metrics_column, doc=f"Metrics for column {column.name}")


def _file_fields(partition: StructType) -> tuple[NestedField, ...]:
    fields: list[NestedField] = []
    for field in data_file_struct(partition, 3).fields:
        if field.name == PARTITION and not partition.fields:
            continue  # Java leaves out a struct without fields
        fields.append(replace(field, required=False) if field.name == "content" else field)
        if field.name == "file_format":
            fields.append(_optional(141, SPEC_ID, _INT))
    return with_docs(fields, FILE_DOCS)


def _entry_fields(partition: StructType) -> tuple[NestedField, ...]:
    return (
        _required(0, "status", _INT),
        _optional(1, "snapshot_id", _LONG),
        _optional(3, "sequence_number", _LONG),
        _optional(4, "file_sequence_number", _LONG),
        _required(2, DATA_FILE, StructType(*_file_fields(partition))),
    )


def _partitions(partition: StructType) -> Schema:
    columns = (
        _required(2, "record_count", _LONG),
        _required(3, "file_count", _INT),
        _required(11, "total_data_file_size_in_bytes", _LONG),
        _required(5, "position_delete_record_count", _LONG),
        _required(6, "position_delete_file_count", _INT),
        _required(7, "equality_delete_record_count", _LONG),
        _required(8, "equality_delete_file_count", _INT),
        _optional(9, "last_updated_at", _TIME),
        _optional(10, "last_updated_snapshot_id", _LONG),
    )
    counts = with_docs(columns, PARTITION_DOCS)
    if not partition.fields:
        return Schema(*counts)
    return Schema(_required(1, PARTITION, partition), _required(4, SPEC_ID, _INT), *counts)


def _position_deletes(metadata: TableMetadata, partition: StructType) -> Schema:
    """Return the columns of `position_deletes`; partition fields get ids that no column has."""
    used = {field_id for schema in metadata.schemas.values() for field_id in schema.field_ids}
    free = (number for number in itertools.count(1) if number not in used)
    renumbered = StructType(*(replace(field, field_id=next(free)) for field in partition.fields))
    fields = [
        reserved.DELETE_FILE_PATH,
        reserved.DELETE_FILE_POS,
        reserved.delete_row_field(metadata.schema.as_struct()),
        _required(reserved.PARTITION_ID, PARTITION, renumbered),
        _required(reserved.SPEC_ID_ID, SPEC_ID, _INT),
        _required(reserved.FILE_ID, "delete_file_path", _STRING),
    ]
    if not partition.fields:
        del fields[3]
    if metadata.rules.has_row_lineage:
        fields.append(_optional(_CONTENT_OFFSET_ID, "content_offset", _LONG))
        fields.append(_optional(_CONTENT_SIZE_ID, "content_size_in_bytes", _LONG))
    return Schema(*with_docs(fields, POSITION_DELETE_DOCS))


FILE_DOCS: Mapping[str, str] = {
    "content": "Contents of the file: 0=data, 1=position deletes, 2=equality deletes",
    "file_path": "Location URI with FS scheme",
    "file_format": "File format name: avro, orc, or parquet",
    "spec_id": "Partition spec ID",
    "partition": "Partition data tuple, schema based on the partition spec",
    "record_count": "Number of records in the file",
    "file_size_in_bytes": "Total file size in bytes",
    "column_sizes": "Map of column id to total size on disk",
    "value_counts": "Map of column id to total count, including null and NaN",
    "null_value_counts": "Map of column id to null value count",
    "nan_value_counts": "Map of column id to number of NaN values in the column",
    "lower_bounds": "Map of column id to lower bound",
    "upper_bounds": "Map of column id to upper bound",
    "key_metadata": "Encryption key metadata blob",
    "split_offsets": "Splittable offsets",
    "equality_ids": "Equality comparison field IDs",
    "sort_order_id": "Sort order ID",
    "first_row_id": "The first row ID assigned to the first row in the data file",
    "referenced_data_file": (
        "Fully qualified location (URI with FS scheme) of a data file that all deletes reference"
    ),
    "content_offset": "The offset in the file where the content starts",
    "content_size_in_bytes": "The length of referenced content stored in the file",
}
METRIC_DOCS: Mapping[str, str] = {
    "column_size": "Total size on disk",
    "value_count": "Total count, including null and NaN",
    "null_value_count": "Null value count",
    "nan_value_count": "NaN value count",
    "lower_bound": "Lower bound",
    "upper_bound": "Upper bound",
}
METRICS_DOC = "Column metrics in readable form"
PARTITION_DOCS: Mapping[str, str] = {
    "record_count": "Count of records in data files",
    "file_count": "Count of data files",
    "total_data_file_size_in_bytes": "Total size in bytes of data files",
    "position_delete_record_count": "Count of records in position delete files",
    "position_delete_file_count": "Count of position delete files",
    "equality_delete_record_count": "Count of records in equality delete files",
    "equality_delete_file_count": "Count of equality delete files",
    "last_updated_at": "Commit time of snapshot that last updated this partition",
    "last_updated_snapshot_id": "Id of snapshot that last updated this partition",
}
POSITION_DELETE_DOCS: Mapping[str, str] = {
    "file_path": "Path of a file in which a deleted row is stored",
    "pos": "Ordinal position of a deleted row in the data file",
    "row": "Deleted row values",
    "partition": "Partition that position delete row belongs to",
    "spec_id": "Spec ID used to track the file containing a row",
    "delete_file_path": "Path of the file in which a row is stored",
    "content_offset": "The offset in the DV where the content starts",
    "content_size_in_bytes": "The length in bytes of the DV blob",
}


def with_docs(fields: Iterable[NestedField], docs: Mapping[str, str]) -> tuple[NestedField, ...]:
    """Return the fields with the comments that `docs` has for their names; others unchanged."""
    return tuple(replace(field, doc=docs.get(field.name, field.doc)) for field in fields)


def align_partitions(partitions: Any, target: StructType) -> pa.StructArray:
    """Return partition tuples, their children named by field id, as the struct `target`."""
    children = [_child(partitions, field) for field in target.fields]
    return struct_of(len(partitions), children, to_arrow_type(target))


def _child(partitions: Any, field: NestedField) -> Any:
    kind = to_arrow_type(field.field_type)
    position = partitions.type.get_field_index(str(field.field_id))
    if position < 0:
        return pa.nulls(len(partitions), kind)
    child = partitions.field(position)
    return child if child.type == kind else child.cast(kind)
