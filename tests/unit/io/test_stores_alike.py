"""Every operation of storage gives on each store what it gives on the local one."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iceberg_spark.errors import IcebergError, NoSuchFileError
from iceberg_spark.io.fsspec_io import FsspecIO
from tests.s3_server import s3_server

NAMES = [
    "a", "a b", "a+b", "a%20b", "a%b", "%2F", "%2e%2e", "a#b", "a?b", "a&b", "a=b", "a'b", 'a"b',
    "a<b>", "a\\b", "a|b", "a*b", "a:b", "a;b", "a@b", "a,b", "a~b", "a[b]", "a{b}", "a^b", "a`b",
    "ä€", "😀", "e\u0301", "..a", "a..", "...", " a", "a ", "~", "$a", "\ufeffa",
]  # fmt: skip


@pytest.fixture(scope="module")
def s3() -> Iterator[FsspecIO]:
    with s3_server() as objects:
        yield FsspecIO(objects.properties)


@pytest.fixture(params=["memory", "s3"])
def other(request: pytest.FixtureRequest) -> tuple[FsspecIO, str]:
    """A store and a folder in it."""
    if request.param == "memory":
        return FsspecIO(), f"memory://alike/{request.node.name}"
    return request.getfixturevalue("s3"), f"s3://bucket/{request.node.name}"


def outcome(work: Callable[[], Any]) -> Any:
    """What comes of it: an error by the class that callers tell."""
    try:
        return work()
    except NoSuchFileError:
        return NoSuchFileError
    except IcebergError as error:
        return type(error)


def whole(files: FsspecIO, path: str) -> bytes:
    with files.open(path) as file:
        return file.read()


def told(files: FsspecIO, root: str) -> list[Any]:
    """What a store says, for each name, of a file that is there and of one that is not."""
    found: list[Any] = []
    for name in NAMES:
        folder = f"{root}/{name}"
        path, missing = f"{folder}/{name}.x", f"{folder}/{name}.y"
        with files.create(path) as file:
            file.write(b"hello")
            found.append(file.tell())
        found += [
            outcome(lambda p=path: files.create_if_absent(p, b"2")),
            outcome(lambda p=missing: files.read_bytes(p)),
            outcome(lambda p=missing: files.open(p)),
            outcome(lambda p=missing: files.size(p)),
            outcome(lambda p=missing: files.delete(p)),
            (files.exists(path), files.exists(missing), files.exists(folder)),
            (files.read_bytes(path), whole(files, path), files.size(path)),
            [(at == path, info.size) for at, info in files.find([path, missing]).items()],
            [(info.path.removeprefix(root), info.size) for info in files.list(folder)],
            [at.removeprefix(root) for at in files.list_folders(folder)],
        ]
        arrow, at = files.arrow(path)
        found.append((arrow.get_file_info(at).size, arrow.open_input_file(at).read()))
    found.append(sorted(info.path.removeprefix(root) for info in files.list(f"{root}/")))
    found.append(sorted(at.removeprefix(root) for at in files.list_folders(root)))
    return found


@pytest.fixture(scope="module")
def told_locally(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return told(FsspecIO(), str(tmp_path_factory.mktemp("alike")))


def test_files_of_any_name(other: tuple[FsspecIO, str], told_locally: list[Any]):
    for ours, local in zip(told(*other), told_locally, strict=True):
        assert ours == local


def test_positions_in_files(other: tuple[FsspecIO, str], tmp_path: Path):
    def read(files: FsspecIO, path: str, data: bytes) -> list[Any]:
        with files.create(path) as file:
            file.write(data)
        opened, found = files.open(path), []
        for offset, whence, length in [
            (0, io.SEEK_SET, 10), (-5, io.SEEK_END, -1), (600_000, io.SEEK_SET, 5),
            (200_000, io.SEEK_SET, 100_000), (-200_000, io.SEEK_END, 70_000),
            (399_999, io.SEEK_SET, 9), (400_000, io.SEEK_SET, 1), (0, io.SEEK_SET, -1),
        ]:  # fmt: skip
            if whence == io.SEEK_END and len(data) + offset < 0:
                continue
            found.append((opened.seek(offset, whence), opened.read(length), opened.tell()))
        opened.close()
        return found

    files, root = other
    for number, data in enumerate([b"", b"123456", bytes(range(250)) * 1_600]):
        local = read(FsspecIO(), f"{tmp_path}/{number}", data)
        assert read(files, f"{root}/{number}", data) == local


def test_a_folder_is_not_its_namesakes(other: tuple[FsspecIO, str], tmp_path: Path):
    def listed(files: FsspecIO, root: str) -> list[Any]:
        for name in ("p/a/x", "p/ab", "p/a.b", "p/a-b/y"):
            files.create_if_absent(f"{root}/{name}", b"1")
        files.delete_many([f"{root}/p/a.b", f"{root}/p/a.b", f"{root}/none"])
        found = []
        for folder in (f"{root}/p", f"{root}/p/a", f"{root}/q"):
            found.append(sorted(info.path.removeprefix(root) for info in files.list(folder)))
            found.append([at.removeprefix(root) for at in files.list_folders(folder)])
        return found

    files, root = other
    assert listed(files, root) == listed(FsspecIO(), str(tmp_path))
