"""Storage of one table: what its metadata names is opened where the table itself is."""

from __future__ import annotations

from collections.abc import Iterator

from iceberg_spark.catalog.own_folders import own_folders
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.metadata import TableMetadata


def table_io(io: FileIO, metadata: TableMetadata, metadata_location: str) -> FileIO:
    """Return storage that opens files of a table's own stores only, in tasks as well.

    Those of its location, its metadata file and its properties `write.*.path`, and what the
    storage property `io.allowed-schemes` names besides. Metadata is written by others: without
    this, a path in it makes the reader connect to any host.
    """
    if type(io) is not FsspecIO:  # another implementation of the port has its own rules
        return io
    return io.limited_to(frozenset(map(location.store_of, _places(metadata, metadata_location))))


def _places(metadata: TableMetadata, metadata_location: str) -> Iterator[str]:
    yield metadata_location
    yield from own_folders(metadata)
