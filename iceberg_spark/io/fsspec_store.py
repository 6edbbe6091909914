"""Any store through the fsspec driver of its scheme (implements `Store`)."""

from __future__ import annotations

import inspect
import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, cast

import fsspec
import pyarrow as pa
import pyarrow.fs as pafs
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.limits import check_read_whole
from iceberg_spark.io.location import MEMORY, store_of
from iceberg_spark.io.numbers import is_true, number
from iceberg_spark.io.remote_signing import RequestSigner, signed_files
from iceberg_spark.io.store import below
from iceberg_spark.lazy import LazyModule

asyn = LazyModule("fsspec.asyn")


class RemoteWriter:
    """A new object that appears when closed, and never does if that fails or it is discarded."""

    def __init__(self, store: FsspecStore, key: str) -> None:
        self._store = store
        self._key = key
        store.make_parents(key)
        self._file = store.files.open(key, "wb")

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return bool(self._file.closed)

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        return int(self._file.write(data) or 0)

    def flush(self) -> None:
        """Write what is buffered; parts of an upload are not readable yet."""
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
            with suppress(Exception):  # whatever the driver raises: the first error is reported
                self._file.discard()
            self._file.closed = True  # or its destructor would finish the upload
        with suppress(Exception):
            self._store.remove(self._key)


_FOLDERLESS = frozenset({"s3", "gs", "gcs", "abfs", "az", "memory"})


@dataclass(frozen=True, slots=True)
class FsspecStore:
    """Files through an fsspec file system; `once()` is the same without its driver's retries."""

    kind: str  # location.store_of
    files: Any
    once: Callable[[], Any]

    @property
    def creates_atomically(self) -> bool:
        """Whether `put_new` is one step."""
        return self.kind == location.MEMORY or creates_atomically(self.files, self.kind)

    def path_of(self, where: str) -> str:
        """Return a location as the driver spells it."""
        return driver_path(self.files, where)

    def read(self, key: str) -> bytes:
        """Return the content of an object."""
        check_read_whole(key, int(self.files.size(key) or 0))
        return bytes(self.files.cat_file(key))

    def find(self, paths: Sequence[str]) -> dict[str, FileInfo]:
        """Return those of the objects that exist."""
        infos = {}
        for key in paths:
            with suppress(FileNotFoundError):
                info = self.files.info(key)
                if info["type"] != "directory":
                    infos[key] = FileInfo(key, int(info["size"]), _modified_ms(info))
        return infos

    def open(self, key: str, errors: AbstractContextManager[None]) -> BinaryIO:  # noqa: ARG002
        """Open for seekable reading."""
        return cast(BinaryIO, self.files.open(key, "rb"))

    def writer(self, key: str) -> RemoteWriter:
        """Return a writer of a new object, which appears on close."""
        return RemoteWriter(self, key)

    def put(self, key: str, data: bytes) -> None:
        """Write an object, replacing an existing one."""
        self.make_parents(key)
        self.files.pipe_file(key, data)

    def put_new(self, key: str, data: bytes) -> None:
        """Create an object that does not exist."""
        if self.kind == location.MEMORY:
            with MEMORY_LOCK:
                self.files.pipe_file(key, data, mode="create")
        else:
            self.once().pipe_file(key, data, mode="create")

    def remove(self, key: str) -> None:
        """Delete an object; it may be missing."""
        with suppress(FileNotFoundError):
            self.files.rm_file(key)

    def remove_many(self, paths: Iterable[str]) -> None:
        """Delete objects; they may be missing."""
        for key in paths:
            self.remove(key)

    def walk(self, key: str) -> Iterator[tuple[str, FileInfo]]:
        """Yield the relative path and the description of each object below a folder."""
        root = key.rstrip("/")
        for name, info in self._listing(root):
            if name.rstrip("/") != root:
                yield below(name, root), FileInfo(name, int(info["size"]), _modified_ms(info))

    def _listing(self, root: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
        if _skips_what_fails(self.files):
            return _walked(self.files, root)
        try:
            return cast(Mapping[str, Any], self.files.find(root, detail=True)).items()
        except FileNotFoundError:  # the bucket
            return ()

    def folders(self, key: str) -> list[str]:
        """Return the names of the direct subfolders of a folder."""
        root = key.rstrip("/")
        try:
            entries = self.files.ls(root, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        names = {info["name"].rstrip("/") for info in entries if info["type"] == "directory"}
        return sorted(location.name(name) for name in names if name != root)

    def arrow(self, key: str, errors: AbstractContextManager[None]) -> pafs.FileSystem:  # noqa: ARG002
        """Return an Arrow file system."""
        return pafs.PyFileSystem(DriverFiles(self.files))

    def make_parents(self, key: str) -> None:
        """Create the parent folders of an object if the store has real ones."""
        protocol = self.files.protocol
        names = (protocol,) if isinstance(protocol, str) else protocol
        if _FOLDERLESS.isdisjoint(names):
            self.files.makedirs(self.files._parent(key), exist_ok=True)


class DriverFiles(pafs.FSSpecHandler):  # type: ignore[misc]  # pyarrow ships no types
    """A driver's files for Arrow's readers.

    pyarrow's own handler asks first whether there is a file, and takes a refusal for a missing one.
    """

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open a file for reading anywhere."""
        return pa.PythonFile(self.fs.open(path, mode="rb"), mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open a file for reading."""
        return self.open_input_file(path)


def _skips_what_fails(files: Any) -> bool:
    """Return whether a driver has no `find` of its own.

    fsspec's treats a folder that can't be listed as empty, and does not pass `on_error` to the
    folders below the first.
    """
    kind = type(files)
    if kind.find is not AbstractFileSystem.find:
        return False
    return not hasattr(kind, "_find") or kind._find is asyn.AsyncFileSystem._find


def _walked(files: Any, root: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the files below a folder, by a listing of each; links are not followed."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        with suppress(FileNotFoundError, NotADirectoryError):  # removed meanwhile, or never there
            for info in files.ls(folder, detail=True):
                name = str(info["name"])
                if info["type"] != "directory":
                    yield name, info
                elif name.rstrip("/") != folder.rstrip("/"):
                    waiting.append(name)


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


MEMORY_LOCK = threading.RLock()
"""Held while a file appears in or leaves the memory store, which has no atomic operation."""


class SharedMemoryFiles(MemoryFileSystem):  # type: ignore[misc]  # fsspec ships no types
    """The memory store with a separate handle for each reader (fsspec's share one position)."""

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        if mode == "rb":
            return io.BytesIO(self.cat_file(path))
        return super()._open(path, mode, **kwargs)


def file_system(
    location: str,
    properties: Mapping[str, str],
    timeout_s: float,
    *,
    once: bool = False,
    signer: RequestSigner | None = None,
) -> Any:
    """Return the fsspec file system of a location (fsspec caches one for equal arguments).

    With `once` the retries of S3's driver are off (aiohttp still retries after a lost connection).
    `signer` signs the requests to S3.

    Raises ImportError for a driver that is not installed, UnsupportedError for a scheme that
    fsspec does not support.
    """
    store = store_of(location)
    if store == MEMORY:
        return SharedMemoryFiles()
    try:
        kind = fsspec.get_filesystem_class(store)
    except ValueError:
        raise UnsupportedError(
            f"Can't open {location}: there is no file system for {store}: locations; "
            "fsspec's names are file, memory, s3, gs, abfs, hdfs and others"
        ) from None
    arguments = _ARGUMENTS.get(store, _no_arguments)(properties, timeout_s)
    if store in _CONDITIONAL_PUT:  # their cached listings would hide other writers' commits
        arguments["use_listings_cache"] = False
    from_url = kind._get_kwargs_from_urls(_spelt_for_driver(location))
    options = {key: value for key, value in arguments.items() if value is not None}
    if store != "s3":
        return kind(**{**from_url, **options})
    if once:
        retries = {"retries": {"total_max_attempts": 1}}  # botocore's
        options["config_kwargs"] = {**options["config_kwargs"], **retries}
    every = {**from_url, **options}
    files = kind(**every) if signer is None else signed_files(signer, every, os.getpid())
    if once:
        files.retries = 1  # s3fs's own
    return files


def driver_path(files: Any, location: str) -> str:
    """Return a location as its file system spells it."""
    return str(files._strip_protocol(_spelt_for_driver(location)))


def _spelt_for_driver(location: str) -> str:
    _, colon, rest = location.partition(":")
    spelling = "abfss" if store_of(location) == "abfs" else store_of(location)
    return f"{spelling}:{rest}" if colon else location


def creates_atomically(files: Any, store: str) -> bool:
    """Return whether a driver creates an object atomically.

    fsspec's default checks first and writes then, which lets two writers win; the drivers of S3,
    Google and Azure have a conditional put in the versions whose `pipe_file` accepts `mode`.
    """
    if store not in _CONDITIONAL_PUT:
        return False
    method = files._pipe_file
    names = inspect.signature(method).parameters
    return "mode" in names or (store == "abfs" and "overwrite" in names)


_CONDITIONAL_PUT = ("s3", "gs", "abfs")


def _no_arguments(_properties: Mapping[str, str], _timeout_s: float) -> dict[str, Any]:
    return {}


def _s3(properties: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    get = properties.get

    def either(name: str) -> str | None:
        return get(f"s3.{name}") or get(f"client.{name}")

    config: dict[str, Any] = {
        "connect_timeout": number(properties, "s3.connect-timeout", timeout_s / 2),
        "read_timeout": number(properties, "s3.request-timeout", 60.0),
        "retries": {"max_attempts": 1},
    }
    if proxy := get("s3.proxy-uri"):
        config["proxies"] = {"http": proxy, "https": proxy}
    if is_true(properties, "s3.force-virtual-addressing"):
        config["s3"] = {"addressing_style": "virtual"}
    elif is_true(properties, "s3.path-style-access"):
        config["s3"] = {"addressing_style": "path"}
    encryption = {
        "ServerSideEncryption": get("s3.server-side-encryption"),
        "SSEKMSKeyId": get("s3.sse-kms-key-id"),
    }
    return {
        "anon": is_true(properties, "s3.anonymous"),
        "profile": either("profile-name"),
        "endpoint_url": get("s3.endpoint"),
        "key": either("access-key-id"),
        "secret": either("secret-access-key"),
        "token": either("session-token"),
        "client_kwargs": {"region_name": region} if (region := either("region")) else {},
        "config_kwargs": config,
        "s3_additional_kwargs": {key: value for key, value in encryption.items() if value},
    }


def _gs(properties: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    get = properties.get
    return {
        "project": get("gcs.project-id"),
        "access": get("gcs.access"),
        "token": get("gcs.oauth2.token"),
        "requester_pays": is_true(properties, "gcs.requester-pays"),
        "endpoint_url": get("gcs.service.host"),
        "default_location": get("gcs.default-bucket-location"),
        "requests_timeout": max(timeout_s, 60.0),
    }


def _abfs(properties: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    names = (
        "connection-string", "credential", "account-name", "account-key", "sas-token",
        "tenant-id", "client-id", "client-secret", "account-host",
    )  # fmt: skip
    options = {name.replace("-", "_"): properties.get(f"adls.{name}") for name in names}
    anonymous = is_true(properties, "adls.anon")
    return {**options, "anon": anonymous, "connection_timeout": max(1, int(timeout_s / 2))}


def _hdfs(properties: Mapping[str, str], _timeout_s: float) -> dict[str, Any]:
    return {
        "host": properties.get("hdfs.host"),
        "port": int(number(properties, "hdfs.port", 0)) or None,
        "user": properties.get("hdfs.user"),
        "kerb_ticket": properties.get("hdfs.kerberos_ticket"),
    }


_ARGUMENTS: dict[str, Callable[[Mapping[str, str], float], dict[str, Any]]] = {
    "s3": _s3,
    "gs": _gs,
    "abfs": _abfs,
    "hdfs": _hdfs,
}
