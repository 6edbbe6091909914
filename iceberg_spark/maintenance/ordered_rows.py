"""Rows that several tasks sort: sampled, cut to ranges, and written range by range.

Rows are sent as Arrow batches, so that nothing between two tasks decodes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.compaction import CompactionWork
from iceberg_spark.maintenance.limits import ORDERING
from iceberg_spark.maintenance.row_order import OrderRanges
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.data_file_writer import chunks, write_data_files
from iceberg_spark.write.uncommitted_files import remove_written


@dataclass(frozen=True, slots=True, eq=False)
class RangeRows:
    """Rows of one range sent to a task; `rows` is an Arrow batch without its schema."""

    number: int
    rows: pa.Buffer


def sampled_keys(
    work: CompactionWork, io: FileIO, tasks: Sequence[FileScanTask], share: float, seed: int
) -> pa.Table:
    """Return the keys of a random share of the rows; reads only the key columns."""
    fields = work.write.schema.fields
    key_columns = {work.write.schema.path_ids(number)[0] for number in work.order.sources}
    narrow = Schema(*(field for field in fields if field.field_id in key_columns))
    pick = np.random.default_rng(seed)
    sampled = [
        batch.take(pa.array(np.flatnonzero(pick.random(len(batch)) < share)))
        for batch in _rows(work, io, tasks, narrow)
    ]
    return work.order.keys(pa.Table.from_batches(sampled, to_arrow(narrow)), narrow)


def cut_rows(
    work: CompactionWork, io: FileIO, tasks: Sequence[FileScanTask], ranges: OrderRanges
) -> Iterator[RangeRows]:
    """Yield the rows of tasks by ranges; deterministic."""
    schema = work.write.schema
    batches = _rows(work, io, tasks, schema)
    for run in chunks(batches, to_arrow(schema), ORDERING.cut_bytes):
        places, starts = ranges.cut(work.order.keys(run, schema))
        rows = run.combine_chunks().take(pa.array(places))
        most = max(ORDERING.travelling_bytes * rows.num_rows // max(rows.nbytes, 1), 1)
        ends = np.append(starts, rows.num_rows)
        for number, (begin, end) in enumerate(zip(np.append(0, starts), ends, strict=True)):
            for first in range(begin, end, most):
                for batch in rows.slice(first, min(most, end - first)).to_batches():
                    yield RangeRows(number, batch.serialize())


def write_ranges(
    work: CompactionWork,
    io: FileIO,
    arriving: Iterable[RangeRows],
    ranges: OrderRanges,
    task: TaskId,
) -> tuple[DataFile, ...]:
    """Write rows whose ranges arrive in order; the rows of every file are in order.

    Memory holds one range and its sorted copy; rows above `run_bytes` are written to files of their
    own. On an error, deletes what was written.
    """
    context = replace(work.write, sort_order_id=work.layout.order.order_id)
    waiting = _Waiting(work, iter(arriving), ranges)
    written: list[DataFile] = []
    try:
        while not waiting.is_over:
            number = task.partition + waiting.turns * ORDERING.run_stride
            run_task = TaskId(number, task.attempt)
            written += write_data_files(context, io, waiting.in_order(), run_task)
    except BaseException:
        remove_written(io, [file.file_path for file in written])
        raise
    return tuple(written)


class _Waiting:
    """Rows that arrive by ranges, to be sorted."""

    __slots__ = ("_arriving", "_ranges", "_work", "is_over", "turns")

    def __init__(
        self, work: CompactionWork, arriving: Iterator[RangeRows], ranges: OrderRanges
    ) -> None:
        self._work = work
        self._arriving = arriving
        self._ranges = ranges
        self.is_over = False
        self.turns = 0

    def in_order(self) -> Iterator[pa.RecordBatch]:
        """Yield sorted rows up to the end, or until a range is too large for memory."""
        self.turns += 1
        schema = to_arrow(self._work.write.schema)
        held: list[pa.RecordBatch] = []
        size, number = 0, -1
        for arrived in self._arriving:
            if arrived.number != number:
                yield from self._sorted(held)
                held, size, number = [], 0, arrived.number
            batch = pa.ipc.read_record_batch(arrived.rows, schema)
            if self._ranges.equal[number]:
                yield batch
                continue
            held.append(batch)
            size += batch.nbytes
            if size >= ORDERING.run_bytes:
                yield from self._sorted(held)
                return
        self.is_over = True
        yield from self._sorted(held)

    def _sorted(self, held: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if held:
            rows = pa.Table.from_batches(held)
            held.clear()
            yield from self._work.order.sorted(rows, self._work.write.schema).to_batches()


def _rows(
    work: CompactionWork, io: FileIO, tasks: Sequence[FileScanTask], schema: Schema
) -> Iterator[pa.RecordBatch]:
    scan = replace(work.scan, read_schema=schema)
    for task in tasks:
        yield from read_task(scan, io, task)
