"""How many requests a file-system table on S3 takes, and that few of them see all that counts."""

import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.catalog import filesystem
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.catalog.metadata_file import Codec, encode_metadata
from iceberg_spark.errors import CommitFailedException
from iceberg_spark.io import fsspec_io, object_store
from iceberg_spark.io.allowed_places import server_of
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.reader import MANIFEST_CACHE
from iceberg_spark.spec.updates import SetProperties
from tests.s3_server import Objects, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[Objects]:
    with s3_server() as objects:
        yield objects


@pytest.fixture
def table(server: Objects, monkeypatch: pytest.MonkeyPatch) -> ice.Table:
    """A table of three files, three manifests and four versions."""
    proven = server_of("s3://bucket", server.properties)
    monkeypatch.setattr(fsspec_io, "_proven", {proven})
    made = ice.create_table(f"s3://bucket/{uuid.uuid4().hex}", "id bigint", **server.properties)
    for number in range(3):
        made.append(pa.table({"id": [number]}))
    server.requests.clear()
    return made


def folder(table: ice.Table) -> str:
    return table.location().removeprefix("s3://") + "/metadata"


def test_a_load_takes_three_requests(server: Objects, table: ice.Table):
    ice.load_table(table.location(), **server.properties)
    assert server.requests == [
        f"GET {folder(table)}/version-hint.text",
        "GET bucket",  # the listing: the hinted version and the next, in all their spellings
        f"GET {folder(table)}/v4.metadata.json",
    ]


def test_a_load_of_a_table_that_did_not_change_takes_one_request(server: Objects, table: ice.Table):
    catalog = FileSystemCatalog("c", server.properties)
    first = catalog.load(table.location())
    server.requests.clear()
    assert catalog.load(table.location()) is first
    assert server.requests == ["GET bucket"]


def test_an_append_takes_nine_requests(server: Objects, table: ice.Table):
    table.append(pa.table({"id": [3]}))
    assert len(server.requests) <= 9


def test_a_load_and_a_scan_of_three_files_take_ten_requests(server: Objects, table: ice.Table):
    MANIFEST_CACHE.clear()
    rows = ice.load_table(table.location(), **server.properties).scan().to_arrow()
    assert sorted(rows.column("id").to_pylist()) == [0, 1, 2]
    assert len(server.requests) <= 10


def test_an_old_version_whose_deletion_failed_is_not_committed_to(
    server: Objects, table: ice.Table
):
    table.update_properties().set({"write.metadata.delete-after-commit.enabled": "true"}).commit()
    catalog = FileSystemCatalog("c", server.properties)
    base = catalog.load(table.location())
    for number in range(2):
        table.update_properties().set({"n": str(number)}).commit()
    del server.stored[f"{folder(table)}/v6.metadata.json"]  # as deleted after a later commit
    assert f"{folder(table)}/v5.metadata.json" in server.stored
    with pytest.raises(CommitFailedException):
        catalog.commit(table.location(), [], [SetProperties({"a": "1"})], base)
    assert catalog.load(table.location()).metadata.properties["n"] == "1"


@pytest.mark.parametrize("hint", ["as it is", "gone", "behind"])
def test_an_old_version_is_not_committed_to_where_later_ones_were_deleted(
    server: Objects, table: ice.Table, hint: str
):
    """The handle is from before versions were deleted, and the deletion of its own failed."""
    catalog = FileSystemCatalog("c", server.properties)
    base = catalog.load(table.location())
    old = f"{folder(table)}/v4.metadata.json"
    kept = server.stored[old]
    deleting = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
    }
    table.update_properties().set(deleting).commit()
    for number in range(2):
        table.append(pa.table({"id": [number]}))
    assert f"{folder(table)}/v5.metadata.json" not in server.stored
    server.stored[old] = kept
    if hint == "gone":
        del server.stored[f"{folder(table)}/version-hint.text"]
    elif hint == "behind":
        server.stored[f"{folder(table)}/version-hint.text"] = b"6"
    with pytest.raises(CommitFailedException, match="came first"):
        catalog.commit(table.location(), [], [SetProperties({"a": "1"})], base)
    assert len(catalog.load(table.location()).metadata.snapshots) == 5


def test_a_commit_that_others_overtook_is_withdrawn_though_its_base_is_still_there(
    server: Objects, table: ice.Table, monkeypatch: pytest.MonkeyPatch
):
    """It waits before its version is created; others delete theirs, and fail to delete the base."""
    deleting = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
    }
    table.update_properties().set(deleting).commit()
    catalog = FileSystemCatalog("c", server.properties)
    base = catalog.load(table.location())
    kept = server.stored[f"{folder(table)}/v5.metadata.json"]
    create = filesystem.create_version

    def late(io: FileIO, path: str, data: bytes) -> None:
        monkeypatch.setattr(filesystem, "create_version", create)
        for number in range(3):
            table.append(pa.table({"id": [number]}))
        server.stored[f"{folder(table)}/v5.metadata.json"] = kept
        create(io, path, data)

    monkeypatch.setattr(filesystem, "create_version", late)
    with pytest.raises(CommitFailedException, match="came first"):
        catalog.commit(table.location(), [], [SetProperties({"a": "1"})], base)
    assert len(catalog.load(table.location()).metadata.snapshots) == 6


def test_a_directory_bucket_is_not_listed_for_names_in_order(
    server: Objects, table: ice.Table, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(object_store, "_UNORDERED", "bucket")
    ice.load_table(table.location(), **server.properties)
    assert "GET bucket" not in server.requests


def test_a_next_version_in_another_spelling_is_seen(server: Objects, table: ice.Table):
    catalog = FileSystemCatalog("c", server.properties)
    base = catalog.load(table.location())
    data = encode_metadata(base.metadata, Codec.GZIP)
    for spelling in ("v5.gz.metadata.json", "v5.metadata.json.gz"):
        server.stored[f"{folder(table)}/{spelling}"] = data
        assert catalog.load(table.location()).metadata_location.endswith(spelling)
        with pytest.raises(CommitFailedException, match="first"):
            catalog.commit(table.location(), [], [SetProperties({"a": "1"})], base)
        del server.stored[f"{folder(table)}/{spelling}"]
    assert catalog.commit(table.location(), [], [SetProperties({"a": "1"})], base)


def test_a_base_that_was_replaced_at_its_name_is_no_base(server: Objects, table: ice.Table):
    catalog = FileSystemCatalog("c", server.properties)
    base = catalog.load(table.location())
    key = f"{folder(table)}/v4.metadata.json"
    server.stored[key] = server.stored[f"{folder(table)}/v3.metadata.json"]
    with pytest.raises(CommitFailedException, match="replaced by another writer"):
        catalog.commit(table.location(), [], [SetProperties({"a": "1"})], base)
    assert len(catalog.load(table.location()).metadata.snapshots) == 2


def test_versions_behind_a_thousand_others_are_found(server: Objects, table: ice.Table):
    at = folder(table)
    for number in range(5, 10):
        server.stored[f"{at}/v{number}.metadata.json"] = server.stored[f"{at}/v4.metadata.json"]
    others = {f"{at}/v3-{number}": b"" for number in range(1_000)}
    server.stored.update(others)  # v10 comes before them, and v9 after
    server.stored[f"{at}/version-hint.text"] = b"9"
    loaded = ice.load_table(table.location(), **server.properties)
    assert loaded.metadata_location.endswith("/v9.metadata.json")
    loaded.append(pa.table({"id": [3]}))
    assert f"{at}/v10.metadata.json" in server.stored
    for key in others:
        del server.stored[key]


def test_versions_that_are_deleted_after_commits_are_not_taken_for_the_newest(
    server: Objects, table: ice.Table
):
    catalog = FileSystemCatalog("c", server.properties)
    first = catalog.load(table.location())
    deletes = {"write.metadata.delete-after-commit.enabled": "true"}
    kept = catalog.commit(table.location(), [], [SetProperties(deletes)], first)
    server.stored[f"{folder(table)}/v7.metadata.json"] = server.stored[
        f"{folder(table)}/v5.metadata.json"
    ]
    server.stored[f"{folder(table)}/version-hint.text"] = b"7"
    assert kept.metadata_location.endswith("v5.metadata.json")
    assert catalog.load(table.location()).metadata_location.endswith("v7.metadata.json")
