"""The port to catalogs: load metadata, and swap it atomically."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import TableRequirement
from iceberg_spark.spec.updates import TableUpdate


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """Metadata as loaded from, or just committed to, a catalog.

    `identifier` is what the catalog calls the table (a location for file-system tables). `io` is
    the storage of this table's files, which a catalog may give for each table. `digest` is that of
    the metadata file's bytes, where the name alone does not prove that it is the same.
    """

    identifier: str
    metadata: TableMetadata
    metadata_location: str
    io: FileIO = field(repr=False, compare=False)
    digest: bytes | None = field(default=None, repr=False)


class Catalog(Protocol):
    """Loads tables and commits changes; rebuilt in workers from `name` and `properties`."""

    @property
    def name(self) -> str:
        """The catalog's name."""
        ...

    @property
    def properties(self) -> Mapping[str, str]:
        """What it was made from (may hold secrets: never print)."""
        ...

    def io(self, location: str) -> FileIO:
        """Return storage for a new table at this location; one that is there has its own `io`."""
        ...

    def location_of(self, identifier: str) -> str:
        """Return where a table of that name is, or would be created."""
        ...

    def load(self, identifier: str) -> LoadedTable:
        """Return the newest committed metadata. Raises NoSuchTableError."""
        ...

    def commit(
        self,
        identifier: str,
        requirements: Iterable[TableRequirement],
        updates: Iterable[TableUpdate],
        base: LoadedTable | None,
    ) -> LoadedTable:
        """Check requirements against the newest metadata, apply updates, swap atomically.

        `base` is what the caller planned on: None creates the table (with AssertCreate). The
        result builds on `base` where it is still the newest, else CommitFailedException.
        Raises CommitFailedException (nothing landed, may be retried), TableAlreadyExistsError,
        CommitStateUnknownException (it may have landed). Any other IcebergError is a refusal too:
        nothing landed, and nothing that is under way still can. What is no IcebergError leaves
        it open.
        """
        ...

    def table_exists(self, identifier: str) -> bool:
        """Return whether there is a table."""
        ...

    def drop_table(self, identifier: str, purge: bool = False) -> None:
        """Remove the table from the catalog; with `purge` its files too."""
        ...
