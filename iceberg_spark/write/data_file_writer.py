"""Data files from Arrow batches: the work of one task.

Rows are gathered to chunks, and a second thread partitions and encodes them while the next
batches are received: Arrow's kernels and encoders run without Python's lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import TypeVar

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.formats.file_writer import WriterProperties
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.limits import ROWS
from iceberg_spark.write.locations import file_location, file_name
from iceberg_spark.write.open_file import OpenFile, data_shape
from iceberg_spark.write.partitioned import Partition, group_rows
from iceberg_spark.write.rolling_files import RollingFiles


def write_data_files(
    context: WriteContext, io: FileIO, batches: Iterable[pa.RecordBatch], task: TaskId
) -> tuple[DataFile, ...]:
    """Write batches of exactly `arrow.schema.to_arrow(context.schema)` to new data files.

    Files are rolled at `context.target_file_size_bytes` of written bytes. With `context.fanout`
    off the rows of a partition must be adjacent (InvalidInputError). On any error all written
    files are deleted. Raises StorageError when the store fails.
    """
    writer = _TaskWriter(context, io, task)
    try:
        overlap(chunks(batches, to_arrow(context.schema)), writer.write)
        return writer.files.finish()
    except BaseException:
        writer.files.abort()
        raise


def rolling_data_files(context: WriteContext, io: FileIO, task: TaskId) -> RollingFiles:
    """Return the writer of a task's data files, partition by partition."""
    shape = data_shape(context)
    numbers = count(1)

    def open_file(partition: Partition) -> OpenFile:
        name = file_name(context, task, next(numbers), shape.file_format, "")
        path = file_location(context, context.spec, context.schema, partition, name)
        return OpenFile(
            io,
            shape,
            path,
            partition=partition,
            partition_spec_id=context.spec.spec_id,
            sort_order_id=context.sort_order_id,
        )

    row_group = WriterProperties(context.properties).positive_int(
        "parquet.row-group-size-bytes", ROWS.data_row_group_bytes
    )
    return RollingFiles(
        open_file, target_bytes=context.target_file_size_bytes, row_group_bytes=row_group
    )


class _TaskWriter:
    """Sends chunks to the files of their partitions."""

    def __init__(self, context: WriteContext, io: FileIO, task: TaskId) -> None:
        self._context = context
        self._current: tuple[object, ...] | None = None
        self._finished: set[tuple[object, ...]] = set()
        self.files = rolling_data_files(context, io, task)

    def write(self, rows: pa.Table) -> None:
        """Write a chunk."""
        context = self._context
        if context.spec.is_unpartitioned:
            nothing = (None,) * len(context.spec.fields)
            self.files.write((), nothing, rows)
            return
        clustered = not context.fanout
        for group in group_rows(rows, context.spec, context.schema, clustered=clustered):
            if clustered:
                self._follow(group.key, group.partition)
            self.files.write(group.key, group.partition, group.rows)

    def _follow(self, key: tuple[object, ...], partition: Partition) -> None:
        """Close the previous partition, which must not occur again."""
        if key == self._current:
            return
        if key in self._finished:
            raise InvalidInputError(
                f"Rows of partition {partition} are not adjacent; sort them by the partition "
                "columns, or leave option fanout-enabled on"
            )
        if self._current is not None:
            self._finished.add(self._current)
            self.files.finish_partition(self._current)
        self._current = key


T = TypeVar("T")


def chunks(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, chunk_bytes: int | None = None
) -> Iterator[pa.Table]:
    """Gather batches to tables of about 32 MB, so that work per table is worth its overhead."""
    full = ROWS.chunk_bytes if chunk_bytes is None else chunk_bytes
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        size += batch.nbytes
        if size >= full:
            yield pa.Table.from_batches(waiting, schema)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting, schema)


def overlap(items: Iterable[T], work: Callable[[T], None]) -> None:
    """Work on items in order on a second thread while the next are received; few may wait."""
    running: deque[Future[None]] = deque()
    with ThreadPoolExecutor(1, "iceberg-write") as pool:
        try:
            for item in items:
                running.append(pool.submit(work, item))
                while len(running) > ROWS.chunks_waiting:
                    running.popleft().result()
            while running:
                running.popleft().result()
        finally:
            for future in running:
                future.cancel()
