"""Prove that no key of an upsert occurred in two tasks: each stores the sorted hashes of its keys.

Few hashes are part of the task's message; more are in a file next to the data files, which the
commit reads in slices and removes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.arrays import distinct
from iceberg_spark.arrow.row_hashes import Words, key_hashes
from iceberg_spark.errors import IcebergError, InvalidInputError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.limits import UPSERTS
from iceberg_spark.write.locations import data_folder

_WORD = np.dtype("<u8")


@dataclass(frozen=True, slots=True)
class TaskKeys:
    """The sorted hashes of a task's distinct keys: in `held`, or in the file at `path`.

    `check` is the hash of one fixed row, to detect tasks with libraries that hash differently.
    """

    task: int
    count: int
    check: int
    held: bytes = b""
    path: str | None = None


class KeyCollector:
    """Takes the hashes of a task's keys in ascending order, and leaves them."""

    def __init__(self, context: WriteContext, io: FileIO, task: TaskId) -> None:
        name = f"{task.partition:05d}-{task.attempt}-{context.write_id}-keys.bin"
        folder = data_folder(context.table_location, context.properties)
        self._path = location.join(folder, name)
        self._io = io
        self._task = task
        self._held = b""
        self._count = 0
        self._sink: BinaryIO | None = None

    def add(self, hashes: Words) -> None:
        """Take the next hashes, sorted and above all before. Raises StorageError."""
        self._held += hashes.astype(_WORD).tobytes()
        self._count += len(hashes)
        if self._count > UPSERTS.hashes_in_message:
            if self._sink is None:
                self._sink = self._io.create(self._path)
            self._sink.write(self._held)
            self._held = b""

    def finish(self) -> TaskKeys:
        """Return the value for the task's message."""
        path = None
        if self._sink is not None:
            self._sink.close()
            path = self._path
        return TaskKeys(self._task.partition, self._count, _check(), self._held, path)

    def abort(self) -> None:
        """Remove the file."""
        if self._sink is not None:
            with suppress(OSError, ValueError, IcebergError):
                self._sink.close()
            with suppress(IcebergError):
                self._io.delete(self._path)


def _check() -> int:
    return int(key_hashes([pa.array([7], pa.int64()), pa.array(["a key"])])[0])


def refuse_shared_keys(io: FileIO, tasks: Sequence[TaskKeys], keys: Sequence[str]) -> None:
    """Refuse an upsert with keys in two tasks: both rows would be live.

    Raises InvalidInputError with advice to repartition. Holds about 16 MB for any number of keys.
    """
    if len({task.check for task in tasks}) > 1:
        raise InvalidInputError(
            "The tasks hash keys differently: run all Spark workers with one version of polars"
        )
    total = sum(task.count for task in tasks)
    slices = -(-total // UPSERTS.hashes_at_once)
    cursors = [_Cursor(io, task, max(UPSERTS.hashes_at_once // len(tasks), 1024)) for task in tasks]
    for number in range(1, slices + 1):
        end = None if number == slices else np.uint64((number << 64) // slices)
        parts = [distinct(cursor.below(end)) for cursor in cursors]
        owners = np.repeat([task.task for task in tasks], [len(part) for part in parts])
        words = np.concatenate(parts)
        order = np.argsort(words, kind="stable")
        again = np.flatnonzero(words[order][1:] == words[order][:-1])
        if len(again):
            pair = owners[order[again[0] : again[0] + 2]].tolist()
            named = ", ".join(keys)
            raise InvalidInputError(
                f"A key ({named}) occurred in two tasks ({pair[0]} and {pair[1]}): both rows would "
                f"be live. Nothing was committed: use df.repartition({named}) before the write, or "
                "table.upsert(df, keys=[...]), which moves the rows of a key into one task"
            )


class _Cursor:
    """Reads a task's hashes once, from the smallest to the largest."""

    def __init__(self, io: FileIO, keys: TaskKeys, block: int) -> None:
        self._io = io
        self._path = keys.path
        self._block = block
        self._left = 0 if keys.path is None else keys.count
        self._read = 0
        self._words: Words = np.frombuffer(keys.held, _WORD)

    def below(self, end: np.uint64 | None) -> Words:
        """Return the next hashes below `end`, all the rest for None."""
        parts = [self._words]
        while self._left and (end is None or not len(parts[-1]) or parts[-1][-1] < end):
            parts.append(self._next())
        words = np.concatenate(parts)
        count = len(words) if end is None else int(np.searchsorted(words, end))
        self._words = words[count:]
        return words[:count]

    def _next(self) -> Words:
        count = min(self._block, self._left)
        assert self._path is not None  # noqa: S101 - hashes are left only where there is a file
        with self._io.open(self._path) as source:
            source.seek(self._read * _WORD.itemsize)
            data = source.read(count * _WORD.itemsize)
        self._left -= count
        self._read += count
        return np.frombuffer(data, _WORD)


def key_files(tasks: Sequence[TaskKeys]) -> Iterator[str]:
    """Yield the files with hashes of tasks."""
    return (task.path for task in tasks if task.path is not None)
