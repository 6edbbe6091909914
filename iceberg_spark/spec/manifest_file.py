"""A row of a manifest list (specification: "Manifest Lists")."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

ManifestVersion: TypeAlias = tuple[str, int | None, int | None]


class ManifestContent(IntEnum):
    """Which kind of files a manifest tracks."""

    DATA = 0
    DELETES = 1


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """Bounds of one partition field over a manifest; bounds are single-value binary."""

    contains_null: bool
    contains_nan: bool | None = None
    lower_bound: bytes | None = None
    upper_bound: bytes | None = None


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """One manifest as its manifest list describes it.

    `manifest_length` is bytes. Counts are None where an old (v1) writer left them out. A
    `sequence_number` of None is not yet assigned (the manifest list writer assigns it).
    """

    manifest_path: str
    manifest_length: int
    partition_spec_id: int
    content: ManifestContent = ManifestContent.DATA
    sequence_number: int | None = None
    min_sequence_number: int | None = None
    added_snapshot_id: int | None = None
    added_files_count: int | None = None
    existing_files_count: int | None = None
    deleted_files_count: int | None = None
    added_rows_count: int | None = None
    existing_rows_count: int | None = None
    deleted_rows_count: int | None = None
    partitions: tuple[FieldSummary, ...] | None = None
    key_metadata: bytes | None = None
    first_row_id: int | None = None

    @property
    def version(self) -> ManifestVersion:
        """Identifies its decoded entries: the file and the numbers inherited from the list.

        A retried commit lists the same file again, with other numbers.
        """
        return self.manifest_path, self.sequence_number, self.first_row_id

    @property
    def may_have_live_files(self) -> bool:
        """False only when the counts prove that all entries are deleted."""
        return self.added_files_count != 0 or self.existing_files_count != 0
