"""Commits to S3: whatever becomes of the answer to the conditional PUT, the outcome is true."""

import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.catalog import new_version
from iceberg_spark.errors import (
    CommitStateUnknownException,
    IcebergError,
    StoragePermissionError,
    UnsupportedError,
)
from iceberg_spark.io import fsspec_io
from iceberg_spark.io.allowed_places import server_of
from iceberg_spark.io.fsspec_io import FsspecIO
from tests.s3_server import Answer, Objects, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[Objects]:
    with s3_server() as objects:
        yield objects


@pytest.fixture(params=["", "pyiceberg.io.fsspec.FsspecFileIO"], ids=["obstore", "fsspec"])
def objects(
    server: Objects, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Objects:
    server.client = request.param
    proven = server_of("s3://bucket", server.properties)
    monkeypatch.setattr(fsspec_io, "_proven", {proven})
    monkeypatch.setattr(new_version, "_PAUSES_S", (0.0, 0.0, 0.0))
    server.stored.clear()
    server.answers.clear()
    server.puts.clear()
    server.meanwhile = lambda: None
    return server


def make(objects: Objects) -> ice.Table:
    where = f"s3://bucket/{uuid.uuid4().hex}"
    table = ice.create_table(where, "id bigint", **objects.properties)
    table.append(pa.table({"id": [1]}))
    objects.puts.clear()
    return table


def fresh(table: ice.Table, objects: Objects) -> ice.Table:
    return ice.load_table(table.location(), **objects.properties)


def rows(table: ice.Table, objects: Objects) -> list[int]:
    found = fresh(table, objects).scan().to_arrow()
    return sorted(found.column("id").to_pylist())


LANDS = [
    [Answer.LOST],
    [Answer.ERROR_AFTER],
    [Answer.ERROR_BEFORE],
    [Answer.DEAD],
    [Answer.CONFLICT, Answer.CONFLICT],
    [Answer.LOST, Answer.DENIED],
    [Answer.ERROR_BEFORE, Answer.ERROR_AFTER],
]


@pytest.mark.parametrize("answers", LANDS, ids=lambda each: "-".join(one.name for one in each))
def test_a_commit_whose_answer_goes_wrong_lands_once(objects: Objects, answers: list[Answer]):
    table = make(objects)
    objects.answers += answers
    table.append(pa.table({"id": [2]}))
    assert rows(table, objects) == [1, 2]
    assert len(fresh(table, objects).snapshots()) == 2
    assert len(objects.stored) == len(named(table, objects)), "nothing is left that is unused"


@pytest.mark.parametrize("answer", [Answer.LOST, Answer.ERROR_BEFORE])
def test_a_creation_whose_answer_goes_wrong_lands_once(objects: Objects, answer: Answer):
    objects.answers += [answer]
    table = ice.create_table(f"s3://bucket/{uuid.uuid4().hex}", "id bigint", **objects.properties)
    assert fresh(table, objects).metadata == table.metadata


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (Answer.NOT_IMPLEMENTED, UnsupportedError, r"io\.lock-path"),
        (Answer.DENIED, StoragePermissionError, "access denied"),
    ],
)
def test_a_refusal_is_not_sent_again_and_leaves_nothing(
    objects: Objects, answer: Answer, error: type[IcebergError], said: str
):
    table = make(objects)
    before = dict(objects.stored)
    objects.answers += [answer]
    with pytest.raises(error, match=said):
        table.append(pa.table({"id": [2]}))
    assert len(objects.puts) == 1
    assert objects.stored == before


@pytest.mark.parametrize("answer", [Answer.ERROR_BEFORE, Answer.DEAD, Answer.CONFLICT])
def test_a_commit_that_never_gets_through_is_unknown_and_removes_nothing(
    objects: Objects, answer: Answer
):
    table = make(objects)
    before = dict(objects.stored)
    objects.answers += [answer] * 50
    with pytest.raises(CommitStateUnknownException, match="may have landed"):
        table.append(pa.table({"id": [2]}))
    # once a try, which no driver repeats; but fsspec's aiohttp does, when the line goes dead
    assert len(objects.puts) == (8 if answer is Answer.DEAD and objects.client else 4)
    assert rows(table, objects) == [1]
    assert len(objects.stored) == len(before) + 3


@pytest.mark.parametrize("answer", [Answer.LOST])
def test_what_others_build_on_a_commit_whose_answer_was_lost_stays(
    objects: Objects, answer: Answer
):
    table = make(objects)

    def others_append() -> None:
        objects.meanwhile = lambda: None
        fresh(table, objects).append(pa.table({"id": [3]}))

    objects.answers += [answer]
    objects.meanwhile = others_append
    table.append(pa.table({"id": [2]}))
    assert rows(table, objects) == [1, 2, 3]


@pytest.mark.parametrize("answer", [Answer.ERROR_BEFORE])
def test_a_commit_that_lost_while_its_answer_went_wrong_is_made_anew(
    objects: Objects, answer: Answer
):
    table = make(objects)

    def others_append() -> None:
        objects.meanwhile = lambda: None
        fresh(table, objects).append(pa.table({"id": [3]}))

    objects.answers += [answer]
    objects.meanwhile = others_append
    table.append(pa.table({"id": [2]}))
    assert rows(table, objects) == [1, 2, 3]
    assert len(objects.stored) == len(named(table, objects))


def named(table: ice.Table, objects: Objects) -> set[str]:
    """Every file that the table is made of, its metadata files and the hint."""
    now = fresh(table, objects)
    found = {str(each.manifest_list) for each in now.snapshots()}
    found |= set(now.inspect.all_manifests().column("path").to_pylist())
    found |= set(now.inspect.all_files().column("file_path").to_pylist())
    log = {entry.metadata_file for entry in now.metadata.metadata_log}
    return found | log | {now.metadata_location, "version-hint.text"}


@pytest.mark.parametrize("kind", [r"\.parquet$", r"-m0\.avro$", r"/snap-.*\.avro$"])
def test_an_upload_that_is_refused_as_it_is_closed_is_an_error_that_names_the_file(
    objects: Objects, monkeypatch: pytest.MonkeyPatch, kind: str
):
    table = make(objects)
    stored = set(objects.stored)
    monkeypatch.setattr(objects, "pattern", kind)
    objects.answers += [Answer.DENIED] * 9
    with pytest.raises(StoragePermissionError, match=rf"Can't write s3://bucket/.*{kind[:-1]}"):
        table.append(pa.table({"id": [2]}))
    assert rows(table, objects) == [1]
    assert set(objects.stored) == stored


def test_folders_are_those_right_below_a_name(objects: Objects):
    io = FsspecIO(objects.properties)
    for name in ["w/a/t/f", "w/b/f", "w/top", "wa/f"]:
        io.create_if_absent(f"s3a://bucket/{name}", b"1")
    assert list(io.list_folders("s3a://bucket/w")) == ["s3a://bucket/w/a", "s3a://bucket/w/b"]
    assert list(io.list_folders("s3a://bucket/w/b")) == []
    assert list(io.list_folders("s3a://bucket/none")) == []
