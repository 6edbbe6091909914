"""Storage of one table: opens the files that its metadata names in the table's own stores."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.catalog.own_folders import WRITE_PATHS
from iceberg_spark.io import location
from iceberg_spark.io.allowed_places import allowed_places, place_of
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO


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
