"""Snapshots, references and logs as values (specification: "Snapshots", "Snapshot References")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from iceberg_spark.spec.shown import html_table, shown_time

MAIN_BRANCH = "main"


class Operation(StrEnum):
    """The operation of a snapshot, as in its summary."""

    APPEND = "append"
    REPLACE = "replace"
    OVERWRITE = "overwrite"
    DELETE = "delete"


class SnapshotRefType(StrEnum):
    """Kind of a reference, as written in JSON."""

    BRANCH = "branch"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a table at one commit.

    `timestamp_ms` is ms since the epoch. `summary` includes "operation" if known. Very old
    writers (v1 only) set `manifests` instead of `manifest_list`.
    """

    snapshot_id: int
    timestamp_ms: int
    manifest_list: str | None = None
    parent_snapshot_id: int | None = None
    sequence_number: int = 0
    summary: Mapping[str, str] = field(default_factory=dict)
    schema_id: int | None = None
    manifests: tuple[str, ...] | None = None
    first_row_id: int | None = None
    added_rows: int | None = None
    key_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # unknown JSON members

    @property
    def operation(self) -> str | None:
        """The operation (`Operation`), None if the writer did not record it."""
        return self.summary.get("operation")

    def _repr_html_(self) -> str:
        rows = [
            ("committed", shown_time(self.timestamp_ms)),
            *self.summary.items(),
            ("parent", "none" if self.parent_snapshot_id is None else self.parent_snapshot_id),
        ]
        return html_table(f"Snapshot {self.snapshot_id}", ("", ""), rows)


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A branch or tag and its retention (ms, snapshots)."""

    snapshot_id: int
    snapshot_ref_type: SnapshotRefType
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_branch(self) -> bool:
        """True for a branch, False for a tag."""
        return self.snapshot_ref_type is SnapshotRefType.BRANCH


@dataclass(frozen=True, slots=True)
class SnapshotLogEntry:
    """When a snapshot became current (ms since the epoch)."""

    snapshot_id: int
    timestamp_ms: int
    extra: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MetadataLogEntry:
    """A former metadata file and when it was written (ms since the epoch)."""

    metadata_file: str
    timestamp_ms: int
    extra: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
