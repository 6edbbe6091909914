"""The port to storage; `fsspec_io` implements it and maps foreign errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.fs as pafs


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A stored file: its location, size in bytes, and time of last change (ms since the epoch).

    `tag` changes with the file's content (an ETag), "" if the store has none.
    """

    path: str
    size: int
    modified_ms: int
    tag: str = ""


class FileIO(Protocol):
    """Storage as the format needs it; picklable, so that workers rebuild it.

    Paths are locations as table metadata spells them (`file:/a`, `file:///a`, `/a`, `s3://b/c`,
    `memory://x`). Every method raises only errors of `iceberg_spark.errors`: NoSuchFileError,
    FileAlreadyExistsError, StoragePermissionError, StorageError.
    """

    @property
    def properties(self) -> Mapping[str, str]:
        """The storage properties it was created from (may contain secrets: never print)."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open for seekable reading."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """Return a whole (small) file."""
        ...

    def create(self, path: str) -> BinaryIO:
        """Open a new file for streaming writes, creating folders; closing makes it durable.

        An error inside its `with` block, or on close, discards the written data if the store can.
        Its methods raise StorageError.
        """
        ...

    def create_if_absent(self, path: str, data: bytes) -> None:
        """Write a whole file atomically and durably, or raise FileAlreadyExistsError.

        Raises UnsupportedError where the store has no such operation.
        """
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Write a small file, replacing an existing one (hints only)."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether a file exists."""
        ...

    def find(self, paths: Sequence[str]) -> dict[str, FileInfo]:
        """Return those of some files of one folder that exist; by one request if possible."""
        ...

    def size(self, path: str) -> int:
        """Return a file's size in bytes."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file; one that is gone already is fine."""
        ...

    def delete_many(self, paths: Iterable[str]) -> None:
        """Delete files; those that are gone already are fine."""
        ...

    def list(self, prefix: str) -> Iterator[FileInfo]:
        """Yield all files below a folder, recursively; nothing when it isn't there."""
        ...

    def list_folders(self, prefix: str) -> Iterator[str]:
        """Yield the locations of the folders right below a folder; nothing when it isn't there.

        In a store of objects those are the parts of names up to the next slash.
        """
        ...

    def arrow(self, path: str) -> tuple[pafs.FileSystem, str]:
        """Return an Arrow file system and the path on it, for native readers."""
        ...

    def open_arrow(self, path: str) -> pa.NativeFile:
        """Open a file for Arrow's readers."""
        ...
