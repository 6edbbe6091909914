"""Many files open at once within bounds: rows buffered to row groups, files rolled by size."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.limits import OPEN_FILES
from iceberg_spark.write.open_file import OpenFile

Partition = tuple[Any, ...]


@dataclass(slots=True)
class _Series:
    """The files of one partition: waiting rows, the open file, and how well it compresses."""

    partition: Partition
    waiting: list[pa.Table] = field(default_factory=list)
    waiting_bytes: int = 0
    file: OpenFile | None = None
    encoded_from: int = 0  # bytes in memory of the content of the open file
    ratio: float = OPEN_FILES.first_ratio
    held_bytes: int = 0  # by the encoders of the open file


class RollingFiles:
    """Writes rows to files of about `target_bytes`, any number of partitions at a time.

    Rows wait until a row group is full. When more than `max_buffered_bytes` wait in all, the
    fullest partitions are flushed; when more than `max_open_files` are open, the file that was
    written to least recently is finished, so a partition may get more files than its rows need.
    """

    def __init__(
        self,
        open_file: Callable[[Partition], OpenFile],
        *,
        target_bytes: int,
        row_group_bytes: int,
        max_open_files: int = OPEN_FILES.files,
        max_buffered_bytes: int = OPEN_FILES.buffered_bytes,
    ) -> None:
        self._open_file = open_file
        self._target_bytes = target_bytes
        self._row_group_bytes = row_group_bytes
        self._max_open_files = max_open_files
        self._max_buffered_bytes = max_buffered_bytes
        self._series: dict[tuple[object, ...], _Series] = {}
        self._open: dict[tuple[object, ...], _Series] = {}  # least recently written first
        self._buffered = 0
        self._closers = ThreadPoolExecutor(OPEN_FILES.closers, "iceberg-close")
        self._closing: list[Future[DataFile]] = []
        self._files: list[OpenFile] = []

    def write(self, key: tuple[object, ...], partition: Partition, rows: pa.Table) -> None:
        """Add rows to the files of a partition, which `key` names."""
        series = self._series.setdefault(key, _Series(partition))
        size = rows.nbytes
        series.waiting.append(rows)
        series.waiting_bytes += size
        self._buffered += size
        while series.waiting_bytes >= self._flush_bytes(series):
            self._flush(key, series, self._flush_bytes(series))
        if self._buffered > self._max_buffered_bytes:
            self._make_room()

    def finish_partition(self, key: tuple[object, ...]) -> None:
        """Write a partition's pending rows and close its file."""
        series = self._series.pop(key)
        self._flush(key, series)
        self._close(key, series)

    def finish(self) -> tuple[DataFile, ...]:
        """Write pending rows, close all files and return them in the order of their closing."""
        for key in list(self._series):
            self.finish_partition(key)
        done = tuple(closing.result() for closing in self._closing)
        self._closers.shutdown()
        return done

    def abort(self) -> None:
        """Delete every created file."""
        self._closers.shutdown(cancel_futures=True)
        for file in self._files:
            file.abort()
        self._series.clear()
        self._open.clear()

    def _flush_bytes(self, series: _Series) -> int:
        """Return how many bytes to buffer: a row group, or the rest up to the file's target."""
        written = 0 if series.file is None else series.file.bytes_written
        missing = int((self._target_bytes - written) / series.ratio)
        # Small files are filled in small steps: one of 64 KB would make 80 KB 144 KB.
        least = min(OPEN_FILES.least_flush_bytes, self._target_bytes // 8)
        return max(min(self._row_group_bytes, missing), least, 1)

    def _make_room(self) -> None:
        fullest = sorted(self._series.items(), key=lambda item: -item[1].waiting_bytes)
        for key, series in fullest:
            if self._buffered <= self._max_buffered_bytes // 2:
                return
            self._flush(key, series)

    def _flush(self, key: tuple[object, ...], series: _Series, size: int | None = None) -> None:
        """Write about `size` bytes of pending rows, or all of them, as one row group."""
        if not series.waiting:
            return
        waiting = pa.concat_tables(series.waiting)
        if size is None:  # rows of nulls alone may take no bytes
            size, count = series.waiting_bytes, waiting.num_rows
        else:
            share = size / max(series.waiting_bytes, 1)
            count = waiting.num_rows if share >= 1 else max(1, int(waiting.num_rows * share))
        row_bytes = series.waiting_bytes // max(waiting.num_rows, 1)
        rest = waiting.slice(count)
        taken = series.waiting_bytes if not rest.num_rows else min(size, series.waiting_bytes)
        series.waiting = [rest] if rest.num_rows else []
        series.waiting_bytes -= taken
        self._buffered -= taken
        file = self._file_of(key, series)
        rows = waiting.slice(0, count).combine_chunks()
        del waiting  # rows are held once while they are encoded
        file.write(rows)
        series.held_bytes = max(series.held_bytes, OPEN_FILES.held_rows * row_bytes)
        series.encoded_from += taken
        series.ratio = max(file.bytes_written / max(series.encoded_from, 1), 0.01)
        if file.bytes_written >= self._target_bytes:
            self._close(key, series)
        self._hold_less()

    def _hold_less(self) -> None:
        """Finish the least recently used files while the encoders hold too much memory."""
        while len(self._open) > 1 and self._held_bytes() > self._max_buffered_bytes:
            oldest = next(iter(self._open))
            self._close(oldest, self._open[oldest])
            self._closing[-1].result()  # it holds its buffers until then

    def _held_bytes(self) -> int:
        return sum(series.held_bytes for series in self._open.values())

    def _file_of(self, key: tuple[object, ...], series: _Series) -> OpenFile:
        self._open.pop(key, None)
        self._open[key] = series
        if series.file is None:
            if len(self._open) > self._max_open_files:
                oldest = next(iter(self._open))
                self._close(oldest, self._open[oldest])
            series.file = self._open_file(series.partition)
            series.encoded_from = 0
            series.held_bytes = 0
            self._files.append(series.file)
        return series.file

    def _close(self, key: tuple[object, ...], series: _Series) -> None:
        self._open.pop(key, None)
        if series.file is not None:
            self._closing.append(self._closers.submit(series.file.close))
            series.file = None
            if len(self._closing) > OPEN_FILES.closing:  # a failure is raised here, not at the end
                self._closing[-OPEN_FILES.closing].result()
