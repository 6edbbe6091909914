"""Storage of one table: what its metadata names is opened where the table itself is."""

from __future__ import annotations

from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO


def table_io(io: FileIO, recorded: str) -> FileIO:
    """Return storage that opens files of a table's own stores only, in tasks as well.

    `recorded` is the location by which the catalog, or the user, knows the table: a folder or a
    metadata file. Its store is the table's own, and what the storage property
    `io.allowed-schemes` names besides. Metadata is written by others: its own words (`location`,
    `write.*.path`) widen nothing, or a path in it would make the reader connect to any host.
    """
    if type(io) is not FsspecIO:  # another implementation of the port has its own rules
        return io
    return io.limited_to(frozenset((location.store_of(recorded),)))
