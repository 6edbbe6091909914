"""Storage of one table: opens the files that its metadata names in the table's own stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from iceberg_spark.catalog.own_folders import WRITE_PATHS
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.allowed_places import ALLOWED_SCHEMES, allowed_places, place_of
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import WRITE_METADATA_PATH


def table_io(io: FileIO, recorded: str) -> FileIO:
    """Return storage that opens files of a table's own stores only, in tasks as well.

    `recorded` is the location by which the catalog or the user knows the table: a folder or a
    metadata file. Its store is the table's own, and so are those in the storage property
    `io.allowed-schemes`. Others write metadata, so its `location` and `write.*.path` add nothing.
    Otherwise a path in it would make the reader connect to any host, and the writer send rows to
    any bucket (`write_places`).
    """
    if type(io) is not FsspecIO:  # another implementation of the port has its own rules
        return io
    return io.limited_to(frozenset((place_of(recorded, io.properties),)))


def with_chosen_folders(io: FileIO, properties: Mapping[str, str]) -> FileIO:
    """Return a table's storage that also uses folders which the user chooses in this call.

    `properties` are what the user sets on a table: its `write.data.path` is the user's own. The
    next call reads it from metadata, where anybody may have written it.
    """
    allowed = allowed_places(io.properties)
    if type(io) is not FsspecIO or allowed is None:
        return io
    folders = (properties.get(key, "") for key in WRITE_PATHS)
    chosen = {place_of(folder, io.properties) for folder in folders if location.is_absolute(folder)}
    return io.limited_to(allowed.own | chosen)


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
