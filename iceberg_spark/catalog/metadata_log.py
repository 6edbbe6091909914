"""The log of former metadata files, kept short (specification: "Table Metadata Fields")."""

from __future__ import annotations

from dataclasses import replace

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.errors import InvalidOptionError, StorageError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MetadataLogEntry

PREVIOUS_VERSIONS_MAX = "write.metadata.previous-versions-max"
DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"
_DEFAULT_PREVIOUS_VERSIONS = 100


def with_log(metadata: TableMetadata, base: LoadedTable) -> TableMetadata:
    """Return metadata whose log ends with the file it replaces.

    Keeps the newest `write.metadata.previous-versions-max` (default 100, at least 1) entries.
    """
    entry = MetadataLogEntry(base.metadata_location, base.metadata.last_updated_ms)
    kept = (*base.metadata.metadata_log, entry)[-_most_entries(metadata) :]
    return replace(metadata, metadata_log=kept)


def _most_entries(metadata: TableMetadata) -> int:
    text = metadata.properties.get(PREVIOUS_VERSIONS_MAX, str(_DEFAULT_PREVIOUS_VERSIONS))
    try:
        return max(1, int(text))
    except ValueError:
        raise InvalidOptionError(
            f"Table property {PREVIOUS_VERSIONS_MAX} must be a whole number, not '{text}'"
        ) from None


def delete_dropped(io: FileIO, base: TableMetadata, committed: TableMetadata) -> None:
    """Delete the files that fell out of the log, where the table asks for that.

    Called after the commit: a file that can't be deleted is left to orphan removal.
    """
    if committed.properties.get(DELETE_AFTER_COMMIT, "false").lower() != "true":
        return
    kept = {entry.metadata_file for entry in committed.metadata_log}
    dropped = [e.metadata_file for e in base.metadata_log if e.metadata_file not in kept]
    try:
        io.delete_many(dropped)
    except StorageError:
        return
