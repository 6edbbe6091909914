"""Add data files and delete files together: row-level changes (Java: RowDelta)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.conflicts import (
    Planned,
    bound_filter,
    history_since,
    may_match_filter,
    refuse_added_data_files,
    refuse_added_delete_files,
    refuse_new_deletes_for,
    refuse_new_vectors,
    require_data_files,
)
from iceberg_spark.commits.manifest_filter import Paths, Selection, check_all_removed, check_row_ids
from iceberg_spark.commits.new_manifests import data_files_of, read_entries
from iceberg_spark.commits.snapshot_change import FileChange, FileChanges, Removed
from iceberg_spark.errors import InvalidInputError, UnsupportedError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import is_vector
from iceberg_spark.spec.data_file import DataFile, DataFileContent, DeleteKey, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation, Snapshot

_ONLY_DELETED = (Operation.DELETE, Operation.REPLACE)
"""Operations that add no row which a delete would have to check."""


class RowDelta:
    """Add rows and deletes in one snapshot; needs format-version 2.

    `referenced` are the data files that new position deletes point to. They must still exist,
    except those that a delete operation removed if `allow_deleted` is set. `remove_data` and
    `remove_deletes` are files that the added ones replace. `planned` sets since when and how
    strictly conflicts are checked. With `merge_vectors`, the change is compatible with commits
    since that only deleted rows of the same files.
    """

    def __init__(  # noqa: PLR0913 (a change has that many parts)
        self,
        data: Sequence[DataFile] = (),
        deletes: Sequence[DataFile] = (),
        *,
        remove_data: Sequence[DataFile] = (),
        remove_deletes: Sequence[DataFile] = (),
        referenced: Iterable[str] = (),
        allow_deleted: bool = False,
        planned: Planned | None = None,
        merge_vectors: MergeVectors | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        for file in data:
            if file.content is not DataFileContent.DATA:
                raise InvalidInputError(f"{file.file_path} is given as data and holds deletes")
        for file in deletes:
            if file.content is DataFileContent.DATA:
                raise InvalidInputError(f"{file.file_path} is given as deletes and holds data")
        self._data = tuple(data)
        self._deletes = tuple(deletes)
        self._remove_data = tuple(remove_data)
        self._remove_deletes = tuple(remove_deletes)
        self._referenced = tuple(referenced)
        self._allow_deleted = allow_deleted
        self._planned = planned
        self._vectors = OvertakenVectors(merge_vectors)
        self._change = FileChange(branch, snapshot_properties)
        self._first_head: Snapshot | None = None

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Refuse commits since the plan that concern the rows that the change read."""
        planned = self._planned
        if planned is None:
            return
        head = self._change.producer.committed_head(base)
        history = history_since(base, io, head, planned.snapshot_id)
        bound = bound_filter(base, planned)
        may_match = may_match_filter(base, bound)
        require_data_files(history, self._referenced, allow_deletes=self._allow_deleted)
        if planned.refuse_new_data:
            refuse_added_data_files(history, may_match)
        merges = self._vectors.can_merge
        if planned.refuse_new_deletes:
            refuse_added_delete_files(history, may_match, beside_vectors=merges)
        allowed = _ONLY_DELETED if merges else ()
        overtaken = refuse_new_vectors(history, self._deletes, allowed=allowed)
        self._vectors.note(overtaken)
        refuse_new_deletes_for(history, self._remove_data)

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that make the change on this base."""
        if not base.rules.has_delete_files:
            raise UnsupportedError(
                f"Delete files of {base.location} need format-version 2; the table has "
                f"{base.format_version}. Set the table property format-version to 2"
            )
        if self._data and self._referenced:
            self._check_row_ids(base)
        new = NewDeletes(self._deletes, self._remove_deletes)
        now, changed = self._vectors.of(
            new, self._change.producer.parent_manifests(base, io), base, io
        )
        if changed:
            self._change.add_others()
        gone_data, gone_deletes = Paths.of(self._remove_data), Paths.of(now.removed)

        def check(removed: Removed) -> None:
            check_all_removed(gone_data, removed)
            check_all_removed(gone_deletes, removed)
            if self._data:
                check_row_ids(self._remove_data, removed)

        data: list[Selection] = [gone_data] if self._remove_data else []
        deletes: list[Selection] = [gone_deletes] if now.removed else []
        changes = FileChanges(
            added=(*self._data, *now.added),
            data=data,
            deletes=deletes,
            operation=self._operation,
            check=check,
        )
        return self._change.prepare(base, io, changes)

    def _check_row_ids(self, base: TableMetadata) -> None:
        """Refuse updated rows whose row ids differ from those that the change read.

        The first attempt sees the head that the change was planned on. Row ids change afterwards in
        two cases. The head had none: the table was upgraded to version 3 and another commit
        assigned them. Or an earlier change of the same transaction created the head, and gets other
        ids at each attempt.
        """
        head = self._change.producer.parent(base)
        if self._first_head is None:
            self._first_head = head
        first = self._first_head
        if first is None or head is None or head == first:
            return
        now = base.snapshots.get(first.snapshot_id, first)
        had_none = first.first_row_id is None and head.first_row_id is not None
        if had_none or now.first_row_id != first.first_row_id:
            raise ValidationException(
                f"Rows of {base.location} got row ids since this change was planned, which its "
                "updated rows lack; plan the change again"
            )

    def _operation(self, removed: Removed) -> Operation:
        if not self._deletes and not removed:
            return Operation.APPEND
        only_deletes = bool(self._deletes) and not self._data
        return Operation.DELETE if only_deletes else Operation.OVERWRITE

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove unused files: manifests, manifest lists and merged vectors."""
        self._change.clean_up(io, committed)
        self._vectors.clean_up(io, self._deletes, committed)


# Merge new deletion vectors with those that other commits gave the same data files since.
#
# Java refuses this case. Two changes that only delete rows of a file can be applied in any order,
# with the same rows left. A change that also rewrites rows can follow such a change if both
# concern different rows.


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The vectors of one data file: the change's own, the newer one, the one of the plan."""

    ours: DataFile
    newer: DataFile
    before: DataFile | None


MergeVectors: TypeAlias = Callable[[Sequence[Overtaken]], Sequence[DataFile]]
"""Returns for each data file one vector with the positions of both.

Raises ValidationException if both delete the same row and the change does not allow that.
"""


@dataclass(frozen=True, slots=True)
class NewDeletes:
    """The delete files that a change adds, and those that it removes for them."""

    added: tuple[DataFile, ...]
    removed: tuple[DataFile, ...]


class OvertakenVectors:
    """The data files of a change with a newer vector, and the last attempt's merged vectors."""

    __slots__ = ("_from", "_merge", "_merged", "_paths", "_written")

    def __init__(self, merge: MergeVectors | None) -> None:
        self._merge = merge
        self._paths: frozenset[str] = frozenset()
        self._from: tuple[DeleteKey, ...] = ()
        self._merged: tuple[DataFile, ...] = ()
        self._written: set[str] = set()

    @property
    def can_merge(self) -> bool:
        """Whether vectors can be merged."""
        return self._merge is not None

    def note(self, paths: frozenset[str]) -> None:
        """Record the data files that got a vector since the change was planned."""
        self._paths = paths

    def of(
        self, new: NewDeletes, manifests: Iterable[ManifestFile], base: TableMetadata, io: FileIO
    ) -> tuple[NewDeletes, bool]:
        """Return the added and removed files on a base, and whether the last attempt had others.

        A merged vector replaces the newer one. The newer one contains all deletes of the data file
        that the change would have removed.
        """
        newer = _live_vectors(manifests, self._paths, base, io) if self._paths else ()
        newer_keys = tuple(file.key for file in newer)
        changed = newer_keys != self._from
        if changed and self._merge is not None:
            ours, before = _by_data_file(new.added), _by_data_file(new.removed)
            met = [(file.referenced_data_file, file) for file in newer]
            overtaken = [Overtaken(ours[path], file, before.get(path)) for path, file in met]
            self._merged = tuple(self._merge(overtaken)) if overtaken else ()
            self._written.update(file.file_path for file in self._merged)
            self._from = newer_keys
        if not newer:
            return new, changed
        over = {file.referenced_data_file for file in newer}
        return NewDeletes(
            (*(f for f in new.added if f.referenced_data_file not in over), *self._merged),
            (*(f for f in new.removed if f.referenced_data_file not in over), *newer),
        ), changed

    def clean_up(
        self, io: FileIO, added: Iterable[DataFile], committed: TableMetadata | None
    ) -> None:
        """Remove merged vectors that were not committed, and Puffin files without others."""
        if not self._written:
            return
        unused = set(self._written)
        if committed is not None:
            over = {file.referenced_data_file for file in self._merged}
            files = tuple(added)
            used = {file.file_path for file in files if file.referenced_data_file not in over}
            unused |= {file.file_path for file in files}
            unused -= used | {file.file_path for file in self._merged}
        with suppress(Exception):
            io.delete_many(sorted(unused))


def _by_data_file(files: Iterable[DataFile]) -> dict[str | None, DataFile]:
    return {file.referenced_data_file: file for file in files if file.is_vector}


def _live_vectors(
    manifests: Iterable[ManifestFile], paths: frozenset[str], base: TableMetadata, io: FileIO
) -> tuple[DataFile, ...]:
    path_set = pa.array(sorted(paths), pa.string())
    vectors: list[DataFile] = []
    for manifest in manifests:
        if manifest.content is not ManifestContent.DELETES or not manifest.may_have_live_files:
            continue
        entries = read_entries(io, base, manifest)
        live = pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED))
        aimed = pc.is_in(entries.column("referenced_data_file"), value_set=path_set)
        hit = pc.and_(pc.and_(live, aimed), is_vector(entries))
        vectors += data_files_of(base, manifest, entries.filter(hit))
    return tuple(vectors)
