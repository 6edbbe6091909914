"""The mechanism of all snapshots that add and remove files; the actions are its policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.manifest_filter import (
    FilteredManifests,
    OlderDeletes,
    Selection,
    VectorsOf,
    remove_files,
)
from iceberg_spark.commits.manifest_merge import WrittenManifests, merge_manifests
from iceberg_spark.commits.new_manifests import check_new_files, write_added
from iceberg_spark.commits.snapshot_producer import SnapshotProducer
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent, DeleteKey
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation

Removed = Sequence[DataFile]


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What one attempt does: added files, removed files, and the operation of the snapshot.

    `check` gets the removed files before anything is written; `operation` derives the operation
    from them. `data_sequence_number` is for data files whose rows are older than the files,
    `delete_sequence_numbers` (by key) for delete files that replace older ones. A removed data file
    takes its deletion vector along, whatever `deletes` selects. If data files are removed, so are
    delete files that are older than all remaining data files.
    """

    added: Sequence[DataFile]
    data: Sequence[Selection]
    operation: Callable[[Removed], Operation]
    deletes: Sequence[Selection] = ()
    check: Callable[[Removed], None] = lambda _: None
    data_sequence_number: int | None = None
    delete_sequence_numbers: Mapping[DeleteKey, int] = field(default_factory=dict)
    summary: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_new_rows(self) -> bool:
        """Whether data files are added."""
        return any(file.content is DataFileContent.DATA for file in self.added)


class FileChange:
    """An unfinished snapshot with the files of its attempts, for reuse by the next one."""

    __slots__ = ("_written", "producer")

    def __init__(
        self,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        *,
        creates_branch: bool = False,
    ) -> None:
        self.producer = SnapshotProducer(branch, snapshot_properties, creates_branch=creates_branch)
        self._written = WrittenManifests()

    def prepare(self, base: TableMetadata, io: FileIO, changes: FileChanges) -> ActionCommit:
        """Return the updates of the change; none if it adds and removes nothing."""
        earlier = self.producer.parent_manifests(base, io)
        check_new_files(base, changes.added)  # at each attempt: the table may have been upgraded
        self._written.use_for(base)
        if changes.has_new_rows:
            self._written.check_required_columns(base)
        data = remove_files(
            self.producer,
            base,
            io,
            _of(earlier, ManifestContent.DATA),
            changes.data,
            self._written.filtered,
        )
        vectors = (VectorsOf.of(data.removed),) if base.rules.has_deletion_vectors else ()
        least = _least_number(base, data.manifests, changes) if data.removed else 0
        deletes = remove_files(
            self.producer,
            base,
            io,
            _of(earlier, ManifestContent.DELETES),
            (*changes.deletes, *vectors, OlderDeletes(least)),
            self._written.filtered_deletes.setdefault(least, FilteredManifests()),
        )
        removed = (*data.removed, *deletes.removed)
        changes.check(removed)
        if not removed and not changes.added:
            return ActionCommit(())
        added = self._write_added(base, io, changes)
        manifests = (
            *self._finish(base, io, ManifestContent.DATA, added, data.manifests),
            *self._finish(base, io, ManifestContent.DELETES, added, deletes.manifests),
        )
        return self.producer.produce(
            base,
            io,
            changes.operation(removed),
            manifests,
            added=changes.added,
            removed=removed,
            summary=changes.summary,
        )

    def _write_added(
        self, base: TableMetadata, io: FileIO, changes: FileChanges
    ) -> tuple[ManifestFile, ...]:
        if self._written.added is None:
            self._written.added = write_added(
                self.producer,
                base,
                io,
                changes.added,
                data_sequence_number=changes.data_sequence_number,
                delete_sequence_numbers=changes.delete_sequence_numbers,
            )
        return self._written.added

    def _finish(
        self,
        base: TableMetadata,
        io: FileIO,
        content: ManifestContent,
        added: Iterable[ManifestFile],
        existing: Iterable[ManifestFile],
    ) -> tuple[ManifestFile, ...]:
        """Put new manifests before old ones, leave out those without a live file, and merge."""
        ours = self.producer.snapshot_id(base)
        every = [
            manifest
            for manifest in (*_of(added, content), *existing)
            if manifest.may_have_live_files or manifest.added_snapshot_id == ours
        ]
        return merge_manifests(self.producer, base, io, every, self._written.merged)

    def add_others(self) -> None:
        """Make the next attempt list other new files than the last one."""
        self._written.added = None

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self.producer.clean_up(io, committed)


def _least_number(
    base: TableMetadata, manifests: Iterable[ManifestFile], changes: FileChanges
) -> int:
    """Return a lower bound of the data sequence numbers of all data files."""
    numbers = [
        base.last_sequence_number
        if manifest.min_sequence_number is None
        else manifest.min_sequence_number
        for manifest in manifests
        if manifest.may_have_live_files
    ]
    if changes.has_new_rows:
        of_commit = base.last_sequence_number
        number = changes.data_sequence_number  # 0 is a valid number: files of version 1 have it
        numbers.append(of_commit if number is None else number)
    return min([base.last_sequence_number, *numbers])


def _of(manifests: Iterable[ManifestFile], content: ManifestContent) -> list[ManifestFile]:
    return [manifest for manifest in manifests if manifest.content is content]
