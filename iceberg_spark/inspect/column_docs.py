"""The comments of the columns of metadata tables, as Java's tables have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from iceberg_spark.spec.types import NestedField

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
