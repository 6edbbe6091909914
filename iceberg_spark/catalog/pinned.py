"""A table version that every process of one query agrees on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.metadata_file import (
    Codec,
    decode_metadata,
    encode_metadata,
    read_metadata,
)
from iceberg_spark.catalog.registry import resolve
from iceberg_spark.errors import NoSuchFileError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata

MOST_CONTENT = 256 * 1024
"""Bytes of compressed metadata that may be pickled with a reader, which every task gets."""


@dataclass(frozen=True, slots=True)
class PinnedTable:
    """The location of loaded metadata, so that schema, plan and tasks see one version.

    Metadata files are immutable, so a worker reads the same one again. If the file was removed
    since, it loads the newest version and finds the pinned snapshot there by id. Small metadata
    that the catalog itself gave is pickled too (`content`), since the worker may not be allowed to
    read its file. `io` is the storage of the table's files, `options` are those of the load.
    """

    path: str
    metadata_location: str
    io: FileIO = field(repr=False)
    options: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)

    def metadata(self) -> TableMetadata:
        """Read the pinned metadata. Raises NoSuchTableError if the table was removed."""
        if self.content is not None:
            return decode_metadata(self.metadata_location, self.content)
        try:
            return read_metadata(self.io, self.metadata_location)
        except NoSuchFileError:
            return load(self.path, self.options)[1].metadata


def split_name(path: str) -> tuple[str, str | None]:
    """Return the table and the metadata table of "T#name"; None for the latter without "#".

    The name of a folder may contain "#": the name after it has no slash.
    """
    table, mark, name = path.rpartition("#")
    return (table, name) if mark and table and "/" not in name else (path, None)


def load(path: str, storage: Mapping[str, str]) -> tuple[PinnedTable, LoadedTable]:
    """Load and pin the newest version of a table, or of the table of a metadata table.

    Raises NoSuchTableError.
    """
    table, _ = split_name(path)
    catalog, identifier = resolve(table, storage)
    loaded = catalog.load(identifier)
    return pin_table(table, loaded, storage), loaded


def pin_table(path: str, loaded: LoadedTable, storage: Mapping[str, str]) -> PinnedTable:
    """Pin a table that was loaded by `path` with these storage options."""
    content = encode_metadata(loaded.metadata, Codec.GZIP) if loaded.given_by_catalog else b""
    some = content if 0 < len(content) <= MOST_CONTENT else None
    table, _ = split_name(path)
    return PinnedTable(table, loaded.metadata_location, loaded.io, dict(storage), some)
