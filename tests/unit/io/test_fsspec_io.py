"""Storage by location: local and memory behave alike."""

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.errors import (
    FileAlreadyExistsError,
    InvalidOptionError,
    NoSuchFileError,
    StoragePermissionError,
    UnsupportedError,
)
from iceberg_spark.io import foreign_errors, object_clients
from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.io.fsspec_store import SharedMemoryFiles

IO = FsspecIO()


@pytest.fixture(params=["{}", "file:{}", "file://{}", "memory:/{}"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.param).format(tmp_path)


def test_what_is_created_can_be_read(base: str):
    with IO.create(f"{base}/a/f") as file:
        file.write(b"hey")
    assert IO.read_bytes(f"{base}/a/f") == b"hey"
    assert IO.size(f"{base}/a/f") == 3
    assert IO.exists(f"{base}/a/f")


def test_open_gives_a_seekable_file(base: str):
    IO.create_if_absent(f"{base}/f", b"0123456789")
    with IO.open(f"{base}/f") as file:
        file.seek(4)
        assert file.read(2) == b"45"


def test_each_reader_has_its_own_position(base: str):
    IO.create_if_absent(f"{base}/f", b"0123456789")
    with IO.open(f"{base}/f") as one, IO.open(f"{base}/f") as other:
        one.read(5)
        assert other.read(2) == b"01"


def test_create_if_absent_loses_against_a_file(base: str):
    IO.create_if_absent(f"{base}/f", b"1")
    with pytest.raises(FileAlreadyExistsError, match="f: it exists already"):
        IO.create_if_absent(f"{base}/f", b"2")
    assert IO.read_bytes(f"{base}/f") == b"1"


def test_replace_overwrites(base: str):
    IO.replace(f"{base}/hint", b"1")
    IO.replace(f"{base}/hint", b"2")
    assert IO.read_bytes(f"{base}/hint") == b"2"


def test_a_failed_block_leaves_no_file(base: str):
    def fail() -> None:
        with IO.create(f"{base}/f") as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not IO.exists(f"{base}/f")


def test_a_missing_file_is_named(base: str):
    with pytest.raises(NoSuchFileError, match=f"Can't read {base}/x: no such file"):
        IO.read_bytes(f"{base}/x")


def test_a_path_below_a_file_is_missing(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"1")
    with pytest.raises(NoSuchFileError):
        IO.read_bytes(f"{tmp_path}/f/metadata/v1.metadata.json")
    assert list(IO.list(f"{tmp_path}/f/metadata")) == []


def test_delete_is_fine_when_the_file_is_gone(base: str):
    IO.create_if_absent(f"{base}/f", b"1")
    IO.delete_many([f"{base}/f", f"{base}/f", f"{base}/nope"])
    assert not IO.exists(f"{base}/f")


def test_list_is_recursive_and_spells_paths_as_the_prefix_is(base: str):
    IO.create_if_absent(f"{base}/t/a", b"1")
    IO.create_if_absent(f"{base}/t/d/b", b"22")
    found = sorted(IO.list(f"{base}/t"), key=lambda info: info.path)
    assert [(info.path, info.size) for info in found] == [(f"{base}/t/a", 1), (f"{base}/t/d/b", 2)]
    assert all(
        isinstance(info, FileInfo) and info.modified_ms > 1_600_000_000_000 for info in found
    )


def test_list_of_a_missing_folder_is_empty(base: str):
    assert list(IO.list(f"{base}/nothing")) == []


def test_folders_are_those_right_below_and_spelt_as_the_prefix_is(base: str):
    for name in ["t/a/f", "t/b/c/d/f", "t/top", "ta/f"]:
        IO.create_if_absent(f"{base}/{name}", b"1")
    assert list(IO.list_folders(f"{base}/t")) == [f"{base}/t/a", f"{base}/t/b"]
    assert list(IO.list_folders(f"{base}/t/")) == [f"{base}/t/a", f"{base}/t/b"]


def test_there_are_no_folders_below_a_file_or_a_missing_folder(base: str):
    IO.create_if_absent(f"{base}/t/f", b"1")
    assert list(IO.list_folders(f"{base}/t")) == []
    assert list(IO.list_folders(f"{base}/t/f")) == []
    assert list(IO.list_folders(f"{base}/none")) == []


def test_arrow_reads_what_was_written_through_a_parquet_writer(base: str):
    table = pa.table({"a": [1, 2, 3]})
    with IO.create(f"{base}/f.parquet") as file, pq.ParquetWriter(file, table.schema) as writer:
        writer.write_table(table)
    files, path = IO.arrow(f"{base}/f.parquet")
    assert pq.read_table(path, filesystem=files) == table


def test_workers_get_the_same_storage_by_pickle():
    again = pickle.loads(pickle.dumps(FsspecIO({"s3.endpoint": "http://x"})))
    assert dict(again.properties) == {"s3.endpoint": "http://x"}


def test_repr_shows_no_values():
    assert "hush" not in repr(FsspecIO({"s3.secret-access-key": "hush"}))


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(object_clients, "find_spec", lambda _: None)
    monkeypatch.setattr(foreign_errors, "find_spec", lambda _: None)
    with pytest.raises(UnsupportedError, match=r"pip install 'iceberg-spark\[gcs\]'"):
        IO.read_bytes("gs://bucket/key")


def test_the_driver_of_what_obstore_can_not_do_is_named():
    with pytest.raises(UnsupportedError, match="pip install gcsfs"):
        IO.read_bytes("gs://bucket/a//key")


def test_an_unknown_scheme_is_named():
    with pytest.raises(UnsupportedError, match="nosuch"):
        IO.read_bytes("nosuch://a/b")


def test_a_timeout_that_is_no_number_is_named():
    with pytest.raises(InvalidOptionError, match=r"io\.timeout-s"):
        FsspecIO({"io.timeout-s": "soon"})


def test_denied_access_is_an_error_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def denied(*_args: object, **_named: object) -> object:
        raise PermissionError(13, "Permission denied")

    IO.replace("memory://a/b", b"1")
    monkeypatch.setattr(SharedMemoryFiles, "cat_file", denied)
    with pytest.raises(StoragePermissionError, match="access denied"):
        IO.read_bytes("memory://a/b")
