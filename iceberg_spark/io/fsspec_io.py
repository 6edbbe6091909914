"""Storage through fsspec and, for local files, the operating system (implements `FileIO`)."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import BinaryIO, TypeVar, cast

import pyarrow as pa
import pyarrow.fs as pafs

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io import local_files, location
from iceberg_spark.io.allowed_places import (
    ALLOWED_SCHEMES,
    TABLE_SCHEMES,
    Server,
    allowed_places,
    check_account_host,
    server_of,
)
from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.foreign_errors import may_be_retried, named_errors
from iceberg_spark.io.limits import check_read_whole
from iceberg_spark.io.new_file import NewFile, Unfinished
from iceberg_spark.io.numbers import number
from iceberg_spark.io.remote_signing import RequestSigner
from iceberg_spark.io.secrets import secrets_of
from iceberg_spark.io.store import IO_IMPL, OddKeyError, Store, exists, size
from iceberg_spark.lazy import LazyFunction, LazyModule

tenacity = LazyModule("tenacity")
fsspec_store = LazyFunction("iceberg_spark.io.fsspec_store", "FsspecStore")
hdfs_store = LazyFunction("iceberg_spark.io.hdfs_store", "hdfs_store")
object_store = LazyFunction("iceberg_spark.io.object_clients", "object_store")
file_system = LazyFunction("iceberg_spark.io.fsspec_store", "file_system")
T = TypeVar("T")
TIMEOUT_S = "io.timeout-s"
DEFAULT_TIMEOUT_S = 8.0
_LEAST_WAIT_S = 0.5
_LAST_START = 0.7
"""No attempt starts after this share of the time: one that is cut short has a worse error."""


class FsspecIO:
    """Files of any store with an fsspec driver, configured by PyIceberg's storage properties.

    Local paths use the operating system. `io.timeout-s` (default 8) limits, in seconds, how
    long a store may be silent on first use, and how long transient failures are retried.
    `io.lock-path` names a shared folder for locks, for stores that can't create atomically.
    `io.allowed-schemes` lists, with commas, schemes (`s3`) and buckets (`s3://bucket`) that the
    metadata of any table may use.
    """

    __slots__ = ("_allowed", "_hidden", "_properties", "_reached", "_signer", "_timeout_s")

    def __init__(
        self, properties: Mapping[str, str] | None = None, signer: RequestSigner | None = None
    ) -> None:
        """`signer` signs the requests to S3."""
        self._signer = signer
        self._properties = dict(properties or {})
        self._hidden = secrets_of(self._properties.items())
        self._timeout_s = number(self._properties, TIMEOUT_S, DEFAULT_TIMEOUT_S)
        self._reached: set[str] = set()
        self._allowed = allowed_places(self._properties)

    def __reduce__(self) -> tuple[type[FsspecIO], tuple[dict[str, str], RequestSigner | None]]:
        return FsspecIO, (sent_properties(self._properties), self._signer)

    def __repr__(self) -> str:
        return f"FsspecIO({', '.join(sorted(self._properties))})"

    @property
    def properties(self) -> Mapping[str, str]:
        """The storage properties it was created from (may contain secrets: never print)."""
        return MappingProxyType(self._properties)

    def limited_to(self, places: frozenset[str]) -> FsspecIO:
        """Return the same storage for these places only (`allowed_places.place_of`)."""
        properties = {**self._properties, TABLE_SCHEMES: ",".join(sorted(places))}
        limited = FsspecIO(properties, self._signer)
        limited._reached = self._reached
        return limited

    def open(self, path: str) -> BinaryIO:
        """Open for seekable reading."""
        if location.is_local(path):
            with self._errors("open", path):
                return local_files.open_regular_file(location.strip_scheme(path))
        errors = self._errors("read", path)
        return self._ask("open", path, lambda store, key: store.open(key, errors))

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a (small) file."""
        if location.is_local(path):
            key = location.strip_scheme(path)
            with self._errors("read", path), local_files.open_regular_file(key) as file:
                check_read_whole(path, os.fstat(file.fileno()).st_size)
                return file.read()
        return self._ask("read", path, lambda store, key: store.read(key))

    def create(self, path: str) -> BinaryIO:
        """Open a new file for streaming writes; closing makes it durable."""
        with self._errors("create", path):
            file = self._unfinished(path)
        return cast(BinaryIO, NewFile(file, self._errors("write", path)))

    def _unfinished(self, path: str) -> Unfinished:
        if location.is_local(path):
            return local_files.DurableWriter(location.strip_scheme(path))
        store = self._reached_store(path)
        return store.writer(store.path_of(path))

    def create_if_absent(self, path: str, data: bytes) -> None:
        """Write a file atomically and durably, or raise FileAlreadyExistsError.

        Neither retried here nor by the driver: after a failure other than FileAlreadyExistsError or
        a refusal the file may exist, and only its content shows which writer created it.
        """
        with self._errors("create", path):
            if location.is_local(path):
                local_files.create_if_absent(location.strip_scheme(path), data)
                return
            store = self._reached_store(path)
            create_if_absent(store, store.path_of(path), data, path, self._properties)

    def replace(self, path: str, data: bytes) -> None:
        """Write a small file, replacing an existing one (hints only)."""
        if location.is_local(path):
            with self._errors("write", path):
                local_files.replace(location.strip_scheme(path), data)
            return
        self._ask("write", path, lambda store, key: store.put(key, data))

    def exists(self, path: str) -> bool:
        """Return whether a file exists."""
        if location.is_local(path):
            with self._errors("look for", path):
                return os.path.isfile(location.strip_scheme(path))
        return self._ask("look for", path, exists)

    def find(self, paths: Sequence[str]) -> dict[str, FileInfo]:
        """Return those of some files of one folder that exist, by the paths passed."""
        if not paths:
            return {}
        if location.is_local(paths[0]):
            with self._errors("look for", paths[0]):
                return local_files.find(paths)
        infos = self._ask("look for", paths[0], partial(_find, paths=paths))
        return {path: replace(info, path=path) for path, info in infos.items()}

    def size(self, path: str) -> int:
        """Return a file's size in bytes."""
        if location.is_local(path):
            with self._errors("look for", path):
                return os.path.getsize(location.strip_scheme(path))
        return self._ask("look for", path, size)

    def delete(self, path: str) -> None:
        """Delete a file; one that is gone already is fine."""
        if location.is_local(path):
            with self._errors("delete", path):
                local_files.remove(location.strip_scheme(path))
            return
        self._ask("delete", path, lambda store, key: store.remove(key))

    def delete_many(self, paths: Iterable[str]) -> None:
        """Delete files; those that are gone already are fine."""
        for path in paths:
            self.delete(path)

    def list(self, prefix: str) -> Iterator[FileInfo]:
        """Yield all files below a folder, recursively; locations begin like the prefix."""
        entries: Iterable[tuple[str, FileInfo]]
        if location.is_local(prefix):
            with self._errors("list", prefix):
                entries = list(local_files.walk(location.strip_scheme(prefix)))
        else:
            entries = self._listed(prefix, lambda store, path: list(store.walk(path)))
        for name, info in entries:  # not `join`ed: a name may start with a slash
            path = f"{prefix.rstrip('/')}/{name.rstrip('/')}"
            yield FileInfo(path, info.size, info.modified_ms)

    def list_folders(self, prefix: str) -> Iterator[str]:
        """Yield the direct subfolders of a folder; locations begin like the prefix."""
        if location.is_local(prefix):
            with self._errors("list", prefix):
                names = local_files.folders(location.strip_scheme(prefix))
        else:
            names = self._listed(prefix, lambda store, key: store.folders(key))
        for name in names:
            if name not in (".", ".."):  # parts of an object's name, which are no folders
                yield location.join(prefix, name)

    def _listed(self, prefix: str, work: Callable[[Store, str], T]) -> T:
        """List a folder; by fsspec if it contains an object whose name obstore can't represent."""

        def either(store: Store, key: str) -> T:
            try:
                return work(store, key)
            except OddKeyError as odd:
                other = self._by_fsspec(prefix, odd)
                return work(other, other.path_of(prefix))

        return self._ask("list", prefix, either)

    def arrow(self, path: str) -> tuple[pafs.FileSystem, str]:
        """Return an Arrow file system and the path on it, for native readers."""
        with self._errors("open", path):
            if location.is_local(path):
                key = location.strip_scheme(path)
                local_files.refuse_device(key)
                return pafs.LocalFileSystem(), key
            store = self._reached_store(path)
            key = store.path_of(path)
            return store.arrow(key, self._errors("read", path)), key

    def open_arrow(self, path: str) -> pa.NativeFile:
        """Open a file for Arrow's readers."""
        files, key = self.arrow(path)
        return files.open_input_file(key)

    def _errors(self, doing: str, path: str) -> named_errors:
        self._check_scheme(doing, path)
        return named_errors(doing, path, location.store_of(path), self._hidden)

    def _check_scheme(self, doing: str, path: str) -> None:
        """Refuse a location of another store before any request to it."""
        if self._allowed is None or self._allowed.may_read(path):
            return
        used = ", ".join(sorted(self._allowed.stores))
        raise UnsupportedError(
            f"Can't {doing} {path}: it has scheme '{location.scheme(path)}', and the table's own "
            f"files have {used}; if you trust the table's metadata, set the storage "
            f"property {ALLOWED_SCHEMES}"
        )

    def _store(self, path: str) -> Store:
        """Return the client of a location's store, without a request."""
        check_account_host(path, self._properties)
        if self._signer is not None and location.store_of(path) == "s3":
            return self._by_fsspec(path)
        store: Store | None = object_store(path, self._properties, self._timeout_s)
        store = store or hdfs_store(path, self._properties)
        return self._by_fsspec(path) if store is None else store

    def _by_fsspec(self, path: str, instead: OddKeyError | None = None) -> Store:
        """Return fsspec's store of a location; `instead` is why it replaces obstore's."""
        arguments = path, self._properties, self._timeout_s
        files = partial(file_system, *arguments, signer=self._signer)
        once = partial(files, once=True)
        try:
            opened = fsspec_store(location.store_of(path), files(), once)
            return cast(Store, opened)
        except ImportError as error:
            if instead is None:
                raise
            raise UnsupportedError(
                f"Can't list {path}: {instead}. fsspec's driver can, and is not installed "
                f"({error}); install it, or remove that object"
            ) from None

    def _reached_store(self, path: str) -> Store:
        """Return a location's store, which has answered once."""
        if not self._is_reached(path):
            self._first(path, exists, self._timeout_s)
        return self._store(path)

    def _is_reached(self, path: str) -> bool:
        kind = location.store_of(path)
        return kind == location.MEMORY or bucket_of(path) in self._reached

    def _first(self, path: str, work: Callable[[Store, str], T], seconds: float) -> T:
        """Run the first operation on a store, which may never answer."""

        def ask() -> T:
            store = self._store(path)
            return work(store, store.path_of(path))

        try:
            done = within(max(seconds, _LEAST_WAIT_S), ask)
        except FileNotFoundError:
            self._reached.add(bucket_of(path))
            raise
        self._reached.add(bucket_of(path))
        return done

    def _ask(self, doing: str, path: str, work: Callable[[Store, str], T]) -> T:
        """Do something that may be repeated, again while the store fails in passing."""
        deadline = time.monotonic() + self._timeout_s

        def once() -> T:
            with self._errors(doing, path):
                if not self._is_reached(path):
                    return self._first(path, work, deadline - time.monotonic())
                store = self._store(path)
                return work(store, store.path_of(path))

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(may_be_retried),
            stop=tenacity.stop_before_delay(self._timeout_s * _LAST_START),
            wait=tenacity.wait_random_exponential(multiplier=0.1, max=2.0),
            reraise=True,
        )
        return cast(T, retrying(once))


def bucket_of(path: str) -> str:
    """Return the store and the bucket of a location."""
    return f"{location.store_of(path)}:{location.normalise(path).split('/')[2:3]}"


def sent_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that tasks need: those of the stores that they may open.

    A task of a table in S3 has no use for secrets of Google, Azure, or the catalog.
    """
    allowed = allowed_places(properties)
    if allowed is None:
        return dict(properties)
    own = (_PROPERTIES_OF.get(store, f"{store}.") for store in allowed.stores)
    starts = ("io.", "client.", IO_IMPL, "expiration-time", *own)
    return {name: value for name, value in properties.items() if name.startswith(starts)}


_PROPERTIES_OF = {"gs": "gcs.", "abfs": "adls.", "viewfs": "hdfs.", "webhdfs": "hdfs."}
"""Prefixes of the properties of stores, if they differ from the scheme."""


def _find(store: Store, _: str, paths: Sequence[str]) -> dict[str, FileInfo]:
    spelt = {store.path_of(path): path for path in paths}
    return {spelt[key]: info for key, info in store.find(list(spelt)).items()}


LOCK_PATH = "io.lock-path"


def create_if_absent(
    store: Store, key: str, data: bytes, where: str, properties: Mapping[str, str]
) -> None:
    """Create an object, or raise FileExistsError if it exists.

    `where` is the user's spelling of the location. Raises UnsupportedError for a store that can't
    do that atomically and has no lock.
    """
    if folder := properties.get(LOCK_PATH):
        with _locked(folder, where):
            if exists(store, key):
                raise FileExistsError(key)
            store.put(key, data)
    elif store.creates_atomically:
        if location.store_of(where) in _PROMISED:
            _prove_condition(store, key, where, properties)
        _put_new(store, key, data, where)
    else:
        raise _no_conditional_put(where)


_PROMISED = frozenset({"s3", "gs", "abfs"})
"""Stores of which many servers claim to be one, some of them without regard to the condition."""


def _put_new(store: Store, key: str, data: bytes, where: str) -> None:
    """Create an object if it is absent; "not implemented" means no conditional put."""
    try:
        store.put_new(key, data)
    except OSError as error:
        if error.errno == errno.ENOSYS:  # S3's 501
            raise _no_conditional_put(where) from error
        raise


def _no_conditional_put(where: str) -> UnsupportedError:
    return UnsupportedError(
        f"Can't commit to {where}: this store (or the installed version of its driver) has no "
        "put that fails if the file exists, so two writers could both win; set the "
        f"storage property {LOCK_PATH} to a folder on a file system that all writers share"
    )


_proven: set[Server] = set()
"""Servers (`server_of`) that have obeyed the condition in this process."""


def _prove_condition(store: Store, key: str, where: str, properties: Mapping[str, str]) -> None:
    """Refuse a store that ignores the condition; it is tested once, by creating an object twice.

    The object is removed, unless the writer may not delete: then one byte remains.
    """
    server = server_of(where, properties)
    if server in _proven:
        return
    probe = f"{location.parent(key)}/{uuid.uuid4()}.probe"
    _put_new(store, probe, b"1", where)
    try:
        _put_new(store, probe, b"2", where)
    except FileExistsError:
        _proven.add(server)
    else:
        raise _no_conditional_put(where)
    finally:
        with suppress(Exception):  # a failure to clean up does not change the result
            store.remove(probe)


@contextmanager
def _locked(folder: str, where: str) -> Iterator[None]:
    """Hold the lock of a location's folder: a file below `folder`.

    The folder may be shared with other users, who could create a link with the file's name: it is
    not followed, and the file's content is not changed.
    """
    os.makedirs(folder, exist_ok=True)
    key = location.normalise(location.parent(where))
    name = hashlib.sha256(key.encode()).hexdigest()
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    lock = os.open(os.path.join(folder, f"{name}.lock"), flags, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            raise PermissionError(f"the lock {name}.lock in {folder} is not a plain file")
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
        yield
    finally:
        os.close(lock)


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of `work`, or raise TimeoutError; the work then continues in background.

    Drivers have no common way to limit the time of a call, and some wait for minutes.
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
