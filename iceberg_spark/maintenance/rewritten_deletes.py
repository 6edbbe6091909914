"""Minor compaction: rewrites deletes as positions of one data file each.

Planning uses columns and values of delete files, about 500 bytes each. The work is one task for
each data file, in this process or on Spark.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import TypeAlias

import pyarrow.compute as pc

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.catalog.planned_io import refuse_server_planning
from iceberg_spark.commits.new_manifests import read_entries, tuple_type
from iceberg_spark.commits.replace_deletes import ReplaceDeletes
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import manifest_entries
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.read.position_deletes import (
    NewDeletes,
    by_position,
    deleted_positions,
    merge_positions,
    of_one_file,
)
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.planned_files import delete_file
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import (
    DataFile,
    DataFileContent,
    ManifestEntry,
    ManifestEntryStatus,
)
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.deletion_vector_writer import DeletedRows, write_vectors, writes_vectors
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.position_delete_writer import write_positions


@dataclass(frozen=True, slots=True)
class DeleteRewrite:
    """The result of a rewrite of delete files: replaced files, and new files with their rows."""

    removed_delete_files: int = 0
    added_delete_files: int = 0
    added_position_deletes: int = 0
    rewritten_bytes_count: int = field(default=0, compare=False)
    added_bytes_count: int = field(default=0, compare=False)

    @property
    def rewritten_delete_files_count(self) -> int:
        """The number of replaced or removed delete files, named as in Java's procedure."""
        return self.removed_delete_files

    @property
    def added_delete_files_count(self) -> int:
        """The number of written delete files, named as in Java's procedure."""
        return self.added_delete_files

    @classmethod
    def total(cls, parts: Iterable[DeleteRewrite]) -> DeleteRewrite:
        """Return the sum of several commits."""
        every = [astuple(part) for part in parts]
        return cls(*map(sum, zip(*every, strict=True))) if every else cls()

    def __str__(self) -> str:
        return (
            f"{self.removed_delete_files:,} delete files replaced by {self.added_delete_files:,} "
            f"with {self.added_position_deletes:,} positions"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"


@dataclass(frozen=True, slots=True)
class DeleteWork:
    """What all tasks of a rewrite share; pickled once."""

    scan: ScanContext
    write: WriteContext
    together: bool = False
    """Whether the positions of a partition's data files go to one position delete file."""

    def shares(self, tasks: Sequence[FileScanTask], most: int) -> list[tuple[FileScanTask, ...]]:
        """Return the groups of tasks that run in sequence: by partition, or of equal number."""
        if self.together:
            return _by_partition(tasks)
        count = min(len(tasks), most)
        return [tuple(tasks[first::count]) for first in range(count)]

    def rewrite(self, io: FileIO, tasks: Iterable[FileScanTask], task_id: TaskId) -> NewDeletes:
        """Write the deletes of tasks' data files, except those without any.

        - Position delete files are one for each data file. If equality deletes are among a task's
          deletes, its file has the rows that these delete and position deletes do not; otherwise
          all positions.
        - Deletion vectors are all in one file, and each has all positions. It replaces the position
          deletes that were of its data file only, if it has other positions than these.

        Holds about 16 bytes for each deleted row of one data file.
        """
        if writes_vectors(self.write):
            return self._vectors(io, tasks, task_id)
        written: list[DataFile] = []
        if self.together:
            for share in _by_partition(tasks):
                written += self._of_partition(io, share, task_id)
            return NewDeletes(tuple(written))
        for task in tasks:
            positions = self._positions(io, task)
            if not positions.is_empty:
                written += write_positions(
                    self.write,
                    io,
                    [(task.file_path, positions)],
                    spec=self.scan.specs[task.spec_id],
                    partition=task.partition,
                    task=task_id,
                )
        return NewDeletes(tuple(written))

    def _of_partition(
        self, io: FileIO, tasks: Sequence[FileScanTask], task_id: TaskId
    ) -> tuple[DataFile, ...]:
        ordered = sorted(tasks, key=lambda task: task.file_path.encode())
        positions_by_path = ((task.file_path, self._positions(io, task)) for task in ordered)
        return write_positions(
            self.write,
            io,
            (item for item in positions_by_path if not item[1].is_empty),
            spec=self.scan.specs[tasks[0].spec_id],
            partition=tasks[0].partition,
            task=task_id,
            granularity="partition",
        )

    def _vectors(self, io: FileIO, tasks: Iterable[FileScanTask], task_id: TaskId) -> NewDeletes:
        replaced: list[DataFile] = []

        def deleted() -> Iterator[DeletedRows]:
            for task in tasks:
                positions = self._positions(io, task)
                if positions.is_empty:
                    continue
                if any(map(_is_equality, task.delete_files)):
                    positions = merge_positions(io, task, positions, by_position(task))
                    replaced.extend(delete_file(file, task) for file in of_one_file(task))
                yield DeletedRows(task.file_path, task.spec_id, task.partition, positions)

        written = write_vectors(self.write, io, deleted(), specs=self.scan.specs, task=task_id)
        return NewDeletes(written, tuple(replaced))

    def _positions(self, io: FileIO, task: FileScanTask) -> PositionSet:
        by_place = by_position(task)
        deleted_by_position = deleted_positions(io, task, by_place, process_cache())
        if len(by_place) == len(task.delete_files):
            return deleted_by_position
        deleted = (
            PositionSet.from_positions(batch.column(0).filter(batch.column(1)).to_numpy())
            for batch in read_task(self.scan, io, task)
        )
        return PositionSet.union(deleted).without(deleted_by_position)


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """A planned rewrite: the tasks that write, and the delete files to remove."""

    work: DeleteWork
    tasks: tuple[FileScanTask, ...]
    removed: tuple[ManifestEntry, ...]
    snapshot_id: int | None

    def result(self, new: NewDeletes) -> DeleteRewrite:
        """Return the counts; each deletion vector counts as a file."""
        rows = sum(file.record_count for file in new.written)
        removed = len(self.removed) + len(new.replaced)
        gone = (*(entry.data_file for entry in self.removed), *new.replaced)
        return DeleteRewrite(
            removed, len(new.written), rows, sum(map(_bytes, gone)), sum(map(_bytes, new.written))
        )

    def action(self, new: NewDeletes, branch: str | None) -> ReplaceDeletes:
        """Return the action that replaces the old files by the new ones.

        Rewritten positions get the highest data sequence number of the files that they replace,
        converted ones the commit's own.
        """
        highest = {
            task.file_path: max(
                delete_file.data_sequence_number for delete_file in task.delete_files
            )
            for task in self.tasks
            if not any(map(_is_equality, task.delete_files))
        }
        of_all = max(highest.values(), default=None) if self.work.together else None
        numbers_found = {
            file.key: highest.get(file.referenced_data_file or "", of_all) for file in new.written
        }
        numbers = {key: number for key, number in numbers_found.items() if number is not None}
        return ReplaceDeletes(
            new.written,
            self.removed,
            also_removed=new.replaced,
            planned_on=self.snapshot_id,
            sequence_numbers=numbers,
            branch=branch,
        )


Runner: TypeAlias = Callable[[DeleteWork, Sequence[FileScanTask], FileIO], NewDeletes]
"""Runs the tasks of a rewrite, in this process or on Spark."""


def run_here(work: DeleteWork, tasks: Sequence[FileScanTask], io: FileIO) -> NewDeletes:
    """Run the tasks one after the other."""
    return work.rewrite(io, tasks, TaskId())


def plan_conversion(metadata: TableMetadata, io: FileIO, branch: str | None) -> DeletePlan:
    """Plan to convert all equality deletes of a branch's head to position deletes.

    Those that apply to no data file are removed.
    """
    planned = planned_deletes(metadata, io, branch)
    equality = DataFileContent.EQUALITY_DELETES
    removed = tuple(entry for entry in planned.entries if entry.data_file.content is equality)
    touched = tuple(task for task in planned.tasks if any(map(_is_equality, task.delete_files)))
    return DeletePlan(planned.work, touched, removed, planned.snapshot_id)


def plan_position_rewrite(metadata: TableMetadata, io: FileIO, branch: str | None) -> DeletePlan:
    """Plan one position delete file for each data file of a branch's head.

    Rewrites the deletes of data files with several, and delete files for several data files.
    Removes those whose data files are all gone. Equality deletes stay unchanged. If deletes are
    deletion vectors, all position delete files become vectors.
    """
    planned = planned_deletes(metadata, io, branch)
    by_path = {
        entry.data_file.file_path: entry for entry in planned.entries if is_position_file(entry)
    }
    used: set[str] = set()
    gone: set[str] = set()
    chosen = []
    for task in planned.tasks:
        mine = tuple(file for file in task.delete_files if file.file_path in by_path)
        paths = [file.file_path for file in mine]
        used.update(paths)
        old = mine and metadata.rules.has_deletion_vectors
        if old or len(mine) > 1 or any(file.referenced_data_file is None for file in mine):
            chosen.append(replace(task, delete_files=mine))
            gone.update(paths)
    gone.update(by_path.keys() - used)
    removed = tuple(by_path[path] for path in sorted(gone))
    return DeletePlan(planned.work, tuple(chosen), removed, planned.snapshot_id)


def position_plan(planned: PlannedDeletes, removed: Sequence[ManifestEntry]) -> DeletePlan:
    """Plan to replace these position delete files; live data files keep their deletes.

    A deletion vector replaces all position deletes of its data file, so it gets the positions of
    the others as well.
    """
    paths = {entry.data_file.file_path for entry in removed}
    all_positions = writes_vectors(planned.work.write)
    chosen = []
    for task in planned.tasks:
        mine = tuple(file for file in task.delete_files if file.file_path in paths)
        if mine:
            taken = tuple(by_position(task)) if all_positions else mine
            chosen.append(replace(task, delete_files=taken))
    # Of its own: what is cleared up after a plan that failed is not what others have committed.
    write = replace(planned.work.write, write_id=str(uuid.uuid4()))
    work = replace(planned.work, write=write)
    return DeletePlan(work, tuple(chosen), tuple(removed), planned.snapshot_id)


def is_position_file(entry: ManifestEntry) -> bool:
    """Return whether an entry is a position delete file and not a deletion vector."""
    file = entry.data_file
    return file.content is DataFileContent.POSITION_DELETES and not file.is_vector


def _by_partition(tasks: Iterable[FileScanTask]) -> list[tuple[FileScanTask, ...]]:
    by_partition: dict[object, list[FileScanTask]] = {}
    for task in tasks:
        by_partition.setdefault((task.spec_id, partition_key(task.partition)), []).append(task)
    return [tuple(tasks_of_partition) for tasks_of_partition in by_partition.values()]


def _bytes(file: DataFile) -> int:
    """Return the bytes of a delete file, for a deletion vector those in its Puffin file."""
    return file.content_size_in_bytes or file.file_size_in_bytes


def _is_equality(file: DeleteFile) -> bool:
    return file.content is DataFileContent.EQUALITY_DELETES


@dataclass(frozen=True, slots=True)
class PlannedDeletes:
    """The data files with deletes, and all live delete files, of a branch's head."""

    work: DeleteWork
    tasks: tuple[FileScanTask, ...]
    entries: tuple[ManifestEntry, ...]
    snapshot_id: int | None


def planned_deletes(metadata: TableMetadata, io: FileIO, branch: str | None) -> PlannedDeletes:
    """Plan which deletes apply to which data files of a branch's head.

    Raises UnsupportedError if the table's catalog plans its scans.
    """
    refuse_server_planning(io, "rewrite deletes")
    places = ScanRequest(branch=branch, selected_fields=(), metadata_columns=("_pos", "_deleted"))
    scan = replace(scan_context(metadata, places, io), checks_texts=False)
    planned = plan(metadata, io, scan)
    write = write_context(metadata, io=io)
    entries = _delete_entries(metadata, io, scan.snapshot_id)
    if not entries:
        return PlannedDeletes(DeleteWork(scan, write), (), (), scan.snapshot_id)
    has_deletes = pc.greater(pc.list_value_length(planned.files.column("delete_rows")), 0)
    some = replace(planned, files=planned.files.filter(has_deletes))
    work = DeleteWork(scan, write)
    return PlannedDeletes(work, tuple(some), tuple(entries), scan.snapshot_id)


def _delete_entries(
    metadata: TableMetadata, io: FileIO, snapshot_id: int | None
) -> list[ManifestEntry]:
    if snapshot_id is None:
        return []
    delete_entries: list[ManifestEntry] = []
    for manifest in read_manifest_list(io, metadata.snapshot(snapshot_id), metadata):
        if manifest.content is ManifestContent.DELETES and manifest.may_have_live_files:
            entries = read_entries(io, metadata, manifest)
            live = entries.filter(
                pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED))
            )
            spec_id = manifest.partition_spec_id
            delete_entries += manifest_entries(live, spec_id, tuple_type(metadata, spec_id))
    return delete_entries


# Delete files that no data file needs: found by planning, which knows which deletes apply.
#
# Java's RemoveDanglingDeletesSparkAction compares sequence numbers within a partition. But a
# delete under an unpartitioned spec is global and applies while any older file of any spec
# exists.


@dataclass(frozen=True, slots=True)
class RemovedDeletes:
    """The delete files removed from the table; expiring snapshots deletes them."""

    removed_delete_files: tuple[str, ...] = ()

    @property
    def removed_delete_files_count(self) -> int:
        """The number of removed delete files."""
        return len(self.removed_delete_files)

    def __str__(self) -> str:
        return f"{self.removed_delete_files_count:,} delete files removed"

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"


def plan_removal(
    metadata: TableMetadata, io: FileIO, branch: str | None
) -> tuple[ReplaceDeletes, RemovedDeletes]:
    """Return the change that removes dangling deletes of a branch's head, and these deletes."""
    planned = planned_deletes(metadata, io, branch)
    gone = dangling(planned.tasks, planned.entries)
    action = ReplaceDeletes((), gone, planned_on=planned.snapshot_id, branch=branch)
    return action, RemovedDeletes(tuple(entry.data_file.file_path for entry in gone))


def dangling(
    tasks: Iterable[FileScanTask], entries: Iterable[ManifestEntry]
) -> tuple[ManifestEntry, ...]:
    """Return the entries of delete files and deletion vectors that no task has."""
    used = {file.key for task in tasks for file in task.delete_files}
    return tuple(entry for entry in entries if entry.data_file.key not in used)
