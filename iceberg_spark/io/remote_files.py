"""What a store of objects can do, through an fsspec file system; raises the driver's own errors."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar

from fsspec.spec import AbstractBufferedFile

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.stores import MEMORY_LOCK, creates_atomically

T = TypeVar("T")

LOCK_PATH = "io.lock-path"


class RemoteWriter:
    """A new object that appears when closed, and never does if that fails or it is discarded."""

    def __init__(self, files: Any, path: str) -> None:
        self._files = files
        self._path = path
        _make_parents(files, path)
        self._file = files.open(path, "wb")

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return bool(self._file.closed)

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        return int(self._file.write(data) or 0)

    def flush(self) -> None:
        """Hand on what is buffered; parts of an upload are not readable yet."""
        self._file.flush()

    def tell(self) -> int:
        """Return how many bytes were written."""
        return int(self._file.tell())

    def close(self) -> None:
        """Finish the upload."""
        if self._file.closed:
            return
        try:
            self._file.close()
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Give the upload up, and remove the object where the store has it and allows that."""
        if isinstance(self._file, AbstractBufferedFile):
            with suppress(Exception):  # whatever the driver raises: the first error is told
                self._file.discard()
            self._file.closed = True  # or its destructor would finish the upload
        with suppress(Exception):
            remove(self._files, self._path)


_FOLDERLESS = frozenset({"s3", "gs", "gcs", "abfs", "az", "memory"})


def _make_parents(files: Any, path: str) -> None:
    """Make the folders above an object where the store has real ones."""
    names = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    if _FOLDERLESS.isdisjoint(names):
        files.makedirs(files._parent(path), exist_ok=True)


def read(files: Any, path: str) -> bytes:
    """Return a whole object."""
    return bytes(files.cat_file(path))


def exists(files: Any, path: str) -> bool:
    """Return whether an object is there; a store that can't be asked is an error."""
    try:
        return bool(files.info(path)["type"] != "directory")
    except FileNotFoundError:
        return False


def size(files: Any, path: str) -> int:
    """Return the size of an object in bytes."""
    return int(files.info(path)["size"])


def replace(files: Any, path: str, data: bytes) -> None:
    """Put a whole object over what is there."""
    _make_parents(files, path)
    files.pipe_file(path, data)


def remove(files: Any, path: str) -> None:
    """Delete an object; one that is gone already is fine."""
    try:
        files.rm_file(path)
    except FileNotFoundError:
        return


def walk(files: Any, prefix: str) -> Iterator[tuple[str, FileInfo]]:
    """Yield the path below a prefix and the description of each object."""
    root = prefix.rstrip("/")
    try:
        found = files.find(root, detail=True)
    except FileNotFoundError:  # the bucket
        return
    for name, info in found.items():
        if name.rstrip("/") == root:
            continue
        below = name[len(root) :].lstrip("/")
        yield below, FileInfo(name, int(info["size"]), _modified_ms(info))


def folders(files: Any, prefix: str) -> list[str]:
    """Return the names of the folders right below a prefix."""
    root = prefix.rstrip("/")
    try:
        found = files.ls(root, detail=True)
    except (FileNotFoundError, NotADirectoryError):
        return []
    names = {info["name"].rstrip("/") for info in found if info["type"] == "directory"}
    return sorted(location.name(name) for name in names if name != root)


def _modified_ms(info: Mapping[str, Any]) -> int:
    """Return when an object was changed; drivers name that differently."""
    for key in ("LastModified", "last_modified", "mtime", "updated", "created"):
        match info.get(key):
            case datetime() as moment:
                return int(moment.timestamp() * 1000)
            case int() | float() as seconds:
                return int(seconds * 1000)
            case str() as text:
                return int(datetime.fromisoformat(text).timestamp() * 1000)
            case _:
                continue
    return 0


def create_if_absent(
    files: Any, path: str, data: bytes, where: str, properties: Mapping[str, str]
) -> None:
    """Put an object only where there is none, or raise FileExistsError.

    `where` is the location as the user spells it. Raises UnsupportedError for a store that can't
    do that in one step and has no lock either.
    """
    store = location.store_of(where)
    if store == location.MEMORY:
        with MEMORY_LOCK:
            files.pipe_file(path, data, mode="create")
    elif folder := properties.get(LOCK_PATH):
        with _locked(folder, where):
            if exists(files, path):
                raise FileExistsError(path)
            _make_parents(files, path)
            files.pipe_file(path, data)
    elif creates_atomically(files, store):
        if properties.get("s3.endpoint"):
            _prove_conditional_put(files, path, where)
        _put_new(files, path, data, where)
    else:
        raise _no_conditional_put(where)


def _put_new(files: Any, path: str, data: bytes, where: str) -> None:
    """Put an object where there is none; "not implemented" is a refusal of the condition."""
    try:
        files.pipe_file(path, data, mode="create")
    except OSError as error:
        if error.errno == errno.ENOSYS:  # S3's 501
            raise _no_conditional_put(where) from error
        raise


def _no_conditional_put(where: str) -> UnsupportedError:
    return UnsupportedError(
        f"Can't commit to {where}: this store (or the installed version of its driver) has no "
        "put that fails where a file is there already, so two writers could both win; set the "
        f"storage property {LOCK_PATH} to a folder on a file system that all writers share"
    )


_proven: set[str] = set()


def _prove_conditional_put(files: Any, path: str, where: str) -> None:
    """Refuse a store that speaks S3 and ignores the condition; asked once for each bucket."""
    bucket = location.strip_scheme(where).partition("/")[0]
    if bucket in _proven:
        return
    probe = f"{files._parent(path)}/{uuid.uuid4()}.probe"
    _put_new(files, probe, b"1", where)
    try:
        _put_new(files, probe, b"2", where)
    except FileExistsError:
        _proven.add(bucket)
    else:
        raise _no_conditional_put(where)
    finally:
        remove(files, probe)


@contextmanager
def _locked(folder: str, where: str) -> Iterator[None]:
    """Hold the lock of the folder of a location, a file below `folder`."""
    os.makedirs(folder, exist_ok=True)
    key = location.normalise(location.parent(where))
    name = hashlib.sha256(key.encode()).hexdigest()
    with open(os.path.join(folder, f"{name}.lock"), "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # let go when the file is closed
        yield


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return what `work` does, or raise TimeoutError; it is left behind then, not stopped.

    Drivers have no common way to bound the time of a call, and some wait for minutes.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 (raised again by the caller)
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True, name="reach-store")
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return done[0]
