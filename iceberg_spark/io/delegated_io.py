"""Storage that lets another storage do its work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from iceberg_spark.io.file_io import FileInfo, FileIO

T = TypeVar("T")


class DelegatedIO(ABC):
    """The operations of a `FileIO`, each by one call of another one."""

    __slots__ = ()

    @abstractmethod
    def _tried(self, work: Callable[[FileIO], T]) -> T:
        """Do work with the other storage; it may be done again after an error."""

    def open(self, path: str) -> BinaryIO:
        """Open for seekable reading."""
        return self._tried(lambda io: io.open(path))

    def read_bytes(self, path: str) -> bytes:
        """Return a whole (small) file."""
        return self._tried(lambda io: io.read_bytes(path))

    def create(self, path: str) -> BinaryIO:
        """Open a new file for streaming writes."""
        return self._tried(lambda io: io.create(path))

    def create_if_absent(self, path: str, data: bytes) -> None:
        """Write a whole file atomically, or raise FileAlreadyExistsError."""
        self._tried(lambda io: io.create_if_absent(path, data))

    def replace(self, path: str, data: bytes) -> None:
        """Write a whole small file, replacing an existing one."""
        self._tried(lambda io: io.replace(path, data))

    def exists(self, path: str) -> bool:
        """Return whether a file exists."""
        return self._tried(lambda io: io.exists(path))

    def find(self, paths: Sequence[str]) -> dict[str, FileInfo]:
        """Return the files that exist."""
        return self._tried(lambda io: io.find(paths))

    def size(self, path: str) -> int:
        """Return a file's size in bytes."""
        return self._tried(lambda io: io.size(path))

    def delete(self, path: str) -> None:
        """Delete a file; a missing one is not an error."""
        self._tried(lambda io: io.delete(path))

    def delete_many(self, paths: Iterable[str]) -> None:
        """Delete files; missing ones are not an error."""
        several = tuple(paths)
        self._tried(lambda io: io.delete_many(several))

    def list(self, prefix: str) -> Iterator[FileInfo]:
        """Yield all files below a folder, recursively."""
        yield from self._tried(lambda io: tuple(io.list(prefix)))

    def list_folders(self, prefix: str) -> Iterator[str]:
        """Yield the folders directly in a folder."""
        yield from self._tried(lambda io: tuple(io.list_folders(prefix)))

    def arrow(self, path: str) -> tuple[pafs.FileSystem, str]:
        """Return an Arrow file system, and the path on it."""
        return self._tried(lambda io: io.arrow(path))

    def open_arrow(self, path: str) -> pa.NativeFile:
        """Open a file for Arrow's readers."""
        return self._tried(lambda io: io.open_arrow(path))
