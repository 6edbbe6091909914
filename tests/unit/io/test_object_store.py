"""Objects of S3 through obstore: what other stores do not have, or do otherwise."""

import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import StorageError, StoragePermissionError, UnsupportedError
from iceberg_spark.io import fsspec_store, object_files
from iceberg_spark.io.fsspec_io import FsspecIO
from tests.s3_server import Objects, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[Objects]:
    with s3_server() as objects:
        yield objects


@pytest.fixture
def objects(server: Objects) -> Objects:
    server.stored.clear()
    server.requests.clear()
    return server


@pytest.fixture
def io(objects: Objects) -> FsspecIO:
    return FsspecIO(objects.properties)


@pytest.mark.parametrize("has_odd_ranges", [False, True])
def test_an_empty_object_is_read(
    io: FsspecIO, objects: Objects, monkeypatch: pytest.MonkeyPatch, has_odd_ranges: bool
):
    monkeypatch.setattr(objects, "has_odd_ranges", has_odd_ranges)
    objects.stored["bucket/empty"] = b""
    with io.open("s3://bucket/empty") as file:
        assert file.read() == b""
    files, at = io.arrow("s3://bucket/empty")
    assert files.open_input_file(at).size() == 0


def test_an_object_that_is_replaced_while_it_is_read_is_an_error(io: FsspecIO, objects: Objects):
    objects.stored["bucket/k"] = b"1" * 1_000_000
    with io.open("s3://bucket/k") as file:
        objects.stored["bucket/k"] = b"2" * 1_000_000
        with pytest.raises(StorageError, match="were replaced while they were read"):
            file.read(10)


@pytest.mark.parametrize("where", ["s3://bucket", "s3://bucket/"])
def test_a_bucket_is_no_file(io: FsspecIO, objects: Objects, where: str):
    for work in (io.delete, io.read_bytes, io.create, lambda at: io.replace(at, b"1")):
        with pytest.raises(StorageError, match="a bucket is not a file"):
            work(where)
    assert not io.exists(where)
    assert objects.requests == []


def test_a_bucket_that_is_missing_holds_nothing(io: FsspecIO, objects: Objects):
    assert list(io.list("s3://missing/a")) == []
    assert list(io.list_folders("s3://missing/a")) == []
    assert io.find(["s3://missing/a/b", "s3://missing/a/c"]) == {}
    assert len(objects.requests) == 3


def test_a_listing_that_is_denied_is_not_tried_again(io: FsspecIO, objects: Objects):
    for work in (
        lambda: list(io.list("s3://closed/a")),
        lambda: list(io.list_folders("s3://closed/a")),
        lambda: io.find(["s3://closed/a/b", "s3://closed/a/c"]),
    ):
        with pytest.raises(StoragePermissionError):
            work()
    assert len(objects.requests) == 3


ODD = ["a/b//c", "a/b/../c", "a/./d", "a//e"]


def test_names_that_obstore_refuses_are_listed_and_deleted_as_they_are(
    io: FsspecIO, objects: Objects
):
    objects.stored.update({f"bucket/{name}": b"" for name in ("a/b/c", "a/c", "a/e", *ODD)})
    found = [one.path for one in io.list("s3://bucket/a")]
    assert sorted(found) == sorted(f"s3://bucket/{name}" for name in ("a/b/c", "a/c", "a/e", *ODD))
    assert list(io.list_folders("s3://bucket/a")) == ["s3://bucket/a/b"]
    io.delete_many(f"s3://bucket/{name}" for name in ODD)
    assert sorted(objects.stored) == ["bucket/a/b/c", "bucket/a/c", "bucket/a/e"]


def test_without_fsspecs_driver_a_name_that_obstore_refuses_is_said(
    io: FsspecIO, objects: Objects, monkeypatch: pytest.MonkeyPatch
):
    def missing(_: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec_store.fsspec, "get_filesystem_class", missing)
    objects.stored["bucket/a/b//c"] = b""
    with pytest.raises(UnsupportedError, match=r"a/b//c.*Install s3fs.*remove that object"):
        list(io.list("s3://bucket/a"))
    assert len(objects.requests) == 1


def test_a_table_with_odd_names_in_its_folders_is_loaded_and_cleaned(objects: Objects):
    """Strays go, and no file of the table that another spelling of theirs would be."""
    table = ice.create_table("s3://bucket/t", "id bigint", **objects.properties)
    table.append(pa.table({"id": [1]}))
    live = set(objects.stored)
    file = next(name for name in live if name.endswith(".parquet")).rpartition("/")[2]
    odd = {f"bucket/t/data//{file}", "bucket/t/metadata//v3.metadata.json", "bucket/t/data//stray"}
    objects.stored.update(dict.fromkeys(odd, b"x"))
    found = ice.load_table("s3://bucket/t", **objects.properties)
    assert found.scan().to_arrow()["id"].to_pylist() == [1]
    found.append(pa.table({"id": [2]}))
    done = found.maintenance.remove_orphan_files(allow_recent=True, older_than=int(4e12))
    assert "s3://bucket/t/data//stray" in done.orphan_file_locations
    assert live <= set(objects.stored) and "bucket/t/data//stray" not in objects.stored
    assert found.refresh().scan().to_arrow().num_rows == 2


def test_files_that_are_open_are_refused_in_a_forked_child(
    io: FsspecIO, objects: Objects, monkeypatch: pytest.MonkeyPatch
):
    objects.stored["bucket/k"] = b"1" * 1_000_000
    read, written = io.open("s3://bucket/k"), io.create("s3://bucket/new")
    objects.requests.clear()
    with monkeypatch.context() as child:
        child.setattr(object_files, "_first", [os.getpid() + 1])
        for work in (lambda: read.read(10), lambda: written.write(b"1"), written.close):
            with pytest.raises(UnsupportedError, match="spawn"):
                work()
        with pytest.raises(UnsupportedError, match="spawn"), written:
            raise UnsupportedError("spawn")
        assert objects.requests == []
    written.write(b"1")
    written.close()
    assert objects.stored["bucket/new"] == b"1"


def test_numbers_are_written_as_their_bytes(io: FsspecIO, objects: Objects):
    with io.create("s3://bucket/numbers") as file:
        assert file.write(np.arange(3, dtype="<i4")) == 12
        assert file.tell() == 12
    assert objects.stored["bucket/numbers"] == b"\0\0\0\0\1\0\0\0\2\0\0\0"


def test_a_panic_of_the_client_is_an_error_of_the_store(objects: Objects):
    io = FsspecIO({**objects.properties, "s3.endpoint": "http://a b"})
    with pytest.raises(StorageError, match="PanicException"):
        io.read_bytes("s3://bucket/k")
