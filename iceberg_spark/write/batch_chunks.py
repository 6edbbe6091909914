"""Batches gathered to chunks, and chunks worked on while the next are received."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

from iceberg_spark.write.limits import ROWS

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
