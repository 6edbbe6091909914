"""The work of a compaction: tasks rewrite groups of data files, in Arrow from reader to writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.compaction_plan import FileGroup
from iceberg_spark.maintenance.layout import Layout
from iceberg_spark.maintenance.limits import ORDERING
from iceberg_spark.maintenance.rewrite_options import RewriteOptions, Strategy
from iceberg_spark.maintenance.row_order import RowOrder
from iceberg_spark.maintenance.row_runs import RowRuns, RunRecorder
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.data_file_writer import chunks, write_data_files
from iceberg_spark.write.sorted_files import can_sort
from iceberg_spark.write.uncommitted_files import remove_written


@dataclass(frozen=True, slots=True, eq=False)
class PlannedGroup:
    """Files to rewrite together, as of `snapshot_id`, and the tasks that do so.

    `plan` has the files and their deletes; `pieces` are what each task reads, about one new file
    each. `sequence_number` is the snapshot's. `changes_spec` means that rows may move to several
    partitions.
    """

    group: FileGroup
    plan: ScanPlan
    pieces: tuple[tuple[FileScanTask, ...], ...]
    snapshot_id: int
    sequence_number: int | None
    changes_spec: bool


@dataclass(frozen=True, slots=True, eq=False)
class WrittenPiece:
    """The result of one task: files in the order of its rows, and the origin of these rows.

    `runs` are None if the rows were sorted. `again` means that an earlier attempt failed.
    """

    files: tuple[DataFile, ...]
    runs: tuple[RowRuns, ...] | None
    again: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class WrittenGroup:
    """A group that is rewritten but not committed yet."""

    planned: PlannedGroup
    pieces: tuple[WrittenPiece, ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The new files."""
        return tuple(file for piece in self.pieces for file in piece.files)


@dataclass(frozen=True, slots=True)
class Piece:
    """The input of one task, about 500 bytes a file. `parts`: number of files of sorted rows."""

    number: int
    tasks: tuple[FileScanTask, ...]
    parts: int = 1


@dataclass(frozen=True, slots=True)
class CompactionWork:
    """What all tasks of a compaction share; pickled once.

    `scan` reads the columns that `write` writes, including those of row lineage, and `_pos`.
    """

    scan: ScanContext
    write: WriteContext
    layout: Layout
    options: RewriteOptions

    def rewrite(self, io: FileIO, piece: Piece, task: TaskId) -> WrittenPiece:
        """Read a piece's rows and rewrite them; on an error, delete what was written."""
        recorder = RunRecorder()
        rows = self._rows(io, piece.tasks, recorder)
        if self.sorts:
            return WrittenPiece(self._sorted(io, rows, piece.parts, task), None)
        files = write_data_files(self.write, io, rows, task)
        places = {(file.partition_spec_id, partition_key(file.partition)) for file in files}
        return WrittenPiece(files, tuple(recorder.runs) if len(places) <= 1 else None)

    @property
    def sorts(self) -> bool:
        """Whether tasks sort their rows."""
        if self.layout.strategy is Strategy.Z_ORDER:
            return True
        return can_sort(self.layout.order, self.write.schema)

    @property
    def order(self) -> RowOrder:
        """The order of the layout."""
        return RowOrder(self.layout, self.options)

    def _rows(
        self, io: FileIO, tasks: Sequence[FileScanTask], recorder: RunRecorder
    ) -> Iterator[pa.RecordBatch]:
        schema = to_arrow(self.write.schema)
        for task in tasks:
            yield from recorder.of_file(task.file_path, read_task(self.scan, io, task), schema)

    def _sorted(
        self, io: FileIO, batches: Iterable[pa.RecordBatch], parts: int, task: TaskId
    ) -> tuple[DataFile, ...]:
        schema = to_arrow(self.write.schema)
        context = replace(self.write, sort_order_id=self.layout.order.order_id)
        written: list[DataFile] = []
        number = 0
        try:
            for run in chunks(batches, schema, ORDERING.run_bytes):
                rows = self.order.sorted(run, self.write.schema)
                del run
                for part in _parts(rows, parts):
                    run_task = TaskId(task.partition + number * ORDERING.run_stride, task.attempt)
                    written += write_data_files(context, io, part.to_batches(), run_task)
                    number += 1
        except BaseException:
            remove_written(io, [file.file_path for file in written])
            raise
        return tuple(written)


def _parts(rows: pa.Table, count: int) -> Iterator[pa.Table]:
    step = -(-rows.num_rows // max(count, 1))
    for start in range(0, rows.num_rows, max(step, 1)):
        yield rows.slice(start, step)


Runner: TypeAlias = Callable[[CompactionWork, Sequence[PlannedGroup]], list[WrittenGroup]]
"""Rewrites groups, in this process or on Spark; removes its files on failure."""


def run_here(work: CompactionWork, groups: Sequence[PlannedGroup]) -> list[WrittenGroup]:
    """Rewrite groups in this process, one piece at a time."""
    io = work.write.io
    done: list[WrittenGroup] = []
    pieces: list[WrittenPiece] = []
    number = 0
    try:
        for group in groups:
            pieces = []
            for piece in pieces_here(work, group):
                pieces.append(work.rewrite(io, replace(piece, number=number), TaskId(number)))
                number += 1
            done.append(WrittenGroup(group, tuple(pieces)))
    except BaseException:
        finished = [file.file_path for group in done for file in group.files]
        last = [file.file_path for piece in pieces for file in piece.files]
        remove_written(io, [*finished, *last])
        raise
    return done


def pieces_here(work: CompactionWork, planned: PlannedGroup) -> Iterator[Piece]:
    """Yield what this process rewrites together: a whole group if its rows are moved."""
    if work.layout.moves_rows or planned.changes_spec:
        tasks = tuple(task for piece in planned.pieces for task in piece)
        several = work.layout.moves_rows and not planned.changes_spec
        yield Piece(0, tasks, planned.group.expected_files if several else 1)
        return
    for tasks in planned.pieces:
        yield Piece(0, tasks)
