"""Stores that fail: what is retried, how long, and what the message says."""

import threading
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from iceberg_spark.errors import (
    FileAlreadyExistsError,
    NoSuchFileError,
    StorageError,
    StoragePermissionError,
    UnsupportedError,
)
from iceberg_spark.io import fsspec_io, fsspec_store
from iceberg_spark.io.fsspec_io import FsspecIO


class Remote(LocalFileSystem):
    """A driver without a `find` of its own, of which a folder can't be listed."""

    protocol = "smb"
    cachable = False
    broken = ""

    def ls(self, path: str, detail: bool = False, **_: Any) -> Any:
        if path.rstrip("/").endswith(self.broken or "//"):
            raise ConnectionResetError("gone")
        return super().ls(path, detail=detail)


@pytest.mark.parametrize("broken", ["t", "t/a", "t/a/b"])
def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("t/a/b/1", "t/a/2", "t/3"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    monkeypatch.setattr(fsspec_store.fsspec, "get_filesystem_class", lambda _: Remote)
    remote, root = FsspecIO({"io.timeout-s": "0.2"}), f"smb://{tmp_path}/t"
    assert {info.path.removeprefix(root) for info in remote.list(root)} == {"/a/b/1", "/a/2", "/3"}
    assert list(remote.list(f"{root}/3")) == []
    assert list(remote.list(f"{root}/none")) == []
    monkeypatch.setattr(Remote, "broken", broken)
    with pytest.raises(StorageError, match="gone"):
        list(remote.list(root))


class ObjectStore(MemoryFileSystem):
    """An S3 of its own, whose calls can be made to fail."""

    protocol = ("s3", "s3a")
    store: dict[str, Any] = {}  # noqa: RUF012 (as fsspec's memory store has it)
    pseudo_dirs = [""]  # noqa: RUF012
    cachable = False
    failures: list[BaseException] = []  # noqa: RUF012
    calls = 0
    conditional = True

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.partition("://")[2] if "://" in path else path

    def info(self, path: str, **_: Any) -> Any:
        self._fail()
        return super().info(path)

    def cat_file(self, path: str, **_: Any) -> bytes:
        self._fail()
        return bytes(super().cat_file(path))

    def _fail(self) -> None:
        type(self).calls += 1
        if self.failures:
            raise self.failures.pop(0)

    def _pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None: ...

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        super().pipe_file(path, value, mode if self.conditional else "overwrite")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> type[ObjectStore]:
    kind = type("Store", (ObjectStore,), {"store": {}, "pseudo_dirs": [""], "failures": []})
    monkeypatch.setattr(fsspec_store.fsspec, "get_filesystem_class", lambda _: kind)
    monkeypatch.setattr(fsspec_io, "_proven", set())
    return kind


FSSPEC = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}
IO = FsspecIO({**FSSPEC, "io.timeout-s": "0.5", "s3.secret-access-key": "hush"})


def test_a_failure_that_passes_is_retried(store: type[ObjectStore]):
    IO.create_if_absent("s3://b/k", b"1")
    store.failures += [TimeoutError("slow"), ConnectionResetError("gone")]
    assert IO.read_bytes("s3://b/k") == b"1"


def test_a_failure_that_stays_is_an_error_naming_the_file(store: type[ObjectStore]):
    store.failures += [OSError("disk on fire")] * 1000
    with pytest.raises(StorageError, match="Can't read s3://b/k: OSError: disk on fire"):
        IO.read_bytes("s3://b/k")
    assert store.calls > 1


@pytest.mark.parametrize(
    ("failure", "ours"),
    [(PermissionError("no"), StoragePermissionError), (FileNotFoundError("no"), NoSuchFileError)],
)
def test_denied_and_missing_are_not_retried(
    store: type[ObjectStore], failure: OSError, ours: type[Exception]
):
    IO.exists("s3://b/other")
    store.calls = 0
    store.failures += [failure]
    with pytest.raises(ours):
        IO.read_bytes("s3://b/k")
    assert store.calls == 1


def test_a_silent_store_is_an_error_in_time(
    store: type[ObjectStore], monkeypatch: pytest.MonkeyPatch
):
    silent = threading.Event()
    IO.create_if_absent("s3://b/k", b"1")
    monkeypatch.setattr(store, "cat_file", lambda *_: silent.wait(60))
    with pytest.raises(StorageError, match="no answer within"):
        FsspecIO({**FSSPEC, "io.timeout-s": "0.2"}).read_bytes("s3://b/k")
    silent.set()


def test_listings_are_not_remembered_since_others_commit_too(
    store: type[ObjectStore], monkeypatch: pytest.MonkeyPatch
):
    given: dict[str, object] = {}
    init = store.__init__

    def note(self: ObjectStore, **arguments: object) -> None:
        given.update(arguments)
        init(self, **arguments)

    monkeypatch.setattr(store, "__init__", note)
    IO.exists("s3://b/k")
    assert given["use_listings_cache"] is False


def test_secrets_are_blotted_out_of_messages(store: type[ObjectStore]):
    store.failures += [PermissionError("key hush is unknown")]
    with pytest.raises(StoragePermissionError) as caught:
        FsspecIO({**FSSPEC, "s3.secret-access-key": "hush"}).read_bytes("s3://b/k")
    assert "hush" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_conditional_put_has_one_winner(store: type[ObjectStore]):
    IO.create_if_absent("s3://b/v1", b"1")
    with pytest.raises(FileAlreadyExistsError):
        IO.create_if_absent("s3a://b/v1", b"2")
    assert IO.read_bytes("s3://b/v1") == b"1"


def test_a_store_without_conditional_put_is_refused_and_the_way_out_named(
    store: type[ObjectStore], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store, "_pipe_file", lambda _self, _path, _value: None)
    with pytest.raises(UnsupportedError, match=r"io\.lock-path"):
        IO.create_if_absent("s3://b/v1", b"1")
    assert not IO.exists("s3://b/v1")


def test_a_store_that_ignores_the_condition_is_found_out(store: type[ObjectStore]):
    store.conditional = False
    with pytest.raises(UnsupportedError, match=r"io\.lock-path"):
        FsspecIO({**FSSPEC, "s3.endpoint": "http://elsewhere"}).create_if_absent(
            "s3://b/t/v1", b"1"
        )
    assert store.store == {}


def test_a_lock_lets_a_store_without_conditional_put_commit(
    store: type[ObjectStore], tmp_path: Path
):
    store.conditional = False
    io = FsspecIO({**FSSPEC, "io.lock-path": str(tmp_path)})
    io.create_if_absent("s3://b/v1", b"1")
    with pytest.raises(FileAlreadyExistsError):
        io.create_if_absent("s3://b/v1", b"2")
    assert io.read_bytes("s3://b/v1") == b"1"


@pytest.mark.parametrize(
    ("where", "properties"),
    [
        ("gs://b/k", {}),
        ("s3://b/k", {"s3.endpoint": "http://other"}),
        ("gs://b/k", {"gcs.service.host": "http://other"}),
        ("s3://b/k", {"py-io-impl": ""}),
    ],
)
def test_a_server_is_proved_by_itself(where: str, properties: dict[str, str]):
    """Another store's bucket of the same name, another server, and another client's request."""
    given = {**FSSPEC, "s3.endpoint": "http://one"}
    proved = fsspec_io.server_of("s3://b/k", given)
    assert fsspec_io.server_of(where, {**given, **properties}) != proved


def test_an_endpoint_of_the_environment_is_proved_by_itself(monkeypatch: pytest.MonkeyPatch):
    proved = fsspec_io.server_of("s3://b/k", {})
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://other")
    assert fsspec_io.server_of("s3://b/k", {}) != proved
