"""Delete rows without Spark: this process reads and writes one file after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.row_level.position_deletes import DeletesWriter
from iceberg_spark.row_level.row_level_change import (
    ChangedRows,
    RowChange,
    RowLevelMode,
    drop_files,
)
from iceberg_spark.row_level.target_files import Target
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.reserved import POS
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.align_columns import AlignOptions, align_batches
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.lineage import keeping_lineage, keeps_lineage, with_lineage
from iceberg_spark.write.sorted_files import write_sorted_files

MatchedPositions = tuple[FileScanTask, PositionSet]


def delete_rows(target: Target, io: FileIO, context: WriteContext, mode: RowLevelMode) -> RowChange:
    """Delete the rows that match the target's filter; files without such rows stay unchanged.

    Memory holds the matching positions of a partition's files (merge-on-read; of one file with
    deletion vectors), or of one file and the batches being written (copy-on-write).
    """
    dropped_files = drop_files(target, io)
    if mode.merge_on_read:
        return _with_deletes(dropped_files, target, io, context, mode)
    return _rewritten(dropped_files, target, io, context)


def _matching(
    target: Target, io: FileIO, tasks: Iterable[FileScanTask]
) -> Iterator[MatchedPositions]:
    """Yield the files with matching rows and the positions of these."""
    context = replace(target.context, read_schema=Schema(POS), checks_texts=False)
    for task in tasks:
        parts = [batch.column(0).to_numpy() for batch in read_task(context, io, task)]
        if parts:
            yield task, PositionSet.from_positions(np.concatenate(parts))


def _rewritten(
    dropped_files: RowChange, target: Target, io: FileIO, context: WriteContext
) -> RowChange:
    matching = _matching(target, io, target.plan)
    counts = {task.file_path: positions.count for task, positions in matching}
    touched = tuple(task for task in target.plan if task.file_path in counts)
    partly = tuple(task for task in touched if counts[task.file_path] < task.record_count)
    writing = keeping_lineage(context)
    reading = target.context
    if keeps_lineage(writing):
        reading = replace(reading, read_schema=with_lineage(reading.read_schema))
    remaining = MatchedFiles(reading, partly).remaining_rows(io)
    batches = align_batches(writing.schema, remaining, AlignOptions())
    return replace(
        dropped_files,
        added_data=write_sorted_files(writing, io, batches),
        removed_data=(*dropped_files.removed_data, *(data_file(task) for task in touched)),
        counts=ChangedRows(deleted=dropped_files.counts.deleted + sum(counts.values())),
    )


def _with_deletes(
    dropped_files: RowChange, target: Target, io: FileIO, context: WriteContext, mode: RowLevelMode
) -> RowChange:
    writer = DeletesWriter(context, target.metadata.partition_specs, mode.granularity)

    def group_of(task: FileScanTask) -> str:
        if writer.makes_vectors:
            return ""
        partition = f"{task.spec_id} {task.partition!r}"
        return partition if mode.granularity == "partition" else f"{partition} {task.file_path}"

    written: list[DataFile] = []
    replaced: list[DataFile] = []
    referenced: list[str] = []
    rows = dropped_files.counts.deleted

    def counted(matching: Iterable[MatchedPositions]) -> Iterator[MatchedPositions]:
        nonlocal rows
        for task, positions in matching:
            referenced.append(task.file_path)
            rows += positions.count
            yield task, positions

    for _, tasks in groupby(sorted(target.plan, key=group_of), key=group_of):
        new = writer.write(io, counted(_matching(target, io, tasks)), TaskId())
        written += new.written
        replaced += new.replaced
    return replace(
        dropped_files,
        added_deletes=tuple(written),
        removed_deletes=tuple(replaced),
        referenced=tuple(referenced),
        counts=ChangedRows(deleted=rows),
    )


@dataclass(frozen=True, slots=True)
class MatchedFiles:
    """The data files of a snapshot that may have rows matching a filter."""

    context: ScanContext
    tasks: tuple[FileScanTask, ...]

    def remaining_rows(self, io: FileIO) -> Iterator[pa.RecordBatch]:
        """Yield the live rows that do not match (false or null), batch by batch."""
        matches = row_filter(self.context.row_filter, _paths(self.context.table_schema))
        everything = replace(self.context, row_filter=ALWAYS_TRUE, checks_texts=False)
        for task in self.tasks:
            if task.residual == ALWAYS_TRUE:  # all rows match: none stays
                continue
            for batch in read_task(everything, io, replace(task, residual=ALWAYS_TRUE)):
                yield batch.filter(pc.invert(matches(batch)))


def _paths(schema: Schema) -> dict[int, tuple[str, ...]]:
    names: dict[int, tuple[str, ...]] = {}
    for field_id in schema.field_ids:
        fields = [schema.find_field(step_id) for step_id in schema.path_ids(field_id)]
        names[field_id] = tuple(field.name for field in fields)
    return names
