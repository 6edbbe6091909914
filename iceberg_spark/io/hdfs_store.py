"""HDFS by its own protocol, without libhdfs and Java (implements `Store`)."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, BinaryIO, cast

import pyarrow.fs as pafs

from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.foreign_errors import is_missing_on_hdfs
from iceberg_spark.io.limits import RANGES, check_read_whole
from iceberg_spark.io.object_files import ObjectFiles, Part, RangeFile, process_of_threads
from iceberg_spark.io.store import IO_IMPL
from iceberg_spark.lazy import LazyModule

hdfs_native = LazyModule("hdfs_native")


def hdfs_store(where: str, properties: Mapping[str, str]) -> HdfsStore | None:
    """Return the store of an `hdfs:` location, None where fsspec has to take it.

    Raises UnsupportedError in a child of a process that used a client.
    """
    if location.store_of(where) != "hdfs" or find_spec("hdfs_native") is None:
        return None
    if properties.get(IO_IMPL, "").endswith("FsspecFileIO") or properties.get("hdfs.user"):
        return None
    host = location.strip_scheme(where).partition("/")[0] or properties.get("hdfs.host", "")
    if host and ":" not in host and "hdfs.port" in properties:
        host = f"{host}:{properties['hdfs.port']}"
    home = os.environ.get("HADOOP_CONF_DIR")
    return _store(host, properties.get("hdfs.kerberos_ticket"), home, process_of_threads())


@lru_cache(maxsize=16)
def _store(host: str, ticket: str | None, _home: str | None, _process: int) -> HdfsStore:
    url = f"hdfs://{host}" if host else None  # else `fs.defaultFS` of Hadoop's configuration
    return HdfsStore(hdfs_native.Client(url, kerberos_cache=ticket))


@dataclass(frozen=True, slots=True)
class HdfsStore:
    """Files of one name node, or of a cluster by its name in Hadoop's configuration."""

    client: Any

    @property
    def creates_atomically(self) -> bool:
        """Whether `put_new` is one step: a rename that does not overwrite is."""
        return True

    def path_of(self, where: str) -> str:
        """Return the path on the file system."""
        return "/" + location.normalise(where).partition("://")[2].partition("/")[2]

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with self.client.read(path) as file:
            check_read_whole(path, len(file))
            return bytes(file.read())

    def find(self, paths: Sequence[str]) -> dict[str, FileInfo]:
        """Return those of the files that exist."""
        infos = {}
        for path in paths:
            with _unless_missing():
                status = self.client.get_file_info(path)
                if not status.isdir:
                    infos[path] = FileInfo(path, status.length, status.modification_time)
        return infos

    def open(self, path: str, errors: AbstractContextManager[None]) -> BinaryIO:
        """Open for seekable reading."""
        file = RangeFile(self.ranges(path), errors)
        return cast(BinaryIO, io.BufferedReader(file, RANGES.least_bytes))

    def ranges(self, path: str) -> _FileRanges:
        """Return the reader of a file's ranges."""
        file = self.client.read(path)
        return _FileRanges(file, len(file))

    def writer(self, path: str) -> HdfsWriter:
        """Return a writer of a new file; parent folders are created."""
        return HdfsWriter(self, path)

    def put(self, path: str, data: bytes) -> None:
        """Write a file, replacing an existing one."""
        waiting = self._waiting(path, data)
        self.client.rename(waiting, path, overwrite=True)

    def put_new(self, path: str, data: bytes) -> None:
        """Write a file under a temporary name and rename it to a name that does not exist."""
        waiting = self._waiting(path, data)
        try:
            self.client.rename(waiting, path, overwrite=False)
        except FileExistsError:
            self.remove(waiting)
            raise

    def _waiting(self, path: str, data: bytes) -> str:
        """Write bytes under a temporary name, which no reader mistakes for metadata."""
        waiting = f"{location.parent(path)}/{uuid.uuid4()}-{location.name(path)}.tmp"
        writer = HdfsWriter(self, waiting)
        try:
            writer.write(data)
            writer.close()
        except BaseException:
            writer.discard()
            raise
        return waiting

    def remove(self, path: str) -> None:
        """Delete a file; it may be missing."""
        with _unless_missing():
            self.client.delete(path)

    def remove_many(self, paths: Iterable[str]) -> None:
        """Delete files; they may be missing."""
        for path in paths:
            self.remove(path)

    def walk(self, path: str) -> Iterator[tuple[str, FileInfo]]:
        """Yield the relative path and the description of each file below a folder."""
        for name, status in self._below(path, recursive=True):
            if not status.isdir:
                yield name, _info(status)

    def folders(self, path: str) -> list[str]:
        """Return the names of the direct subfolders of a folder."""
        return sorted(name for name, status in self._below(path) if status.isdir)

    def files(self, path: str) -> list[tuple[str, FileInfo]]:
        """Return the names and descriptions of the files directly in a folder."""
        return [(name, _info(status)) for name, status in self._below(path) if not status.isdir]

    def _below(self, path: str, *, recursive: bool = False) -> Iterator[tuple[str, Any]]:
        root = path.rstrip("/")
        with _unless_missing():
            for status in self.client.list_status(root or "/", recursive):
                if below := status.path.removeprefix(root).lstrip("/"):
                    yield below, status

    def arrow(self, path: str, errors: AbstractContextManager[None]) -> pafs.FileSystem:  # noqa: ARG002
        """Return an Arrow file system; reading raises through `errors`."""
        return pafs.PyFileSystem(ObjectFiles(self, errors))


@dataclass(frozen=True, slots=True)
class _FileRanges:
    """One open file's ranges."""

    file: Any
    size: int

    def tail(self, length: int) -> Part:
        """Return the last bytes."""
        return self.part(max(0, self.size - length), length)

    def part(self, start: int, length: int) -> Part:
        """Return bytes from a position on; past the end the client would panic."""
        available = min(length, self.size - start)
        data = self.file.read_range(start, available) if available > 0 else b""
        return Part(start, memoryview(data), self.size)


class HdfsWriter:
    """A new file that is gone again if it is discarded; readers see it grow."""

    def __init__(self, store: HdfsStore, path: str) -> None:
        self._store = store
        self._path = path
        self._written = 0
        self._file = store.client.create(path)
        self.closed = False

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        count = memoryview(data).nbytes
        self._file.write(data)
        self._written += count
        return count

    def flush(self) -> None:
        """Do nothing: closing makes the file durable."""

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._written

    def close(self) -> None:
        """Finish the file, on the disks of its data nodes."""
        if self.closed:
            return
        try:
            self._file.hsync()
            self._file.close()
        except BaseException:
            self.discard()
            raise
        self.closed = True

    def discard(self) -> None:
        """Remove the written data, if possible."""
        with suppress(Exception):  # whatever the client raises: the first error is reported
            if not self.closed:
                self._file.close()
        self.closed = True
        with suppress(Exception):
            self._store.remove(self._path)


@contextmanager
def _unless_missing() -> Iterator[None]:
    """Ignore the name node's errors about a path that does not exist, or is below a file."""
    try:
        yield
    except Exception as error:
        if not is_missing_on_hdfs(error):
            raise


def _info(status: Any) -> FileInfo:
    return FileInfo(status.path, status.length, status.modification_time)
