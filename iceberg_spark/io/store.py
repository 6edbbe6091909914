"""The operations of a store, whichever library implements them; errors are the library's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

import pyarrow.fs as pafs

from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.new_file import Unfinished

IO_IMPL = "py-io-impl"
"""PyIceberg's property that chooses the library: `...FsspecFileIO` means fsspec for all stores."""


class OddKeyError(Exception):
    """A folder contains an object whose name a library can't represent; the message shows it."""


class Store(Protocol):
    """Objects of one bucket, container or file system; `at` is a path as its library spells it."""

    @property
    def creates_atomically(self) -> bool:
        """Whether `put_new` is one step: of two writers one wins."""
        ...

    def path_of(self, where: str) -> str:
        """Return a location as the library spells it."""
        ...

    def read(self, key: str) -> bytes:
        """Return the content of an object."""
        ...

    def find(self, paths: Sequence[str]) -> dict[str, FileInfo]:
        """Return those of the objects of one folder that exist."""
        ...

    def open(self, key: str, errors: AbstractContextManager[None]) -> BinaryIO:
        """Open for seekable reading; reading raises through `errors`."""
        ...

    def writer(self, key: str) -> Unfinished:
        """Return a writer of a new object, which appears on close."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write an object, replacing an existing one."""
        ...

    def put_new(self, key: str, data: bytes) -> None:
        """Create an object that does not exist; sent once, never retried by the library.

        Raises FileExistsError, or OSError with ENOSYS if the store has no such operation.
        """
        ...

    def remove(self, key: str) -> None:
        """Delete an object; it may be missing."""
        ...

    def remove_many(self, paths: Iterable[str]) -> None:
        """Delete objects; those that are gone already are fine."""
        ...

    def walk(self, key: str) -> Iterator[tuple[str, FileInfo]]:
        """Yield the relative path and the description of each object below a folder.

        Raises OddKeyError.
        """
        ...

    def folders(self, key: str) -> list[str]:
        """Return the names of the direct subfolders of a folder. Raises OddKeyError."""
        ...

    def arrow(self, key: str, errors: AbstractContextManager[None]) -> pafs.FileSystem:
        """Return an Arrow file system; reading raises through `errors`."""
        ...


def below(name: str, root: str) -> str:
    """Return an object's name below a folder; it may begin with a slash itself (`root//f`)."""
    rest = name[len(root) :]
    return rest[1:] if root and rest.startswith("/") else rest


def exists(store: Store, key: str) -> bool:
    """Return whether an object exists; raises an error if the store can't be reached."""
    return key in store.find([key])


def size(store: Store, key: str) -> int:
    """Return the size of an object in bytes. Raises FileNotFoundError."""
    infos = store.find([key])
    if key not in infos:
        raise FileNotFoundError(key)
    return infos[key].size
