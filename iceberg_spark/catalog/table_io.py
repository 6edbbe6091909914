"""Storage of one table: what its metadata names is opened where the table itself is."""

from __future__ import annotations

from collections.abc import Iterator

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.owned import own_folders
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO


def table_io(catalog: Catalog, table: LoadedTable) -> FileIO:
    """Return storage that opens files of a table's own stores only, in tasks as well.

    Those of its location, its metadata file and its properties `write.*.path`, and what the
    storage property `io.allowed-schemes` names besides. Metadata is written by others: without
    this, a path in it makes the reader connect to any host.
    """
    io = catalog.io(table.metadata.location)
    if type(io) is not FsspecIO:  # another implementation of the port has its own rules
        return io
    return io.limited_to(frozenset(map(location.store_of, _places(table))))


def _places(table: LoadedTable) -> Iterator[str]:
    yield table.metadata_location
    yield from own_folders(table.metadata)
