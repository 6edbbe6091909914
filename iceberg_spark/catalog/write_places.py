"""Where metadata of a table or view may send new files: to the table's own store."""

from __future__ import annotations

from collections.abc import Iterator

from iceberg_spark.catalog.own_folders import WRITE_PATHS
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.allowed_places import ALLOWED_SCHEMES, allowed_places, place_of
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import WRITE_METADATA_PATH


def check_write_places(metadata: TableMetadata, io: FileIO) -> None:
    """Refuse a table whose metadata names another bucket or host for new files.

    `io` is the table's storage (`table_io`), which knows the store by which the catalog or the user
    knows the table. Raises UnsupportedError, which names the property, both stores, and how the
    user allows it.
    """
    for name, folder in _named_folders(metadata):
        check_write_place(name, folder, io)


def check_write_place(name: str, folder: str, io: FileIO) -> None:
    """Refuse one folder for new files; `name` is its name in the error. Raises as above."""
    allowed = allowed_places(io.properties)
    if allowed is None or allowed.may_write(folder):
        return
    target = place_of(folder, io.properties)
    raise UnsupportedError(
        f"New files would go to {target}, because the metadata's {name} is {folder}, and the table "
        f"is in {', '.join(sorted(allowed.own))}. If you trust who writes the metadata, set the "
        f"storage property {ALLOWED_SCHEMES} to '{target}'; else change {name}"
    )


def _named_folders(metadata: TableMetadata) -> Iterator[tuple[str, str]]:
    """Yield the folders for new files in metadata: the location and each `write.*.path`."""
    yield "location", metadata.location
    for key in WRITE_PATHS:
        folder = metadata.properties.get(key)
        is_below = key == WRITE_METADATA_PATH and not location.is_absolute(folder or "")
        if folder and not is_below:
            yield f"property {key}", folder
