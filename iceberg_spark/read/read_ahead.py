"""Tasks read some at a time, for who wants all rows: their batches, in the order of the tasks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Batch = TypeVar("Batch")


def read_ahead(
    tasks: Iterable[Task], read: Callable[[Task], Iterator[Batch]], at_once: int | None = None
) -> Iterator[Batch]:
    """Yield the batches of each task, while tasks that follow are read by other threads.

    A file's store is waited for while another's rows are decoded. All batches of `at_once` tasks
    are held, four at least: this is for who will hold all rows.
    """
    most = at_once or max(4, os.cpu_count() or 1)
    waiting: deque[Future[list[Batch]]] = deque()
    with ThreadPoolExecutor(most, thread_name_prefix="read-ahead") as threads:
        try:
            for task in tasks:
                waiting.append(threads.submit(_all, read, task))
                if len(waiting) == most:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for unread in waiting:
                unread.cancel()


def _all(read: Callable[[Task], Iterator[Batch]], task: Task) -> list[Batch]:
    return list(read(task))
