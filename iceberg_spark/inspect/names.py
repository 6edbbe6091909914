"""The metadata tables by name, as in Iceberg's Spark runtime."""

from __future__ import annotations

import difflib
from enum import StrEnum

from iceberg_spark.errors import InvalidInputError


class MetadataTable(StrEnum):
    """A metadata table: `t.inspect.<name>()` and `load("T#<name>")`."""

    HISTORY = "history"
    METADATA_LOG_ENTRIES = "metadata_log_entries"
    SNAPSHOTS = "snapshots"
    REFS = "refs"
    MANIFESTS = "manifests"
    PARTITIONS = "partitions"
    ENTRIES = "entries"
    FILES = "files"
    DATA_FILES = "data_files"
    DELETE_FILES = "delete_files"
    POSITION_DELETES = "position_deletes"
    ALL_MANIFESTS = "all_manifests"
    ALL_ENTRIES = "all_entries"
    ALL_FILES = "all_files"
    ALL_DATA_FILES = "all_data_files"
    ALL_DELETE_FILES = "all_delete_files"
    STATISTICS_FILES = "statistics_files"
    PARTITION_STATISTICS_FILES = "partition_statistics_files"

    @property
    def is_javas(self) -> bool:
        """True when Iceberg's Spark runtime has this table too."""
        return self not in _OURS

    @property
    def is_of_one_snapshot(self) -> bool:
        """True when the table shows one snapshot, which the reader can choose."""
        return self in _OF_ONE_SNAPSHOT

    @property
    def has_files(self) -> bool:
        """True when each row is a file, or an entry with its file."""
        return self in _FILES or self.has_entries

    @property
    def has_entries(self) -> bool:
        """True when each row is a manifest entry, including deleted entries."""
        return self in (MetadataTable.ENTRIES, MetadataTable.ALL_ENTRIES)

    @property
    def is_of_all_snapshots(self) -> bool:
        """True for the tables over the manifests of every snapshot."""
        return self.value.startswith("all_")


_FILES = frozenset(
    {
        MetadataTable.FILES,
        MetadataTable.DATA_FILES,
        MetadataTable.DELETE_FILES,
        MetadataTable.ALL_FILES,
        MetadataTable.ALL_DATA_FILES,
        MetadataTable.ALL_DELETE_FILES,
    }
)
_OURS = frozenset({MetadataTable.STATISTICS_FILES, MetadataTable.PARTITION_STATISTICS_FILES})
_OF_ONE_SNAPSHOT = frozenset(
    {
        MetadataTable.MANIFESTS,
        MetadataTable.PARTITIONS,
        MetadataTable.ENTRIES,
        MetadataTable.FILES,
        MetadataTable.DATA_FILES,
        MetadataTable.DELETE_FILES,
        MetadataTable.POSITION_DELETES,
    }
)


def metadata_table(name: str) -> MetadataTable:
    """Return the metadata table of a name, ignoring case.

    Raises:
        InvalidInputError: no table has this name; the message suggests the nearest.
    """
    names = [str(table) for table in MetadataTable]
    lower = name.strip().lower()
    if lower in names:
        return MetadataTable(lower)
    close = difflib.get_close_matches(lower, names, n=1, cutoff=0.0)[0]
    raise InvalidInputError(
        f"No metadata table '{name}'; did you mean '{close}'? There are: {', '.join(names)}"
    )
