"""A file in a store of objects, read by few requests for ranges of its bytes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from iceberg_spark.io.limits import RANGES


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of an object from a position on, and the size of the object.

    `tag` changes with the object's bytes; "" if the store has none.
    """

    start: int
    data: memoryview
    object_size: int
    tag: str = ""


class Ranges(Protocol):
    """One object, read by ranges."""

    def tail(self, length: int) -> Part:
        """Return the last bytes; fewer of a short object."""
        ...

    def part(self, start: int, length: int) -> Part:
        """Return bytes from a position on; fewer at the object's end."""
        ...


class RangeFile(io.RawIOBase):
    """A seekable file over an object's ranges; replacing the object meanwhile is an error.

    The first request also returns the size: it reads the end of the object for a footer, else the
    requested bytes. Small reads fetch more than they need, and large ones are fetched in parts at
    the same time.
    """

    mode = "rb"

    def __init__(self, ranges: Ranges, errors: AbstractContextManager[None]) -> None:
        super().__init__()
        self._ranges = ranges
        self._errors = errors
        self._position = 0
        self._size: int | None = None
        self._parts: tuple[Part, ...] = ()

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def size(self) -> int:
        """Return the object's size in bytes."""
        if self._size is not None:
            return self._size
        return self._keep(self._guarded(lambda: self._ranges.tail(RANGES.tail_bytes)))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: None}[whence]
        position = (self.size() if start is None else start) + offset
        if position < 0:
            raise ValueError(f"Can't seek to {position}")
        self._position = position
        return position

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer."""
        view = memoryview(buffer).cast("B")
        data = self._read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, length: int | None = -1) -> Any:
        """Return bytes from the position on, at most as many as requested."""
        count = self.size() - self._position if length is None or length < 0 else length
        return bytes(self._read(count))

    def read_buffer(self, length: int | None = -1) -> memoryview:
        """Return the same as `read` without a copy (Arrow calls it if a file has it)."""
        count = self.size() - self._position if length is None or length < 0 else length
        return self._read(count)

    def readall(self) -> bytes:
        """Return all from the position on."""
        return bytes(self.read(-1))

    def _read(self, length: int) -> memoryview:
        if length <= 0 or (self._size is not None and self._position >= self._size):
            return memoryview(b"")
        data = self._from_parts(length)
        if data is None:
            data = self._fetch(length)
        self._position += len(data)
        return data

    def _from_parts(self, length: int) -> memoryview | None:
        end = (
            self._position + length
            if self._size is None
            else min(self._position + length, self._size)
        )
        for part in self._parts:
            if part.start <= self._position and end <= part.start + len(part.data):
                return part.data[self._position - part.start : end - part.start]
        return None

    def _fetch(self, length: int) -> memoryview:
        if self._size is not None:
            length = min(length, self._size - self._position)
        if length > RANGES.part_bytes:
            return self._fetch_parts(length)
        start, requested = self._position, max(length, RANGES.least_bytes)

        def fetch() -> Part:
            part = self._ranges.part(start, requested)
            self._check(part, min(requested, part.object_size - start))
            return part

        self._keep(self._guarded(fetch))
        return self._parts[-1].data[:length]

    def _fetch_parts(self, length: int) -> memoryview:
        """Return many bytes, fetched in parts at the same time; they are not cached."""
        length = min(length, self.size() - self._position)
        joined = memoryview(bytearray(length))
        starts = range(0, length, RANGES.part_bytes)

        def fetch(start: int) -> None:
            part_length = min(RANGES.part_bytes, length - start)
            part = self._ranges.part(self._position + start, part_length)
            self._check(part, part_length)
            joined[start : start + part_length] = part.data

        self._guarded(lambda: list(_threads(os.getpid()).map(fetch, starts)))
        return joined.toreadonly()

    def _check(self, part: Part, expected: int) -> None:
        """Refuse fewer bytes than requested, and bytes of a replaced object."""
        first = self._parts[0] if self._parts else part
        if part.tag != first.tag or part.object_size != first.object_size:
            raise EOFError(f"its {first.object_size} bytes were replaced while they were read")
        if len(part.data) < expected:
            raise EOFError(f"{expected} bytes were requested, and {len(part.data)} received")

    def _keep(self, part: Part) -> int:
        """Keep the first answer (a footer, a header) and the last; return the object's size."""
        self._size = part.object_size
        self._parts = (*self._parts[:1], part)
        return part.object_size

    def _guarded(self, ask: Callable[[], Any]) -> Any:
        with self._errors:
            return ask()


@cache
def _threads(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(RANGES.at_once, thread_name_prefix="ranges")
