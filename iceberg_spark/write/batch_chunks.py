"""Batches gathered to chunks, and chunks worked on while the next are received."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

CHUNK_BYTES = 32 * 1024 * 1024
_CHUNKS_WAITING = 3
T = TypeVar("T")


def chunks(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, chunk_bytes: int | None = None
) -> Iterator[pa.Table]:
    """Gather batches to tables of about 32 MB, so that work per table is worth its overhead."""
    full = CHUNK_BYTES if chunk_bytes is None else chunk_bytes
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
                while len(running) > _CHUNKS_WAITING:
                    running.popleft().result()
            while running:
                running.popleft().result()
        finally:
            for future in running:
                future.cancel()
