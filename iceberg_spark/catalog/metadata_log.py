"""The log of former metadata files, kept short, and the files that fall out of it."""

from __future__ import annotations

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.errors import StorageError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_log import add_metadata_log_entry
from iceberg_spark.spec.properties import (
    METADATA_DELETE_AFTER_COMMIT_ENABLED,
    METADATA_PREVIOUS_VERSIONS_MAX,
    bool_property,
    int_property,
)


def with_log(metadata: TableMetadata, base: LoadedTable) -> TableMetadata:
    """Return metadata whose log ends with the file it replaces."""
    logged, _ = add_metadata_log_entry(
        metadata,
        base.metadata_location,
        base.metadata.last_updated_ms,
        int_property(metadata.properties, METADATA_PREVIOUS_VERSIONS_MAX),
    )
    return logged


def delete_dropped(io: FileIO, base: TableMetadata, committed: TableMetadata) -> None:
    """Delete the files that fell out of the log, where the table asks for that.

    Called after the commit: a file that can't be deleted is left to orphan removal.
    """
    if not bool_property(committed.properties, METADATA_DELETE_AFTER_COMMIT_ENABLED):
        return
    kept = {entry.metadata_file for entry in committed.metadata_log}
    dropped = [e.metadata_file for e in base.metadata_log if e.metadata_file not in kept]
    try:
        io.delete_many(dropped)
    except StorageError:
        return
