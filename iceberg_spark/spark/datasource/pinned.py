"""A table version that every process of one query agrees on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.catalog.registry import resolve
from iceberg_spark.errors import NoSuchFileError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class PinnedTable:
    """Where the metadata of a load is, so that schema, plan and tasks see one version.

    Metadata files are immutable, so a worker reads the same one again; one that has been
    removed since falls back to the newest, where the pinned snapshot is looked up by id.
    """

    path: str
    metadata_location: str
    storage: Mapping[str, str] = field(repr=False)

    def io(self) -> FileIO:
        """Return storage for the table's files."""
        return open_storage(self.storage)

    def metadata(self) -> TableMetadata:
        """Read the pinned metadata. Raises NoSuchTableError when the table is gone."""
        try:
            return read_metadata(self.io(), self.metadata_location)
        except NoSuchFileError:
            return load(self.path, self.storage)[1].metadata


def split_name(path: str) -> tuple[str, str | None]:
    """Return the table and the metadata table's name of "T#name"; None where T alone is given.

    A folder's name may hold a "#": a name has no slash.
    """
    table, mark, name = path.rpartition("#")
    return (table, name) if mark and table and "/" not in name else (path, None)


def load(path: str, storage: Mapping[str, str]) -> tuple[PinnedTable, LoadedTable]:
    """Load the newest version of a table, or of that of a metadata table, and pin it.

    Raises NoSuchTableError.
    """
    table, _ = split_name(path)
    catalog, identifier = resolve(table, storage)
    loaded = catalog.load(identifier)
    properties = dict(loaded.io.properties)
    return PinnedTable(table, loaded.metadata_location, properties), loaded
