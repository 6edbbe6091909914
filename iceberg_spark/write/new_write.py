"""Check and collect what a write needs of a table, once before any task starts."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from iceberg_spark.arrow.transforms import check_transform
from iceberg_spark.catalog.table_io import check_write_places
from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.formats.metrics_modes import metrics_modes
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec import properties as names
from iceberg_spark.spec.data_file import ROW_FORMATS, FileFormat
from iceberg_spark.spec.encryption import check_not_encrypted
from iceberg_spark.spec.format_version import WRITTEN_VERSIONS
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED, UNSORTED_ORDER_ID, SortOrder
from iceberg_spark.spec.transforms import IdentityTransform, TimeTransform, TruncateTransform
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.locations import check_locations
from iceberg_spark.write.open_file import data_shape

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Output:
    """The spec and the sort order of a write's files by id, None for the table's own.

    Rows that are not `is_arranged` are neither distributed nor sorted.
    """

    spec_id: int | None = None
    sort_order_id: int | None = None
    is_arranged: bool = True

    def spec(self, metadata: TableMetadata) -> PartitionSpec:
        """Return the spec. Raises InvalidOptionError for an id that the table does not have."""
        if self.spec_id is None:
            return metadata.spec
        return _of_id("output-spec-id", self.spec_id, "partition specs", metadata.partition_specs)

    def sort_order(self, metadata: TableMetadata) -> SortOrder:
        """Return the sort order. Raises InvalidOptionError for an id that the table lacks."""
        if self.sort_order_id is None:
            return metadata.sort_order if self.is_arranged else UNSORTED
        name = "output-sort-order-id"
        return _of_id(name, self.sort_order_id, "sort orders", metadata.sort_orders)


def _of_id(option: str, number: int, what: str, values: Mapping[int, Value]) -> Value:
    if number not in values:
        ids = ", ".join(map(str, sorted(values)))
        raise InvalidOptionError(f"Option '{option}' is {number}, and the table's {what} are {ids}")
    return values[number]


TABLE_OUTPUT = Output()
"""The spec and the sort order that the table has."""


_KEEPS_ORDER = (IdentityTransform, TruncateTransform, TimeTransform)


def write_context(  # noqa: PLR0913 - one keyword for each option of a write
    metadata: TableMetadata,
    *,
    write_format: str | None = None,
    target_file_size_bytes: int | None = None,
    compression_codec: str | None = None,
    compression_level: int | str | None = None,
    fanout: bool | None = None,
    io: FileIO | None = None,
    properties_override: Mapping[str, str] | None = None,
    output: Output = TABLE_OUTPUT,
    write_id: str | None = None,
) -> WriteContext:
    """Return the values that the tasks of one write share; sizes are bytes.

    Raises UnsupportedError for a table that can't be written: an unknown partition transform, a
    column type without Arrow form or newer than version 2, a location provider class, metadata
    that redirects files to another bucket. Raises InvalidOptionError for a bad option or property.
    """
    spec = output.spec(metadata)
    _check_table(metadata, spec, io)
    merged = {**metadata.properties, **(properties_override or {})}
    file_format = _format(write_format or merged.get(names.DEFAULT_FILE_FORMAT, "parquet"))
    kind = file_format.lower()
    if compression_codec is not None:
        merged[f"write.{kind}.compression-codec"] = compression_codec
    if compression_level is not None:
        if file_format is not FileFormat.PARQUET:
            raise InvalidOptionError(f"compression-level: {kind} files have no compression level")
        merged[f"write.{kind}.compression-level"] = str(compression_level)
    context = WriteContext(
        table_location=metadata.location.rstrip("/"),
        format_version=metadata.format_version,
        schema=metadata.schema,
        spec=spec,
        sort_order_id=UNSORTED_ORDER_ID,
        file_format=file_format,
        delete_format=_format(merged.get(names.DELETE_DEFAULT_FILE_FORMAT) or file_format),
        target_file_size_bytes=_target_size(target_file_size_bytes, merged),
        write_id=write_id or str(uuid.uuid4()),
        fanout=True if fanout is None else fanout,
        properties=_needed(merged, metadata),
        io=io or open_storage(),
        sort_order=output.sort_order(metadata),
        row_bytes=_row_bytes(metadata),
    )
    data_shape(context)  # raises for a bad codec, level or size before any task starts
    return context


def _target_size(option: int | None, properties: Mapping[str, str]) -> int:
    """Return the bytes of a full data file. Raises InvalidOptionError."""
    name = names.WRITE_TARGET_FILE_SIZE_BYTES
    size = names.int_property(properties, name) if option is None else option
    if size <= 0:
        raise InvalidOptionError(f"target-file-size-bytes: {size} is not above 0")
    return size


def _row_bytes(metadata: TableMetadata) -> float | None:
    """Return the mean bytes of a row in the table's files, None for a table without rows."""
    summary = {} if metadata.current_snapshot is None else metadata.current_snapshot.summary
    try:
        size, rows = int(summary["total-files-size"]), int(summary["total-records"])
    except (KeyError, ValueError):
        return None
    return size / rows if size > 0 and rows > 0 else None


def _check_table(metadata: TableMetadata, spec: PartitionSpec, io: FileIO | None) -> None:
    if io is not None:
        check_write_places(metadata, io)
    if not metadata.rules.is_written:
        raise UnsupportedError(
            f"Table {metadata.location} has format version {metadata.format_version}; this "
            f"version of the library writes versions {WRITTEN_VERSIONS}"
        )
    check_not_encrypted(metadata)
    check_locations(metadata.properties)
    check_spec(spec, metadata.schema)


def check_spec(spec: PartitionSpec, schema: Schema) -> None:
    """Raise UnsupportedError naming a partition field whose values can't be computed."""
    for part in spec.fields:
        if len(part.source_ids) != 1:
            raise UnsupportedError(
                f"Partition field '{part.name}' has several source columns: tables with it are "
                "read, not written"
            )
        source = schema.get(part.source_id)
        if source is not None:
            check_transform(part.transform, source.field_type)


def _format(text: str) -> FileFormat:
    for file_format in ROW_FORMATS:
        if file_format.lower() == text.strip().lower():
            return file_format
    raise InvalidOptionError(f"File format '{text}' is unknown; use parquet, orc or avro")


def _needed(merged: Mapping[str, str], metadata: TableMetadata) -> dict[str, str]:
    """Return the `write.` properties, with the metrics mode of sorted columns made explicit.

    Columns of the table's sort order get at least truncate(16) (Java: MetricsConfig.from).
    """
    write_properties = {key: value for key, value in merged.items() if key.startswith("write.")}
    schema = metadata.schema
    sorted_ids = [
        key.source_id
        for key in metadata.sort_order.fields
        if isinstance(key.transform, _KEEPS_ORDER) and schema.get(key.source_id) is not None
    ]
    modes = metrics_modes(schema, write_properties)
    promoted = metrics_modes(schema, write_properties, sorted_ids)
    for field_id in sorted_ids:
        if promoted[field_id] != modes[field_id]:
            key = f"{names.METRICS_MODE_COLUMN_PREFIX}{schema.find_column_name(field_id)}"
            write_properties[key] = "truncate(16)"
    return write_properties
