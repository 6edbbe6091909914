"""Compaction of data files from the plan to the commits (Java: RewriteDataFilesSparkAction)."""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.commit import CleanupOnFailure, commit
from iceberg_spark.commits.compact_files import CompactFiles
from iceberg_spark.commits.table_part import load_newest
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    CorruptFileError,
    ValidationException,
)
from iceberg_spark.maintenance.compaction import (
    CompactionWork,
    PlannedGroup,
    Runner,
    WrittenGroup,
    WrittenPiece,
)
from iceberg_spark.maintenance.limits import COMPACTING
from iceberg_spark.maintenance.plan_compaction import CompactionRequest, plan_compaction
from iceberg_spark.maintenance.rewritten_deletes import plan_removal
from iceberg_spark.maintenance.row_runs import positions_in
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.scan.planned_files import data_file, position_delete
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.deletion_vector_writer import DeletedRows, write_vectors, writes_vectors
from iceberg_spark.write.position_delete_writer import write_positions
from iceberg_spark.write.uncommitted_files import remove_written

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DataRewrite:
    """The result of a compaction, in the columns of Java's procedure; bytes of the replaced files.

    With partial progress, failed files are those of groups that could not be rewritten or committed
    while others were.
    """

    rewritten_data_files_count: int = 0
    added_data_files_count: int = 0
    rewritten_bytes_count: int = 0
    failed_data_files_count: int = 0
    removed_delete_files_count: int = 0

    def __str__(self) -> str:
        return (
            f"{self.rewritten_data_files_count:,} data files ({self.rewritten_bytes_count:,} "
            f"bytes) replaced by {self.added_data_files_count:,}, "
            f"{self.failed_data_files_count:,} failed, "
            f"{self.removed_delete_files_count:,} delete files removed"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"


@dataclass(slots=True)
class Compaction:
    """One compaction: plans groups, rewrites them by `run`, and commits them.

    `loaded` is the table after the last commit. `most_bytes` limits the rewrite to the first
    groups. Groups that other commits changed are planned again alone, several times. `failed` are
    the files of groups that were given up with partial progress.
    """

    catalog: Catalog
    loaded: LoadedTable
    request: CompactionRequest
    run: Runner
    most_bytes: int | None = None
    landed: list[WrittenGroup] = field(default_factory=list)
    failed: int = 0
    failed_commits: int = 0
    planned_again: int = 0
    _given_up: Exception = field(default_factory=Exception)

    @property
    def _name(self) -> str:
        return self.loaded.identifier

    def execute(self) -> DataRewrite:
        """Compact. Raises what planning, writing and committing raise.

        After an error nothing is committed. Exceptions are partial progress, and commits before the
        failed one if groups had to be planned again.
        """
        planned = plan_compaction(self.loaded.metadata, self.loaded.io, self.request)
        if planned is None or not planned.groups:
            return DataRewrite()
        groups = _first(planned.groups, self.most_bytes)
        if self.request.options.partial_progress:
            self._by_parts(planned.work, groups, planned.total)
        elif groups:
            self._land(planned.work, groups)
        dangling = self._without_dangling() if self.request.options.remove_dangling_deletes else 0
        return self._result(dangling)

    def _by_parts(self, work: CompactionWork, groups: Sequence[PlannedGroup], total: int) -> None:
        options = self.request.options
        step = -(-total // options.max_commits)
        last: Exception | None = None
        for start in range(0, len(groups), step):
            part = groups[start : start + step]
            before, given_up = len(self.landed), self.failed
            try:
                self._land(work, part)
            except CommitStateUnknownException:
                raise
            except Exception as error:  # noqa: BLE001 (Spark's too: the next part may go through)
                _log.warning("A part of the compaction of %s failed", self._name, exc_info=True)
                last = error
                self.failed_commits += 1
                done = sum(len(group.planned.plan) for group in self.landed[before:])
                self.failed = given_up + sum(len(group.plan) for group in part) - done
        if self.failed_commits > options.max_failed_commits:
            raise CommitFailedException(
                f"{self.failed_commits} commits of a compaction of {self.loaded.identifier} with "
                "partial progress failed, more than 'partial-progress.max-failed-commits' "
                f"({options.max_failed_commits}) allows; {len(self.landed)} groups landed"
            ) from last

    def _land(self, work: CompactionWork, groups: Sequence[PlannedGroup]) -> None:
        """Rewrite and commit groups; plan and rewrite those again that other commits changed."""
        waiting = tuple(groups)
        for turn in range(COMPACTING.rounds + 1):
            written = self._rewrite(work, waiting)
            try:
                self._commit(work, written)
            except ValidationException:
                hit = self._commit_alone(work, written)
                if hit and turn == COMPACTING.rounds:
                    raise
            else:
                return
            work, waiting = self._anew(work, hit)
            if not waiting:
                return

    def _rewrite(self, work: CompactionWork, groups: Sequence[PlannedGroup]) -> list[WrittenGroup]:
        """Rewrite groups; with partial progress, give up those that fail."""
        at_once = self.request.options.max_concurrent_groups or len(groups)
        done: list[WrittenGroup] = []
        try:
            for start in range(0, len(groups), at_once):
                done += self._run(work, groups[start : start + at_once])
        except BaseException:
            self._remove(done)
            raise
        if not done:
            raise self._given_up
        return done

    def _run(self, work: CompactionWork, groups: Sequence[PlannedGroup]) -> list[WrittenGroup]:
        full = groups[0].group.max_file_bytes
        named = replace(work.write, write_id=str(uuid.uuid4()), target_file_size_bytes=full)
        try:
            return self._with_all_rows(self.run(replace(work, write=named), groups))
        except (
            Exception
        ) as error:  # Spark's errors too: with partial progress, other groups continue
            if not self.request.options.partial_progress:
                raise
            if len(groups) == 1:
                _log.warning("A group of the compaction of %s failed", self._name, exc_info=True)
                self._given_up = error
                self.failed += len(groups[0].plan)
                return []
        done: list[WrittenGroup] = []
        try:
            for group in groups:
                done += self._run(work, [group])
        except BaseException:
            self._remove(done)
            raise
        return done

    def _with_all_rows(self, groups: list[WrittenGroup]) -> list[WrittenGroup]:
        """Refuse to replace files without deletes by another number of rows."""
        for group in groups:
            if any(task.delete_files for task in group.planned.plan):
                continue
            expected = sum(task.record_count for task in group.planned.plan)
            actual = sum(file.record_count for file in group.files)
            if actual != expected:
                self._remove(groups)
                raise CorruptFileError(
                    f"{len(group.planned.plan)} data files, {group.planned.plan[0].file_path} "
                    f"first, have {actual:,} rows where the metadata says {expected:,}: they stay "
                    "unchanged; t.maintenance.check() may find the cause"
                )
        return groups

    def _commit(self, work: CompactionWork, groups: Sequence[WrittenGroup]) -> None:
        """Commit groups together. Removes their files on failure, except a ValidationException."""
        first = groups[0].planned
        keeps = self.request.options.use_starting_sequence_number
        action = CompactFiles(
            [file for group in groups for file in group.files],
            [data_file(task) for group in groups for task in group.planned.plan],
            planned_on=first.snapshot_id,
            data_sequence_number=first.sequence_number if keeps else None,
            carry=DeleteCarrier(work, groups).carry,
            branch=self.request.branch,
        )
        conflict: ValidationException | None = None
        with CleanupOnFailure(self.loaded.io, files_of(groups)) as commit_state:
            try:
                self.loaded = commit(
                    self.catalog,
                    self.loaded.identifier,
                    action,
                    self.loaded,
                    commit_state=commit_state,
                )
            except ValidationException as error:
                if commit_state.may_have_landed:
                    raise
                conflict = error
        if conflict is not None:
            raise conflict
        self.landed += groups

    def _commit_alone(
        self, work: CompactionWork, groups: Sequence[WrittenGroup]
    ) -> list[WrittenGroup]:
        """Commit unchanged groups one by one; return the others, without files."""
        hit: list[WrittenGroup] = []
        for index, group in enumerate(groups):
            try:
                if len(groups) > 1:
                    self._commit(work, [group])
                else:
                    hit.append(group)
            except ValidationException:
                hit.append(group)
            except BaseException:
                self._remove([*hit, *groups[index + 1 :]])
                raise
        self._remove(hit)
        return hit

    def _anew(
        self, work: CompactionWork, groups: Sequence[WrittenGroup]
    ) -> tuple[CompactionWork, tuple[PlannedGroup, ...]]:
        """Plan groups again, each with those of its files that still exist."""
        self.loaded = load_newest(self.catalog, self.loaded)
        self.planned_again += len(groups)
        groups_again: list[PlannedGroup] = []
        for group in groups:
            paths = group.planned.plan.files.column("file_path").to_pylist()
            planned = plan_compaction(self.loaded.metadata, self.loaded.io, self.request, paths)
            if planned is not None:
                work = planned.work
                groups_again += planned.groups
        return work, tuple(groups_again)

    def _remove(self, groups: Sequence[WrittenGroup]) -> None:
        remove_written(self.loaded.io, files_of(groups))

    def _without_dangling(self) -> int:
        """Remove delete files that no data file needs; return their number."""
        branch = self.request.branch
        for turn in range(COMPACTING.rounds + 1):
            action, gone = plan_removal(self.loaded.metadata, self.loaded.io, branch)
            if not gone.removed_delete_files:
                return 0
            try:
                self.loaded = commit(self.catalog, self.loaded.identifier, action, self.loaded)
            except ValidationException:
                if turn == COMPACTING.rounds:
                    raise
                self.loaded = load_newest(self.catalog, self.loaded)
            else:
                return gone.removed_delete_files_count
        return 0

    def _result(self, dangling: int) -> DataRewrite:
        return DataRewrite(
            sum(len(group.planned.plan) for group in self.landed),
            sum(len(group.files) for group in self.landed),
            sum(group.planned.group.input_bytes for group in self.landed),
            self.failed,
            dangling + sum(_vectors(group.planned) for group in self.landed),
        )


def _first(groups: Sequence[PlannedGroup], most_bytes: int | None) -> Sequence[PlannedGroup]:
    if most_bytes is None:
        return groups
    ends = accumulate(group.group.input_bytes for group in groups)
    return [group for group, end in zip(groups, ends, strict=True) if end <= most_bytes]


def _vectors(planned: PlannedGroup) -> int:
    """Return how many deletion vectors were removed with a group's data files."""
    return sum(file.is_vector for task in planned.plan for file in task.delete_files)


@dataclass(frozen=True, slots=True)
class DeleteCarrier:
    """Carries deletes over to the new files of some groups; holds the deleted positions."""

    work: CompactionWork
    groups: Sequence[WrittenGroup]

    def carry(self, deletes: Sequence[DataFile]) -> tuple[DataFile, ...]:
        """Write position deletes of the new files for deletes of the replaced ones.

        Leaves out positions that were deleted before the rewrite: the new files lack their rows.
        Raises ValidationException if a file's rows were sorted or moved to several partitions.
        """
        if not deletes:
            return ()
        positions_by_path: dict[str, list[PositionSet]] = defaultdict(list)
        for group in self.groups:
            deleted = self._deleted(group, deletes)
            for piece in group.pieces if deleted else ():
                for path, positions in _translated(piece, deleted):
                    positions_by_path[path].append(positions)
        return self._write(
            {path: PositionSet.union(sets) for path, sets in positions_by_path.items()}
        )

    def _deleted(self, group: WrittenGroup, deletes: Sequence[DataFile]) -> dict[str, PositionSet]:
        """Return the positions newly deleted in the files that the group replaced."""
        deleted = {}
        for task in group.planned.plan:
            files = [
                position_delete(file)
                for file in deletes
                if file.referenced_data_file in (None, task.file_path)
            ]
            positions = deleted_positions(self.work.write.io, task, files, process_cache())
            if not positions.is_empty:
                deleted[task.file_path] = positions
        if deleted and any(piece.runs is None for piece in group.pieces):
            raise ValidationException(
                f"Rows of {min(deleted)} were deleted while the compaction sorted them or moved "
                "them to several partitions, so their new positions are unknown"
            )
        return deleted

    def _write(self, positions_by_path: dict[str, PositionSet]) -> tuple[DataFile, ...]:
        write = self.work.write
        context = replace(write, write_id=str(uuid.uuid4()))
        if writes_vectors(write):
            deleted = (
                DeletedRows(
                    file.file_path,
                    file.partition_spec_id,
                    file.partition,
                    positions_by_path[file.file_path],
                )
                for file in _new_files(self.groups)
                if file.file_path in positions_by_path
            )
            specs = {write.spec.spec_id: write.spec}
            return write_vectors(context, write.io, deleted, specs=specs, task=TaskId())
        by_partition: dict[object, list[DataFile]] = defaultdict(list)
        for group in self.groups:
            for file in group.files:
                if file.file_path in positions_by_path:
                    by_partition[partition_key(file.partition)].append(file)
        written: list[DataFile] = []
        try:
            for number, files in enumerate(by_partition.values()):
                deletes = sorted(
                    (file.file_path, positions_by_path[file.file_path]) for file in files
                )
                written += write_positions(
                    context,
                    write.io,
                    deletes,
                    spec=write.spec,
                    partition=files[0].partition,
                    task=TaskId(number),
                )
        except BaseException:
            remove_written(write.io, [file.file_path for file in written])
            raise
        return tuple(written)


def _translated(
    piece: WrittenPiece, deleted: dict[str, PositionSet]
) -> Iterator[tuple[str, PositionSet]]:
    files = [(file.file_path, file.record_count) for file in piece.files]
    for runs in piece.runs or ():
        if runs.file_path in deleted:
            numbers = runs.numbers_of(deleted[runs.file_path].positions())
            yield from positions_in(numbers, files).items()


def _new_files(groups: Iterable[WrittenGroup]) -> Iterator[DataFile]:
    """Yield the groups' new files."""
    return (file for group in groups for file in group.files)


def files_of(groups: Iterable[WrittenGroup]) -> list[str]:
    """Return the paths of the groups' new files."""
    return [file.file_path for file in _new_files(groups)]
