"""Minor compaction: which deletes are written anew, as position deletes of one data file each.

Planning is columns and values of delete files, some 500 bytes each; the work is one task for each
data file, done by this process or spread over Spark's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow.compute as pc

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.commits.new_manifests import read_entries, tuple_type
from iceberg_spark.commits.replace_deletes import ReplaceDeletes
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import manifest_entries
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.read.delete_cache import process_cache
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
)
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.position_delete_writer import write_positions


@dataclass(frozen=True, slots=True)
class DeleteRewrite:
    """What a rewrite of delete files did: how many went, and how many came with how many rows."""

    removed_delete_files: int = 0
    added_delete_files: int = 0
    added_position_deletes: int = 0

    def __str__(self) -> str:
        return (
            f"{self.removed_delete_files:,} delete files replaced by {self.added_delete_files:,} "
            f"with {self.added_position_deletes:,} positions"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"


@dataclass(frozen=True, slots=True)
class DeleteWork:
    """What every task of a rewrite shares; pickled once."""

    scan: ScanContext
    write: WriteContext

    def rewrite(self, io: FileIO, task: FileScanTask, task_id: TaskId) -> tuple[DataFile, ...]:
        """Write one position delete file for a task's data file, none where nothing is deleted.

        With equality deletes among the task's deletes it holds the rows that these delete and
        position deletes don't; else all its positions. Holds some 16 bytes
        a deleted row at the worst.
        """
        positions = self._positions(io, task)
        if positions.is_empty:
            return ()
        return write_positions(
            self.write,
            io,
            [(task.file_path, positions)],
            spec=self.scan.specs[task.spec_id],
            partition=task.partition,
            task=task_id,
        )

    def _positions(self, io: FileIO, task: FileScanTask) -> PositionSet:
        by_position = [one for one in task.delete_files if not _is_equality(one)]
        known = deleted_positions(io, task.file_path, by_position, process_cache())
        if len(by_position) == len(task.delete_files):
            return known
        deleted = (
            PositionSet.from_positions(batch.column(0).filter(batch.column(1)).to_numpy())
            for batch in read_task(self.scan, io, task)
        )
        return PositionSet.union(deleted).without(known)


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """A planned rewrite: the tasks that write, and the delete files that go."""

    work: DeleteWork
    tasks: tuple[FileScanTask, ...]
    removed: tuple[ManifestEntry, ...]
    snapshot_id: int | None

    def result(self, files: Sequence[DataFile]) -> DeleteRewrite:
        """Count what was done."""
        rows = sum(file.record_count for file in files)
        return DeleteRewrite(len(self.removed), len(files), rows)

    def action(self, files: Sequence[DataFile], branch: str | None) -> ReplaceDeletes:
        """Return the change that puts the new files in place of the old.

        Rewritten positions take the highest data sequence number of the files that they replace,
        converted ones the commit's own.
        """
        highest = {
            task.file_path: max(one.data_sequence_number for one in task.delete_files)
            for task in self.tasks
            if not any(map(_is_equality, task.delete_files))
        }
        numbers = {
            file.file_path: highest[file.referenced_data_file]
            for file in files
            if file.referenced_data_file in highest
        }
        return ReplaceDeletes(
            files,
            self.removed,
            planned_on=self.snapshot_id,
            sequence_numbers=numbers,
            branch=branch,
        )


Runner: TypeAlias = Callable[[DeleteWork, Sequence[FileScanTask], FileIO], Iterable[DataFile]]
"""Runs the tasks of a rewrite, in this process or on Spark."""


def run_here(work: DeleteWork, tasks: Sequence[FileScanTask], io: FileIO) -> list[DataFile]:
    """Run the tasks one after the other."""
    found: list[DataFile] = []
    for number, task in enumerate(tasks):
        found += work.rewrite(io, task, TaskId(number))
    return found


def plan_conversion(metadata: TableMetadata, io: FileIO, branch: str | None) -> DeletePlan:
    """Plan to turn all equality deletes of a branch's head into position deletes.

    Those that apply to no data file any more just go.
    """
    work, tasks, entries, head = _planned(metadata, io, branch)
    equality = DataFileContent.EQUALITY_DELETES
    removed = tuple(entry for entry in entries if entry.data_file.content is equality)
    touched = tuple(task for task in tasks if any(map(_is_equality, task.delete_files)))
    return DeletePlan(work, touched, removed, head)


def plan_position_rewrite(metadata: TableMetadata, io: FileIO, branch: str | None) -> DeletePlan:
    """Plan to have one position delete file for each data file of a branch's head.

    Rewritten are data files with several, and delete files for several data files; those whose
    data files are all gone are dropped. Equality deletes stay as they are.
    """
    work, tasks, entries, head = _planned(metadata, io, branch)
    by_path = {
        entry.data_file.file_path: entry
        for entry in entries
        if entry.data_file.content is DataFileContent.POSITION_DELETES
        and entry.data_file.file_format is not FileFormat.PUFFIN
    }
    used: set[str] = set()
    gone: set[str] = set()
    chosen = []
    for task in tasks:
        mine = tuple(one for one in task.delete_files if one.file_path in by_path)
        paths = [one.file_path for one in mine]
        used.update(paths)
        if len(mine) > 1 or any(one.referenced_data_file is None for one in mine):
            chosen.append(replace(task, delete_files=mine))
            gone.update(paths)
    gone.update(by_path.keys() - used)
    return DeletePlan(work, tuple(chosen), tuple(by_path[path] for path in sorted(gone)), head)


def _is_equality(file: DeleteFile) -> bool:
    return file.content is DataFileContent.EQUALITY_DELETES


def _planned(
    metadata: TableMetadata, io: FileIO, branch: str | None
) -> tuple[DeleteWork, list[FileScanTask], list[ManifestEntry], int | None]:
    """Return the data files with deletes, and all live delete files, of a branch's head."""
    places = ScanRequest(branch=branch, selected_fields=(), metadata_columns=("_pos", "_deleted"))
    scan = replace(scan_context(metadata, places, io), checks_texts=False)
    planned = plan(metadata, io, scan)
    write = write_context(metadata, io=io)
    entries = _delete_entries(metadata, io, scan.snapshot_id)
    if not entries:
        return DeleteWork(scan, write), [], [], scan.snapshot_id
    has_deletes = pc.greater(pc.list_value_length(planned.files.column("delete_rows")), 0)
    some = replace(planned, files=planned.files.filter(has_deletes))
    return DeleteWork(scan, write), list(some), entries, scan.snapshot_id


def _delete_entries(
    metadata: TableMetadata, io: FileIO, snapshot_id: int | None
) -> list[ManifestEntry]:
    if snapshot_id is None:
        return []
    found: list[ManifestEntry] = []
    for manifest in read_manifest_list(io, metadata.snapshot(snapshot_id), metadata):
        if manifest.content is ManifestContent.DELETES and manifest.may_have_live_files:
            entries = read_entries(io, metadata, manifest)
            live = entries.filter(
                pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED))
            )
            spec_id = manifest.partition_spec_id
            found += manifest_entries(live, spec_id, tuple_type(metadata, spec_id))
    return found
