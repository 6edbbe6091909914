"""The log of earlier metadata files, its length limit, and the deletion of files beyond it."""

from __future__ import annotations

from dataclasses import replace

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.metadata_file import is_metadata_file, read_metadata, version_of
from iceberg_spark.catalog.owned import OwnedFolders, is_folder
from iceberg_spark.errors import CorruptFileError, StorageError, UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.places import Places
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import (
    METADATA_DELETE_AFTER_COMMIT_ENABLED,
    METADATA_PREVIOUS_VERSIONS_MAX,
    bool_property,
    int_property,
)
from iceberg_spark.spec.snapshot import MetadataLogEntry


def with_log(metadata: TableMetadata, base: LoadedTable) -> TableMetadata:
    """Return metadata whose log ends with the file that it replaces."""
    logged, _ = add_metadata_log_entry(
        metadata,
        base.metadata_location,
        base.metadata.last_updated_ms,
        int_property(metadata.properties, METADATA_PREVIOUS_VERSIONS_MAX),
    )
    return logged


def delete_dropped(io: FileIO, base: LoadedTable, committed: LoadedTable) -> None:
    """Delete the files that were removed from the log, if the table is configured so.

    Deletes only the table's own metadata files: a log can name any file. Runs after the commit.
    Orphan removal finds files that cannot be deleted.
    """
    if not bool_property(committed.metadata.properties, METADATA_DELETE_AFTER_COMMIT_ENABLED):
        return
    places = Places()
    log = [entry.metadata_file for entry in committed.metadata.metadata_log]
    used = {places.key(path) for path in (*log, committed.metadata_location)}
    named = [entry.metadata_file for entry in base.metadata.metadata_log]
    dropped = [path for path in named if places.key(path) not in used]
    if not dropped:
        return
    owned = OwnedFolders(io, committed)
    try:
        io.delete_many([path for path in dropped if _is_own(io, path, committed, owned)])
    except StorageError:
        return


def _is_own(io: FileIO, path: str, table: LoadedTable, owned: OwnedFolders) -> bool:
    """Return whether a file is earlier metadata of a table: by name and folder, or by uuid."""
    if not is_metadata_file(path) or not owned.in_metadata(path):
        return False
    if is_folder(table) and version_of(location.name(path)) is not None:
        return True
    try:
        return read_metadata(io, path).table_uuid == table.metadata.table_uuid
    except (StorageError, CorruptFileError, UnsupportedError):
        return False


def add_metadata_log_entry(
    metadata: TableMetadata,
    previous_location: str,
    previous_updated_ms: int,
    max_versions: int,
) -> tuple[TableMetadata, tuple[MetadataLogEntry, ...]]:
    """Log the metadata file that is being replaced.

    At most `max_versions` (at least one) entries stay, the newest ones. Returns the metadata and
    the dropped entries; with `write.metadata.delete-after-commit.enabled` their files may be
    deleted. Source: Java's
    TableMetadata.Builder.addPreviousFile.
    """
    log = (*metadata.metadata_log, MetadataLogEntry(previous_location, previous_updated_ms))
    overflow = max(0, len(log) - max(1, max_versions))
    return replace(metadata, metadata_log=log[overflow:]), log[:overflow]
