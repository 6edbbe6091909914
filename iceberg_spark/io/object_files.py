"""A store of objects as an Arrow file system for readers: files by ranges, and listings."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.fs as pafs

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.limits import RANGES


class _Objects(Protocol):
    """The methods used of the store."""

    def find(self, paths: list[str]) -> dict[str, FileInfo]: ...
    def walk(self, key: str) -> Iterator[tuple[str, FileInfo]]: ...
    def folders(self, key: str) -> list[str]: ...
    def files(self, key: str) -> list[tuple[str, FileInfo]]: ...
    def ranges(self, key: str) -> Ranges: ...


class ObjectFiles(pafs.FileSystemHandler):  # type: ignore[misc]  # pyarrow ships no types
    """Reads objects; methods that change the store raise an error."""

    def __init__(self, objects: _Objects, errors: AbstractContextManager[None]) -> None:
        self._objects = objects
        self._errors = errors

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectFiles) and self._objects == other._objects

    def __hash__(self) -> int:
        return hash(type(self))

    def get_type_name(self) -> str:
        """Return the name that Arrow shows."""
        return "objects"

    def normalize_path(self, path: str) -> str:
        """Return the path unchanged."""
        return path

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open an object for reading anywhere."""
        file = RangeFile(self._objects.ranges(path), self._errors)
        file.size()
        return pa.PythonFile(file, mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open an object for reading."""
        return self.open_input_file(path)

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        """Return the kind of each path: an object, a folder, or nothing."""
        with self._errors:
            return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """Return the content of a folder."""
        root = selector.base_dir.rstrip("/")
        with self._errors:
            if selector.recursive:
                infos = [_file(f"{root}/{name}", info) for name, info in self._objects.walk(root)]
            else:
                infos = self._right_below(root)
        if not infos and not selector.allow_not_found:
            raise FileNotFoundError(root)
        return infos

    def _right_below(self, root: str) -> list[pafs.FileInfo]:
        names = self._objects.folders(root)
        folders = [pafs.FileInfo(f"{root}/{name}", pafs.FileType.Directory) for name in names]
        files = [_file(f"{root}/{name}", info) for name, info in self._objects.files(root)]
        return [*folders, *files]

    def _info(self, path: str) -> pafs.FileInfo:
        objects = self._objects.find([path])
        if path in objects:
            return _file(path, objects[path])
        is_folder = next(self._objects.walk(path), None) is not None
        return pafs.FileInfo(path, pafs.FileType.Directory if is_folder else pafs.FileType.NotFound)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("this file system is for reading")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse


def _file(path: str, info: FileInfo) -> pafs.FileInfo:
    return pafs.FileInfo(
        path, pafs.FileType.File, size=info.size, mtime_ns=info.modified_ms * 1_000_000
    )


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


_first: list[int] = []


def process_of_threads() -> int:
    """Return this process's id. Raises UnsupportedError in a child of one that used a client."""
    if not _first:
        _first.append(os.getpid())
    if _first[0] != os.getpid():
        raise UnsupportedError(
            "A process that read from a store was forked, and its client's threads were not "
            "copied: start the child by multiprocessing.get_context('spawn')"
        )
    return os.getpid()
