"""Durable files on the local file system."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iceberg_spark.errors import StorageError
from iceberg_spark.io import local_files
from iceberg_spark.io.fsspec_io import FsspecIO


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_create_if_absent_writes_the_whole_file_and_leaves_nothing_else(tmp_path: Path):
    local_files.create_if_absent(str(tmp_path / "m" / "v1"), b"one")
    assert (tmp_path / "m" / "v1").read_bytes() == b"one"
    assert _names(tmp_path / "m") == ["v1"]


def test_create_if_absent_loses_against_a_file_and_leaves_it_alone(tmp_path: Path):
    (tmp_path / "v1").write_bytes(b"first")
    with pytest.raises(FileExistsError):
        local_files.create_if_absent(str(tmp_path / "v1"), b"second")
    assert (tmp_path / "v1").read_bytes() == b"first"
    assert _names(tmp_path) == ["v1"]


def test_create_if_absent_has_one_winner_among_threads(tmp_path: Path):
    target = str(tmp_path / "v1")

    def create(number: int) -> bool:
        try:
            local_files.create_if_absent(target, b"%d" % number * 1000)
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = [number for number, ok in enumerate(pool.map(create, range(10, 50)), 10) if ok]
    assert len(won) == 1
    assert Path(target).read_bytes() == b"%d" % won[0] * 1000
    assert _names(tmp_path) == ["v1"]


def test_create_if_absent_takes_the_name_where_the_file_system_has_no_links(tmp_path: Path):
    def no_links(source: str, target: str) -> None:
        raise OSError(95, "Operation not supported")

    local_files.create_if_absent(str(tmp_path / "v1"), b"one", no_links)
    assert (tmp_path / "v1").read_bytes() == b"one"
    with pytest.raises(FileExistsError):
        local_files.create_if_absent(str(tmp_path / "v1"), b"two", no_links)


def test_a_link_whose_answer_was_lost_counts_as_made(tmp_path: Path):
    def linked_but_failed(source: str, target: str) -> None:
        os.link(source, target)
        raise FileExistsError(target)

    local_files.create_if_absent(str(tmp_path / "v1"), b"one", linked_but_failed)
    assert (tmp_path / "v1").read_bytes() == b"one"


def test_a_writer_killed_before_the_link_leaves_no_file_of_that_name(tmp_path: Path):
    program = (
        "import os, signal\n"
        "from iceberg_spark.io import local_files\n"
        "die = lambda source, target: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"local_files.create_if_absent({str(tmp_path / 'v2.metadata.json')!r}, b'x' * 9, die)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode != 0
    assert [name for name in _names(tmp_path) if not name.endswith(".tmp")] == []


def test_a_writer_is_gone_when_its_block_fails(tmp_path: Path):
    def fail() -> None:
        with local_files.DurableWriter(str(tmp_path / "d" / "f")) as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert _names(tmp_path / "d") == []


def test_a_writer_does_not_overwrite(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        local_files.DurableWriter(str(tmp_path / "f"))
    assert (tmp_path / "f").read_bytes() == b"old"


def test_files_and_folders_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[str] = []
    fsync = os.fsync

    def note(handle: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    with local_files.DurableWriter(str(tmp_path / "d" / "f")) as file:
        file.write(b"1")
    local_files.create_if_absent(str(tmp_path / "d" / "g"), b"2")
    folder = str(tmp_path / "d")
    assert synced[:3] == [str(tmp_path), f"{folder}/f", folder]
    assert [str(Path(path).parent) for path in synced[3:]] == [folder, str(tmp_path)]


def test_replacing_a_file_drops_the_checksum_that_hadoop_keeps_beside_it(tmp_path: Path):
    (tmp_path / "version-hint.text").write_bytes(b"1")
    (tmp_path / ".version-hint.text.crc").write_bytes(b"crc")
    local_files.replace(str(tmp_path / "version-hint.text"), b"2")
    assert _names(tmp_path) == ["version-hint.text"]
    assert (tmp_path / "version-hint.text").read_bytes() == b"2"


def test_removing_a_file_removes_its_checksum_and_is_fine_when_it_is_gone(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"1")
    (tmp_path / ".f.crc").write_bytes(b"crc")
    local_files.remove(str(tmp_path / "f"))
    local_files.remove(str(tmp_path / "f"))
    assert _names(tmp_path) == []


@pytest.mark.parametrize("call", ["flush", "fsync", "sync_folder"])
def test_a_writer_that_fails_as_it_is_closed_leaves_nothing_and_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    where = tmp_path / "d" / "f"
    file = FsspecIO().create(str(where))
    file.write(b"half")
    with monkeypatch.context() as patch:
        match call:
            case "flush":
                patch.setattr(local_files.DurableWriter, "flush", full)
            case "fsync":
                patch.setattr(os, "fsync", full)
            case _:
                patch.setattr(local_files, "sync_folder", full)
        with pytest.raises(StorageError, match=f"Can't write {where}: .*No space left"):
            file.close()
    assert file.closed
    assert _names(tmp_path / "d") == []


def test_a_block_whose_file_can_not_be_flushed_either_raises_the_error_of_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def fail() -> None:
        with FsspecIO().create(str(tmp_path / "d" / "f")) as file:
            file.write(b"half")
            monkeypatch.setattr(local_files.DurableWriter, "flush", full)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert _names(tmp_path / "d") == []
