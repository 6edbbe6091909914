"""Replace data files by others with the same rows while other writers delete some of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.conflicts import History, history_since, new_deletes_for
from iceberg_spark.commits.manifest_filter import Paths, check_all_removed, check_row_ids
from iceberg_spark.commits.new_manifests import data_files_of
from iceberg_spark.commits.snapshot_change import FileChange, FileChanges, Removed
from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent, DeleteKey, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.spec.snapshot import Operation

Carry: TypeAlias = Callable[[Sequence[DataFile]], Sequence[DataFile]]
"""Rewrites position deletes of replaced files as position deletes of the new files.

Raises ValidationException if it is unknown where a row was moved to.
"""
_REMOVE_DELETES = (Operation.OVERWRITE, Operation.REPLACE, Operation.DELETE)


class CompactFiles:
    """Replace data files by compacted ones, with `data_sequence_number` as the age of their rows.

    `planned_on` is the snapshot that the rows were read from. `carry` rewrites position deletes
    committed since for the new files. Equality deletes committed since apply to the new files
    without change, if `data_sequence_number` is older and the partitions are the same. Other
    deletes of the replaced files are a ValidationException, and so is a replaced file that is
    missing.
    """

    def __init__(
        self,
        add: Sequence[DataFile],
        delete: Sequence[DataFile],
        *,
        planned_on: int,
        data_sequence_number: int | None,
        carry: Carry,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        self._add = tuple(add)
        self._delete = tuple(delete)
        self._planned_on = planned_on
        self._number = data_sequence_number
        self._carry = carry
        self._change = FileChange(branch, snapshot_properties)
        self._newer: tuple[
            DataFile, ...
        ] = ()  # files with position deletes of the replaced data files
        self._carried_from: tuple[DataFile, ...] = ()
        self._carried: tuple[DataFile, ...] = ()
        self._written: set[str] = set()

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Find the deletes committed since; refuse those that cannot be carried over."""
        head = self._change.producer.parent(base)
        history = history_since(base, io, head, self._planned_on)
        moved = self._places_that_rows_came_to()
        newer = []
        replaced: set[DeleteKey] | None = None
        for delete, hit in new_deletes_for(history, [*self._delete, *moved]):
            if self._reaches_the_new_files(base, delete):
                continue
            if delete.content is not DataFileContent.POSITION_DELETES:
                raise _conflict(delete, hit)
            if replaced is None:
                replaced = set(_removed_deletes(history))
            if delete.key not in replaced:  # otherwise another live file contains its positions
                newer.append(delete)
        self._newer = tuple(newer)

    def _places_that_rows_came_to(self) -> list[DataFile]:
        """Return new files in partitions where no replaced file was.

        An equality delete there did not apply to their rows, but would in the new files.
        """
        if self._number is None:
            return []
        before = {_partition(file) for file in self._delete}
        return [file for file in self._add if _partition(file) not in before]

    def _reaches_the_new_files(self, base: TableMetadata, delete: DataFile) -> bool:
        """Return whether an equality delete applies to the same rows in the new files.

        False if rows were moved into its partition or out of it, because files of another spec are
        replaced.
        """
        if self._number is None or delete.content is not DataFileContent.EQUALITY_DELETES:
            return False
        spec_id = delete.partition_spec_id
        if base.partition_specs[spec_id].is_unpartitioned:
            return True
        partition = _partition(delete)
        left = any(_partition(file) == partition for file in self._delete)
        left &= any(file.partition_spec_id != spec_id for file in self._add)
        came = any(_partition(file) == partition for file in self._add)
        came &= any(file.partition_spec_id != spec_id for file in self._delete)
        return not left and not came

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that replace the files on this base."""
        gone = Paths.of(self._delete)
        if self._newer != self._carried_from:
            self._carried = tuple(self._carry(self._newer))
            self._written.update(file.file_path for file in self._carried)
            self._carried_from = self._newer
            self._change.add_others()

        def check(removed: Removed) -> None:
            check_all_removed(gone, removed)
            check_row_ids(self._delete, removed)

        changes = FileChanges(
            added=(*self._add, *self._carried),
            data=[gone],
            operation=lambda _: Operation.REPLACE,
            check=check,
            data_sequence_number=self._number,
        )
        return self._change.prepare(base, io, changes)

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove unused files: manifests, manifest lists and carried deletes."""
        self._change.clean_up(io, committed)
        used = set() if committed is None else {file.file_path for file in self._carried}
        with suppress(Exception):
            io.delete_many(sorted(self._written - used))


def _removed_deletes(history: History) -> Iterator[DeleteKey]:
    """Yield the delete files that were removed since; other files contain their deletes."""
    removed = history.changed_entries(
        ManifestContent.DELETES, ManifestEntryStatus.DELETED, _REMOVE_DELETES
    )
    for manifest, entries in removed:
        yield from (file.key for file in data_files_of(history.base, manifest, entries))


def _partition(file: DataFile) -> tuple[int, tuple[object, ...]]:
    return file.partition_spec_id, partition_key(file.partition)


def _conflict(delete: DataFile, hit: str) -> ValidationException:
    return ValidationException(
        f"Conflict with delete file {delete.file_path}: it was committed since this compaction "
        f"was planned and applies to {hit}, which is replaced"
    )
