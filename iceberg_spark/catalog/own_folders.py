"""The folders that metadata names as the table's own, which proves nothing."""

from __future__ import annotations

from collections.abc import Iterator

from iceberg_spark.io import location
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import (
    FOLDER_STORAGE_PATH,
    OBJECT_STORE_PATH,
    WRITE_DATA_PATH,
    WRITE_METADATA_PATH,
)

WRITE_PATHS = (WRITE_DATA_PATH, WRITE_METADATA_PATH, OBJECT_STORE_PATH, FOLDER_STORAGE_PATH)
"""The properties that name folders for new files."""


def own_folders(metadata: TableMetadata) -> Iterator[str]:
    """Yield the table's location and the folders of its `write.*.path` properties, unchanged."""
    yield metadata.location
    for key in WRITE_PATHS:
        folder = metadata.properties.get(key)
        if folder:
            yield whole_folder(metadata, folder)


def whole_folder(metadata: TableMetadata, folder: str) -> str:
    """Return the absolute folder of a property, which may be relative to the table's location."""
    return folder if location.is_absolute(folder) else location.join(metadata.location, folder)
