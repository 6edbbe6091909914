"""Rows of a group put in order by Spark's tasks: a sample, then one shuffle of Arrow batches.

Spark moves a few large values, and neither reads rows nor writes them: our reader and our writer
do. Its own range shuffle would read all columns a second time for its sample.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import SparkSession

from iceberg_spark.maintenance.compaction import (
    CompactionWork,
    PlannedGroup,
    WrittenGroup,
    WrittenPiece,
)
from iceberg_spark.maintenance.limits import ORDERING
from iceberg_spark.maintenance.ordered_rows import (
    RangeRows,
    cut_rows,
    sampled_keys,
    write_ranges,
)
from iceberg_spark.maintenance.row_order import OrderRanges, order_ranges
from iceberg_spark.scan.split import split_options
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.jobs import job_results, job_rows
from iceberg_spark.spark.adapt.task_results import results
from iceberg_spark.spark.session.task import speculates, task_id, was_tried_before
from iceberg_spark.spark.writing.write_settings import held_settings
from iceberg_spark.write.uncommitted_files import remove_aborted, remove_other_attempts

Tasks: TypeAlias = tuple[FileScanTask, ...]
_TRAVELLING = "file int, range int, rows binary"
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


@dataclass(frozen=True, slots=True)
class _Sampling:
    """Samples the keys of files."""

    work: CompactionWork
    share: float

    def keys(self, job: tuple[int, Tasks]) -> pa.Table:
        """Return the keys of some rows."""
        number, tasks = job
        return sampled_keys(self.work, self.work.write.io, tasks, self.share, number)


@dataclass(frozen=True, slots=True)
class _Ordering:
    """Cuts rows to ranges, and writes them range by range."""

    work: CompactionWork
    ranges: OrderRanges

    def cut(self, tasks: Tasks) -> Iterator[pa.RecordBatch]:
        """Yield rows by files and ranges."""
        kinds = (pa.int32(), pa.int32(), pa.binary())
        for cut in cut_rows(self.work, self.work.write.io, tasks, self.ranges):
            values = (int(self.ranges.files[cut.number]), cut.number, cut.rows.to_pybytes())
            columns = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
            yield pa.record_batch(columns, ["file", "range", "rows"])

    def written(self, batches: Iterable[pa.RecordBatch]) -> WrittenPiece:
        """Return what the ranges of a file became."""
        arriving = (
            RangeRows(number.as_py(), rows.as_buffer())
            for batch in batches
            for number, rows in zip(batch.column(0), batch.column(1), strict=True)
        )
        io = self.work.write.io
        files = write_ranges(self.work, io, arriving, self.ranges, task_id())
        return WrittenPiece(files, None, again=was_tried_before())


def in_order(session: SparkSession, work: CompactionWork, group: PlannedGroup) -> WrittenGroup:
    """Rewrite a group whose rows stay in one partition, and are put in order."""
    context = replace(work.write, write_id=str(uuid.uuid4()))
    work = replace(work, write=context)
    pieces = group.plan.groups(split_options({}, split_size=ORDERING.task_bytes))
    io = context.io
    try:
        ranges = _ranges(session, work, group, pieces)
        task = _Ordering(work, ranges)
        with held_settings(session, {_BATCH_ROWS: str(ORDERING.travelling_batches)}, {}):
            rows = job_rows(session, pieces, task.cut, _TRAVELLING)
            spread = rows.repartitionById(group.group.expected_files, "file")
            ordered = spread.sortWithinPartitions("range").select("range", "rows")
            written_pieces = results(ordered, task.written)
        paths = [file.file_path for piece in written_pieces for file in piece.files]
        others = any(piece.again for piece in written_pieces) or speculates(session)
        remove_other_attempts(io, context, paths, outlive=others)
    except BaseException:
        remove_aborted(io, context)
        raise
    return WrittenGroup(group, tuple(written_pieces))


def _ranges(
    session: SparkSession, work: CompactionWork, group: PlannedGroup, pieces: Sequence[Tasks]
) -> OrderRanges:
    files = group.group.expected_files
    by_size = -(-group.group.input_bytes // (files * ORDERING.range_bytes))
    count = files * max(1, min(by_size, ORDERING.most_ranges // files))
    sample_rows = max(ORDERING.sampled_rows, ORDERING.sampled_in_range * count)
    share = sample_rows / max(sum(task.record_count for task in group.plan), 1)
    sampled = job_results(session, list(enumerate(pieces)), _Sampling(work, share).keys)
    return order_ranges(work.order, pa.concat_tables(sampled), files, count)
