"""Durable files on the local file system.

A file counts as written once its bytes and its name are on disk: the file is synced, then its
folder. Hadoop keeps a checksum next to a file, `.<name>.crc`, and Java refuses a file with the
checksum of another, so whoever changes a file removes its checksum.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, BinaryIO

from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.location import strip_scheme

_MS_IN_NS = 1_000_000


class DurableWriter(io.BufferedWriter):
    """A new file that is durable once closed, and gone if its `with` block fails."""

    def __init__(self, path: str) -> None:
        make_parents(path)
        drop_checksum(path)
        raw = io.FileIO(path, "xb")
        super().__init__(raw)
        self._path = path

    def close(self) -> None:
        """Flush, sync the file and its folder, and close; the file is gone where that fails."""
        if self.closed:
            return
        try:
            self.flush()
            os.fsync(self.fileno())
            super().close()
            sync_folder(os.path.dirname(self._path))
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Close and remove the file, in any state."""
        with suppress(OSError):  # a full disk can't take the buffered data
            super().close()
        with suppress(OSError):
            remove(self._path)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def open_regular_file(path: str) -> BinaryIO:
    """Open a file for reading. Raises OSError for anything but a regular file."""
    refuse_device(path)
    return open(path, "rb")


def refuse_device(path: str) -> None:
    """Raise OSError for a pipe or a device, since reading one may block or never end.

    Opening reports missing files and folders.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise IsADirectoryError(errno.EINVAL, "it is no regular file but a pipe or device", path)


def make_parents(path: str) -> None:
    """Create the parent folders of a file, with durable names."""
    folder = os.path.dirname(path)
    missing = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    if not missing:
        return
    os.makedirs(missing[0], exist_ok=True)
    for folder in missing:
        sync_folder(os.path.dirname(folder))


def sync_folder(folder: str) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: str) -> None:
    """Delete a file and its Hadoop checksum; one that is gone already is fine."""
    drop_checksum(path)
    _unlink(path)


def drop_checksum(path: str) -> None:
    """Delete a file's Hadoop checksum, if it exists."""
    folder, name = os.path.split(path)
    _unlink(os.path.join(folder, f".{name}.crc"))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return


def replace(path: str, data: bytes) -> None:
    """Write a file, replacing an existing one; readers see either the old or the new content.

    It is not synced, since it is a hint: after a crash it may be old or empty.
    """
    make_parents(path)
    waiting = _write_waiting(path, data, synced=False)
    try:
        drop_checksum(path)
        os.replace(waiting, path)
    except BaseException:
        _unlink(waiting)
        raise


def create_if_absent(path: str, data: bytes, link: Callable[[str, str], None] = os.link) -> None:
    """Create a file, or raise FileExistsError.

    The bytes are written and synced under a temporary name, which is then linked to the final one
    in one step: there is one winner, and nobody sees a partial file. On a file system without
    links, the name itself is created exclusively and the bytes follow: still one winner.
    """
    make_parents(path)
    if os.path.exists(path):
        raise FileExistsError(path)
    waiting = _write_waiting(path, data)
    try:
        _link_or_take(waiting, path, data, link)
    finally:
        _unlink(waiting)
    drop_checksum(path)
    sync_folder(os.path.dirname(path))


def _link_or_take(waiting: str, path: str, data: bytes, link: Callable[[str, str], None]) -> None:
    try:
        link(waiting, path)
    except FileExistsError:
        # A network file system may answer so to a link that it created if its answer was lost.
        if not os.path.samefile(waiting, path):
            raise
    except OSError:
        if os.stat(waiting).st_nlink > 1:
            return
        _take(path, data)


def _take(path: str, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            _write_synced(file, data)
    except BaseException:
        _unlink(path)
        raise


def _write_waiting(path: str, data: bytes, *, synced: bool = True) -> str:
    """Write bytes next to a path under a temporary name, which no reader mistakes for metadata."""
    folder, name = os.path.split(path)
    waiting = os.path.join(folder, f"{uuid.uuid4()}-{name}.tmp")
    try:
        with open(waiting, "xb") as file:
            if synced:
                _write_synced(file, data)
            else:
                file.write(data)
    except BaseException:
        _unlink(waiting)
        raise
    return waiting


def _write_synced(file: Any, data: bytes) -> None:  # any binary file
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def walk(folder: str) -> Iterator[tuple[str, FileInfo]]:
    """Yield the relative path and the description of each file below a folder."""
    waiting = [(folder, "")]
    while waiting:
        current, above = waiting.pop()
        try:
            entries = list(os.scandir(current))
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{above}{entry.name}/"))
                continue
            try:
                status = entry.stat()
            except FileNotFoundError:  # deleted meanwhile
                continue
            yield (
                above + entry.name,
                FileInfo(entry.path, status.st_size, status.st_mtime_ns // _MS_IN_NS),
            )


def folders(folder: str) -> list[str]:
    """Return the names of the folders right below a folder, links to folders among them."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def find(paths: Iterable[str]) -> dict[str, FileInfo]:
    """Return those of some locations that are files."""
    infos = {}
    for path in paths:
        try:
            status = os.stat(strip_scheme(path))
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISREG(status.st_mode):
            infos[path] = FileInfo(path, status.st_size, status.st_mtime_ns // _MS_IN_NS)
    return infos
