"""`statistics_files` and `partition_statistics_files`: the statistics files of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.inspect.rows import table_of
from iceberg_spark.inspect.schemas import PARTITION_STATISTICS_FILES, STATISTICS_FILES
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema

Entries: TypeAlias = Sequence[Mapping[str, Any]]


def statistics_files(metadata: TableMetadata) -> pa.Table:
    """Return the Puffin files of snapshots and their blobs (specification, "Table Statistics").

    Raises:
        CorruptFileError: an entry in the metadata lacks a field or has one of a wrong type.
    """
    return _rows(metadata, STATISTICS_FILES, metadata.statistics)


def partition_statistics_files(metadata: TableMetadata) -> pa.Table:
    """Return the partition statistics files, one per snapshot.

    Raises:
        CorruptFileError: an entry in the metadata lacks a field or has one of a wrong type.
    """
    return _rows(metadata, PARTITION_STATISTICS_FILES, metadata.partition_statistics)


def _rows(metadata: TableMetadata, schema: Schema, entries: Entries) -> pa.Table:
    names = {field.name: field.name.replace("_", "-") for field in schema.fields}
    try:
        columns = {name: [_value(entry[key]) for entry in entries] for name, key in names.items()}
        rows = table_of(schema, columns)
    except (
        pa.ArrowException,
        AttributeError,
        KeyError,
        OverflowError,
        TypeError,
        ValueError,
    ) as cause:
        raise _broken(metadata, f"{type(cause).__name__}: {cause}") from cause
    if any(column.null_count for column in rows.columns):
        raise _broken(metadata, "a value is null")
    return rows


def _broken(metadata: TableMetadata, why: str) -> CorruptFileError:
    return CorruptFileError(
        f"Cannot read the statistics files in the metadata of {metadata.location}: {why}"
    )


def _value(value: Any) -> Any:
    """Return a value of the JSON metadata as a column value; lists are lists of blobs."""
    return [_blob(blob) for blob in value] if isinstance(value, list | tuple) else value


def _blob(blob: Mapping[str, Any]) -> dict[str, Any]:
    properties = blob.get("properties") or {}
    return {
        "type": blob["type"],
        "snapshot_id": blob["snapshot-id"],
        "sequence_number": blob["sequence-number"],
        "fields": list(blob["fields"]),
        "properties": list(properties.items()),
    }
