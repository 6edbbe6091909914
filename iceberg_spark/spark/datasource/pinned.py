"""A table version that every process of one query agrees on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.catalog.registry import resolve
from iceberg_spark.errors import NoSuchFileError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class PinnedTable:
    """Where the metadata of a load is, so that schema, plan and tasks see one version.

    Metadata files are immutable, so a worker reads the same one again; one that has been
    removed since falls back to the newest, where the pinned snapshot is looked up by id. So does
    metadata that the catalog gave itself (`is_given`): its file may not be readable to us. `io`
    is the storage of the table's files, `options` are the storage options of the load.
    """

    path: str
    metadata_location: str
    io: FileIO = field(repr=False)
    options: Mapping[str, str] = field(repr=False)
    is_given: bool = False

    def metadata(self) -> TableMetadata:
        """Read the pinned metadata. Raises NoSuchTableError when the table is gone."""
        if self.is_given:
            return load(self.path, self.options)[1].metadata
        try:
            return read_metadata(self.io, self.metadata_location)
        except NoSuchFileError:
            return load(self.path, self.options)[1].metadata


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
    pinned = PinnedTable(
        table, loaded.metadata_location, loaded.io, dict(storage), loaded.given_by_catalog
    )
    return pinned, loaded
