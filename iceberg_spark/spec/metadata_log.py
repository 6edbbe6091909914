"""The log of former metadata files (specification, `metadata-log`)."""

from __future__ import annotations

from dataclasses import replace

from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MetadataLogEntry


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
