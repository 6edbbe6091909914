"""A bucket of S3 or Google or a container of Azure, through obstore (implements `Store`)."""

from __future__ import annotations

import errno
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import pyarrow.fs as pafs

from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.limits import RANGES, check_read_whole
from iceberg_spark.io.object_files import ObjectFiles, Part, RangeFile, process_of_threads
from iceberg_spark.io.store import OddKeyError, below
from iceberg_spark.lazy import LazyModule

obstore = LazyModule("obstore")
exceptions = LazyModule("obstore.exceptions")

_STATUS = re.compile(r"status code: (\d{3})")
_DENIED = (401, 403)
_NOT_FOUND = 404
_CONFLICT = 409
_BEYOND_THE_END = 416
_NOT_IMPLEMENTED = 501
_UNORDERED = "--x-s3"
"""The end of a directory bucket's name: S3 lists its keys in no order."""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Objects of one bucket; `client` retries what can be retried, `once()` never retries."""

    kind: str  # location.store_of
    bucket: str
    client: Any
    once: Callable[[], Any]

    @property
    def creates_atomically(self) -> bool:
        """Whether `put_new` is one step."""
        return True

    def path_of(self, where: str) -> str:
        """Return the key in a location."""
        return key_of(where)

    def read(self, key: str) -> bytes:
        """Return the content of an object."""
        answer = obstore.get(self.client, _object(key))
        check_read_whole(key, int(answer.meta["size"]))
        return bytes(answer.bytes())

    def find(self, paths: Sequence[str]) -> dict[str, FileInfo]:
        """Return those of the objects of one folder that exist; by one listing if possible."""
        if len(paths) > 1 and self.kind in _LISTS_FROM and not self.bucket.endswith(_UNORDERED):
            infos, unseen = self._listed(paths)
        else:
            infos, unseen = {}, [key for key in paths if key]
        for key in unseen:
            with suppress(FileNotFoundError):
                infos[key] = _info(key, obstore.head(self.client, key))
        return infos

    def _listed(self, paths: Sequence[str]) -> tuple[dict[str, FileInfo], list[str]]:
        """Return the existing objects of a listing's first page, and the names after its end.

        Stores list by name, a thousand per page: the first page is enough, unless other objects are
        between the names.
        """
        first = min(paths)
        folder = first.rpartition("/")[0]
        listing = obstore.list(self.client, folder, offset=first[:-1], chunk_size=_PAGE)
        chunk: Sequence[Any] = ()
        try:
            with suppress(FileNotFoundError), _by_status():  # the bucket
                chunk = next(iter(listing), ())
        except OddKeyError:  # an object among them hides them all
            return {}, [key for key in paths if key]
        listed = {meta["path"]: _info(meta["path"], meta) for meta in chunk}
        last = max(listed, default="")
        complete = len(chunk) < _PAGE
        unseen = [] if complete else [key for key in paths if key > last]
        return {key: listed[key] for key in paths if key in listed}, unseen

    def open(self, key: str, errors: AbstractContextManager[None]) -> BinaryIO:
        """Open for seekable reading."""
        file = RangeFile(_ObjectRanges(self, key), errors)
        file.size()  # an object that isn't there is an error here, not at the first read
        return cast(BinaryIO, io.BufferedReader(file, RANGES.least_bytes))

    def writer(self, key: str) -> ObjectWriter:
        """Return a writer of a new object, which appears on close."""
        return ObjectWriter(self, key)

    def put(self, key: str, data: bytes) -> None:
        """Write an object, replacing an existing one."""
        obstore.put(self.client, _object(key), data, use_multipart=False)

    def put_new(self, key: str, data: bytes) -> None:
        """Create an object that does not exist; sent once."""
        try:
            obstore.put(self.once(), _object(key), data, mode="create", use_multipart=False)
        except exceptions.AlreadyExistsError as error:
            if self.kind == "s3" and _status(error) == _CONFLICT:  # concurrent creation, undecided
                raise ConnectionError(_first_line(error)) from error
            raise FileExistsError(key) from error
        except exceptions.BaseError as error:
            if _status(error) == _NOT_IMPLEMENTED:
                raise OSError(errno.ENOSYS, _first_line(error)) from error
            raise

    def remove(self, key: str) -> None:
        """Delete an object; it may be missing."""
        with suppress(FileNotFoundError):
            obstore.delete(self.client, _object(key))

    def remove_many(self, paths: Iterable[str]) -> None:
        """Delete objects; they may be missing."""
        for key in paths:
            self.remove(key)

    def walk(self, key: str) -> Iterator[tuple[str, FileInfo]]:
        """Yield the relative path and the description of each object below a folder."""
        root = key.rstrip("/")
        with suppress(FileNotFoundError), _by_status():  # the bucket
            for chunk in obstore.list(self.client, root, chunk_size=_PAGE):
                for meta in chunk:
                    name = meta["path"]
                    if name != root:
                        yield below(name, root), _info(name, meta)

    def folders(self, key: str) -> list[str]:
        """Return the names of the direct subfolders of a folder."""
        return sorted(location.name(name) for name in self._right_below(key)["common_prefixes"])

    def files(self, key: str) -> list[tuple[str, FileInfo]]:
        """Return the names and descriptions of the objects directly in a folder."""
        metas = self._right_below(key)["objects"]
        return [(location.name(meta["path"]), _info(meta["path"], meta)) for meta in metas]

    def _right_below(self, key: str) -> Any:
        with suppress(FileNotFoundError), _by_status():  # the bucket
            return obstore.list_with_delimiter(self.client, key.rstrip("/"))
        return {"common_prefixes": (), "objects": ()}

    def arrow(self, key: str, errors: AbstractContextManager[None]) -> pafs.FileSystem:  # noqa: ARG002
        """Return an Arrow file system; reading raises through `errors`."""
        return pafs.PyFileSystem(ObjectFiles(self, errors))

    def ranges(self, key: str) -> _ObjectRanges:
        """Return the reader of an object's ranges."""
        return _ObjectRanges(self, key)


_PAGE = 1_000
"""Keys in an answer of a store's listing."""
_LISTS_FROM = frozenset({"s3"})
"""Stores whose listings can start at a name; for others the client lists all names before it."""


@dataclass(frozen=True, slots=True)
class _ObjectRanges:
    """One object's ranges."""

    store: ObjectStore
    key: str

    def tail(self, length: int) -> Part:
        """Return the last bytes."""
        process_of_threads()
        if self.store.kind == "abfs":  # Azure has no ranges that count from the end
            size = int(obstore.head(self.store.client, self.key)["size"])
            return self._part((max(0, size - length), size)) if size else _nothing(0)
        return self._part({"suffix": length})

    def part(self, start: int, length: int) -> Part:
        """Return bytes from a position on."""
        return self._part((start, start + length))

    def _part(self, byte_range: Any) -> Part:
        process_of_threads()
        try:
            answer = obstore.get(self.store.client, self.key, options={"range": byte_range})
        except exceptions.BaseError as error:
            # For a part of an empty object servers answer 416, the whole object, or a range 0--1.
            if _status(error) != _BEYOND_THE_END and _NO_PART.search(str(error)) is None:
                raise
            size = int(obstore.head(self.store.client, self.key)["size"])
            if size > (byte_range[0] if isinstance(byte_range, tuple) else 0):
                raise
            return _nothing(size)
        start, size = answer.range[0], int(answer.meta["size"])
        tag = answer.meta.get("e_tag") or ""
        return Part(start, memoryview(answer.bytes()), size, tag)


_NO_PART = re.compile("non-partial response|CONTENT_RANGE header")


def _nothing(size: int) -> Part:
    return Part(size, memoryview(b""), size)


class ObjectWriter:
    """A new object that appears when closed, and never does if that fails or it is discarded."""

    def __init__(self, store: ObjectStore, key: str) -> None:
        self._store = store
        self._key = key
        self._written = 0
        self._file = obstore.open_writer(
            store.client,
            _object(key),
            buffer_size=RANGES.upload_bytes,
            max_concurrency=RANGES.uploads_at_once,
        )

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return bool(self._file.closed())

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        process_of_threads()
        view = memoryview(data).cast("B")
        with _by_status():
            self._file.write(view)
        self._written += len(view)
        return len(view)

    def flush(self) -> None:
        """Do nothing: parts of an upload are not readable before its end."""

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._written

    def close(self) -> None:
        """Finish the upload."""
        if self.closed:
            return
        process_of_threads()
        try:
            with _by_status():
                self._file.close()
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Give the upload up, and remove the object where the store has it and allows that."""
        with suppress(Exception):  # whatever the client raises: the first error is reported
            process_of_threads()
            if not self.closed:
                self._file.__exit__(BrokenPipeError, BrokenPipeError(), None)  # aborts it
        with suppress(Exception):
            process_of_threads()
            self._store.remove(self._key)


@contextmanager
def _by_status() -> Iterator[None]:
    """Distinguish a refusal from a failure: uploads and listings raise one class for both."""
    try:
        yield
    except exceptions.InvalidPathError as error:  # of an object that a listing came upon
        raise OddKeyError(_first_line(error)) from error
    except (OSError, exceptions.GenericError) as error:
        status = _status(error)
        if status in _DENIED:
            raise PermissionError(_first_line(error)) from error
        if status == _NOT_FOUND:
            raise FileNotFoundError(_first_line(error)) from error
        raise


def _object(key: str) -> str:
    """Return a key. Raises ValueError for an empty one: its requests address the bucket itself."""
    if not key:
        raise ValueError("a bucket is not a file")
    return key


def key_of(where: str) -> str:
    """Return the key in a location, without a slash at its ends."""
    return location.strip_scheme(where).partition("/")[2].strip("/")


_ODD = re.compile(r"//|(?:^|/)\.{1,2}(?:/|$)|[\x00-\x1f\x7f]")


def is_odd(where: str) -> bool:
    """Return whether a location's key has parts that obstore takes for a mistake, or changes."""
    rest = location.strip_scheme(where)
    return _ODD.search(rest.rstrip("/")) is not None


def _info(key: str, meta: Any) -> FileInfo:
    changed = int(meta["last_modified"].timestamp() * 1000)
    return FileInfo(key, int(meta["size"]), changed, meta.get("e_tag") or "")


def _status(error: BaseException) -> int | None:
    match = _STATUS.search(str(error))
    return int(match[1]) if match else None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
