"""`statistics_files` and `partition_statistics_files`: the statistics that snapshots have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.inspect.rows import table_of
from iceberg_spark.inspect.schemas import PARTITION_STATISTICS_FILES, STATISTICS_FILES
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema

Said = Sequence[Mapping[str, Any]]
_NOT_AS_SAID = (
    pa.ArrowException,
    AttributeError,
    KeyError,
    OverflowError,
    TypeError,
    ValueError,
)


def statistics_files(metadata: TableMetadata) -> pa.Table:
    """Return the Puffin files of snapshots with the blobs in each (specification: "Table
    Statistics"). Raises CorruptFileError for entries that are none.
    """
    return _rows(metadata, STATISTICS_FILES, metadata.statistics)


def partition_statistics_files(metadata: TableMetadata) -> pa.Table:
    """Return the files that count files and rows of partitions, a snapshot each.

    Raises CorruptFileError for entries that are none.
    """
    return _rows(metadata, PARTITION_STATISTICS_FILES, metadata.partition_statistics)


def _rows(metadata: TableMetadata, schema: Schema, said: Said) -> pa.Table:
    names = {field.name: field.name.replace("_", "-") for field in schema.fields}
    try:
        columns = {name: [_value(one[key]) for one in said] for name, key in names.items()}
        found = table_of(schema, columns)
    except (
        pa.ArrowException,
        AttributeError,
        KeyError,
        OverflowError,
        TypeError,
        ValueError,
    ) as cause:
        raise _broken(metadata, f"{type(cause).__name__}: {cause}") from cause
    if any(column.null_count for column in found.columns):
        raise _broken(metadata, "a value is null")
    return found


def _broken(metadata: TableMetadata, why: str) -> CorruptFileError:
    return CorruptFileError(
        f"The statistics that the metadata of {metadata.location} lists can't be read: {why}"
    )


def _value(value: Any) -> Any:
    """Return a value of JSON with names as columns have them, an object of texts as its pairs."""
    return [_blob(one) for one in value] if isinstance(value, list | tuple) else value


def _blob(said: Mapping[str, Any]) -> dict[str, Any]:
    properties = said.get("properties") or {}
    return {
        "type": said["type"],
        "snapshot_id": said["snapshot-id"],
        "sequence_number": said["sequence-number"],
        "fields": list(said["fields"]),
        "properties": list(properties.items()),
    }
