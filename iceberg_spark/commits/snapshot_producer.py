"""One unfinished snapshot, kept over the retries of its commit (Java: SnapshotProducer).

It has the same id and uuid at all attempts, so that manifests written for an older base can be
reused. Their entries inherit the sequence number from the manifest list, and only this list is
written again (specification: "Sequence Number Inheritance").
"""

from __future__ import annotations

import itertools
import secrets
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from iceberg_spark.catalog.metadata_file import metadata_location
from iceberg_spark.catalog.table_io import check_write_places
from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidTypeError,
    NoSuchSnapshotError,
    UnsupportedError,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import (
    assigned_row_ids,
    fill_counts,
    read_manifest_list,
    write_manifest_list,
)
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.format_version import WRITTEN_VERSIONS
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_path import partition_path
from iceberg_spark.spec.properties import (
    MANIFEST_COMPRESSION,
    WRITE_PARTITION_SUMMARY_LIMIT,
    WRITE_WAP_ENABLED,
    bool_property,
    int_property,
    text_property,
)
from iceberg_spark.spec.snapshot import (
    MAIN_BRANCH,
    Operation,
    Snapshot,
    SnapshotRef,
    SnapshotRefType,
)
from iceberg_spark.spec.summary import STAGED_WAP_ID, changes, totals
from iceberg_spark.spec.txn import BATCH_KEYS
from iceberg_spark.spec.updates import AddSnapshot, SetSnapshotRef
from iceberg_spark.write.uncommitted_files import remove_written

_LARGEST_ID = (1 << 63) - 1


class SnapshotProducer:
    """Produces the snapshot of one action, on a branch, with extra summary properties.

    With `creates_branch`, a missing branch is created by this snapshot.
    """

    __slots__ = (
        "_attempts",
        "_creates_branch",
        "_drawing",
        "_lists",
        "_manifest_numbers",
        "_owned",
        "_properties",
        "_read",
        "_snapshot_id",
        "branch",
        "commit_uuid",
    )

    def __init__(
        self,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        *,
        creates_branch: bool = False,
    ) -> None:
        self._creates_branch = creates_branch
        self.branch = branch or MAIN_BRANCH
        self.commit_uuid = str(uuid.uuid4())
        if not isinstance(snapshot_properties, Mapping | None):
            raise InvalidTypeError(
                "snapshot_properties must be a dict of texts, not "
                f"{type(snapshot_properties).__name__}"
            )
        self._properties = dict(snapshot_properties or {})
        for key, value in self._properties.items():
            if not all(isinstance(text, str) for text in (key, value)):
                raise InvalidTypeError(f"Snapshot property {key!r} must be text, not {value!r}")
        if "operation" in self._properties:
            raise InvalidInputError("The snapshot property 'operation' is set by the commit")
        self._snapshot_id: int | None = None
        self._drawing = threading.Lock()
        self._attempts = itertools.count(1)
        self._manifest_numbers = itertools.count()
        self._owned: set[str] = set()
        self._lists: dict[str, tuple[ManifestFile, ...]] = {}
        self._read: tuple[Snapshot, tuple[ManifestFile, ...]] | None = None

    def snapshot_id(self, base: TableMetadata) -> int:
        """Return the snapshot's id, the same at each attempt (specification: "Assignment of ...").

        The id identifies a commit whose response was lost. Threads that write manifests of one
        commit use the same id.
        """
        with self._drawing:
            if self._snapshot_id is None:
                drawn = secrets.randbelow(_LARGEST_ID) + 1
                while drawn in base.snapshots:
                    drawn = secrets.randbelow(_LARGEST_ID) + 1
                self._snapshot_id = drawn
            return self._snapshot_id

    def parent(self, base: TableMetadata) -> Snapshot | None:
        """Return the branch's head. Raises NoSuchSnapshotError, InvalidInputError for a tag."""
        if not base.rules.is_written:
            raise UnsupportedError(
                f"Writing to tables of format-version {base.format_version} is not supported yet "
                f"({base.location}); format-version {WRITTEN_VERSIONS} can be written"
            )
        ref = base.refs.get(self.branch)
        if ref is not None and not ref.is_branch:
            raise InvalidInputError(
                f"'{self.branch}' is a tag of {base.location}: it can't be written to"
            )
        if ref is None and self._creates_branch:
            return None
        if ref is None and self.branch != MAIN_BRANCH:
            branches = ", ".join(
                name for name, candidate in base.refs.items() if candidate.is_branch
            )
            raise NoSuchSnapshotError(
                f"No branch '{self.branch}' in {base.location}; it has: {branches or MAIN_BRANCH}. "
                "Create it before writing to it"
            )
        return base.branch_head(self.branch)

    def committed_head(self, base: TableMetadata) -> Snapshot | None:
        """Return the branch's head, None if this commit creates the branch."""
        return self.parent(base) if self.branch in base.refs else base.branch_head(self.branch)

    def parent_manifests(self, base: TableMetadata, io: FileIO) -> tuple[ManifestFile, ...]:
        """Return the manifests of the branch's head."""
        head = self.parent(base)
        if head is None:
            return ()
        # Keyed by the whole snapshot: an earlier action of the same transaction creates a snapshot
        # with the same id and another manifest list at each attempt.
        if self._read is None or self._read[0] != head:
            self._read = head, tuple(read_manifest_list(io, head, base))
        return self._read[1]

    def new_manifest_path(self, base: TableMetadata, io: FileIO) -> str:
        """Return the path of this commit's next manifest; it is removed if it stays unused."""
        return self._new_path(base, io, f"{self.commit_uuid}-m{next(self._manifest_numbers)}.avro")

    def _new_path(self, base: TableMetadata, io: FileIO, name: str) -> str:
        check_write_places(base, io)
        path = metadata_location(base, name)
        self._owned.add(path)
        return path

    def produce(
        self,
        base: TableMetadata,
        io: FileIO,
        operation: Operation,
        manifests: Sequence[ManifestFile],
        *,
        added: Sequence[DataFile],
        removed: Sequence[DataFile] = (),
        summary: Mapping[str, str] | None = None,
    ) -> ActionCommit:
        """Write the manifest list and return the updates that make the snapshot the branch's head.

        Its summary counts the `added` and `removed` files, and contains `summary`.
        """
        head = self.parent(base)
        snapshot_id = self.snapshot_id(base)
        name = f"snap-{snapshot_id}-{next(self._attempts)}-{self.commit_uuid}.avro"
        path = self._new_path(base, io, name)
        counts = _file_counts(base, added, removed)
        full_summary = {
            "operation": str(operation),
            **self._properties,
            **(summary or {}),
            **counts,
            **_manifest_counts(self.parent_manifests(base, io), manifests),
            **totals(head.summary if head else None, counts),
        }
        snapshot = Snapshot(
            snapshot_id=snapshot_id,
            timestamp_ms=max(int(time.time() * 1000), base.last_updated_ms),
            manifest_list=path,
            parent_snapshot_id=head.snapshot_id if head else None,
            sequence_number=_next_sequence_number(base),
            summary=full_summary,
            schema_id=base.current_schema_id,
        )
        listed = tuple(_with_counts(base, io, manifest) for manifest in manifests)
        if base.rules.has_row_lineage:
            snapshot, listed = _with_row_ids(base, snapshot, listed)
        codec = text_property(base.properties, MANIFEST_COMPRESSION)
        write_manifest_list(
            io, path, snapshot, listed, format_version=base.format_version, codec=codec
        )
        self._lists[path] = tuple(manifests)
        moved = SetSnapshotRef(self.branch, _moved(base.refs.get(self.branch), snapshot_id))
        added_snapshot = AddSnapshot(snapshot)
        staged = self._is_staged(base)
        return ActionCommit((added_snapshot,) if staged else (added_snapshot, moved))

    def _is_staged(self, base: TableMetadata) -> bool:
        """Return whether the snapshot is staged for an audit: no branch moves (Java: stageOnly)."""
        wap_id = self._properties.get(STAGED_WAP_ID)
        if wap_id is None:
            return False
        if not bool_property(base.properties, WRITE_WAP_ENABLED):
            raise InvalidInputError(
                f"The snapshot property '{STAGED_WAP_ID}' ('{wap_id}') stages a write, which "
                f"{base.location} does not allow; set its property '{WRITE_WAP_ENABLED}' to true"
            )
        if BATCH_KEYS[0] in self._properties:
            raise InvalidInputError(
                f"A write that is staged ('{STAGED_WAP_ID}') is on no branch, so a batch that is "
                f"staged would count as landed: leave '{STAGED_WAP_ID}' or the batch's name out"
            )
        return True

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove the written files that the committed snapshot does not use."""
        used: set[str] = set()
        snapshot = committed.snapshots.get(self._snapshot_id or 0) if committed else None
        if snapshot is not None and snapshot.manifest_list is not None:
            listed = self._lists.get(snapshot.manifest_list, ())
            used = {snapshot.manifest_list, *(manifest.manifest_path for manifest in listed)}
        unused = self._owned - used
        self._owned -= unused
        io.delete_many(sorted(unused))

    def drop(self, io: FileIO, manifests: Iterable[ManifestFile]) -> None:
        """Remove manifests of an earlier attempt that no later attempt can use."""
        paths = [
            manifest.manifest_path
            for manifest in manifests
            if manifest.manifest_path in self._owned
        ]
        self._owned.difference_update(paths)
        remove_written(io, paths)


def _with_counts(base: TableMetadata, io: FileIO, manifest: ManifestFile) -> ManifestFile:
    """Return a manifest with counts, which are optional in lists of v1 tables but not of v2."""
    if not base.rules.has_sequence_numbers or manifest.deleted_rows_count is not None:
        return manifest
    return fill_counts(io, manifest, base.partition_specs[manifest.partition_spec_id], base)


def _with_row_ids(
    base: TableMetadata, snapshot: Snapshot, manifests: tuple[ManifestFile, ...]
) -> tuple[Snapshot, tuple[ManifestFile, ...]]:
    """Return a snapshot and its manifests with row ids that start at the base's next row id.

    The base of each attempt decides: another commit may have used ids since.
    """
    first = base.next_row_id or 0
    assigned = assigned_row_ids(manifests, first)
    added_rows = assigned.next_row_id - first
    return replace(snapshot, first_row_id=first, added_rows=added_rows), assigned.manifests


def _next_sequence_number(base: TableMetadata) -> int:
    return base.last_sequence_number + 1 if base.rules.has_sequence_numbers else 0


def _moved(ref: SnapshotRef | None, snapshot_id: int) -> SnapshotRef:
    """Return the branch at another snapshot, with its retention."""
    if ref is None:
        return SnapshotRef(snapshot_id, SnapshotRefType.BRANCH)
    return SnapshotRef(
        snapshot_id,
        SnapshotRefType.BRANCH,
        ref.min_snapshots_to_keep,
        ref.max_snapshot_age_ms,
        ref.max_ref_age_ms,
        ref.extra,
    )


def _file_counts(
    base: TableMetadata, added: Sequence[DataFile], removed: Sequence[DataFile]
) -> dict[str, str]:
    """Return the summary's counts, by partition too if `write.summary.partition-limit` is set."""
    limit = int_property(base.properties, WRITE_PARTITION_SUMMARY_LIMIT)
    if limit == 0:
        return changes(added, removed)

    def path_of(file: DataFile) -> str:
        spec = base.partition_specs[file.partition_spec_id]
        return partition_path(spec, base.schema, file.partition, base.schemas.values())

    return changes(added, removed, path_of=path_of, partition_limit=limit)


def _manifest_counts(
    before: Iterable[ManifestFile], after: Iterable[ManifestFile]
) -> dict[str, str]:
    """Return how many manifests were written, kept and replaced (specification: "Metrics")."""
    old = {manifest.manifest_path for manifest in before}
    new = {manifest.manifest_path for manifest in after}
    return {
        "manifests-created": str(len(new - old)),
        "manifests-kept": str(len(new & old)),
        "manifests-replaced": str(len(old - new)),
    }
