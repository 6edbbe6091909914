"""File-system tables: which file is the newest, and who may write the next."""

import gzip
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.catalog import filesystem
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    CorruptFileError,
    IcebergError,
    InvalidInputError,
    NoSuchTableError,
    StorageError,
    TableAlreadyExistsError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.io import location
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.requirements import AssertCreate, requirements_for
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import LongType, NestedField
from iceberg_spark.spec.updates import SetLocation, SetProperties

SCHEMA = Schema(NestedField(1, "id", LongType()))
CATALOG = FileSystemCatalog("c")


def create(table: Path, **properties: str) -> LoadedTable:
    updates = new_table_updates(SCHEMA, location=str(table), properties=properties)
    return CATALOG.commit(str(table), [AssertCreate()], updates, None)


def change(base: LoadedTable, **properties: str) -> LoadedTable:
    updates = [SetProperties(properties)]
    requirements = requirements_for(base.metadata, updates)
    return CATALOG.commit(base.identifier, requirements, updates, base)


def versions(table: Path) -> list[str]:
    return sorted(p.name for p in (table / "metadata").iterdir() if p.name.startswith("v"))


def test_versions_count_from_one_and_the_hint_names_the_newest(tmp_path: Path):
    table = create(tmp_path)
    assert versions(tmp_path) == ["v1.metadata.json", "version-hint.text"]
    change(table, a="1")
    assert (tmp_path / "metadata" / "version-hint.text").read_text() == "2"
    assert versions(tmp_path) == ["v1.metadata.json", "v2.metadata.json", "version-hint.text"]


@pytest.mark.parametrize("hint", ["1", "5", "garbled", "", None])
def test_the_newest_version_is_found_with_any_hint(tmp_path: Path, hint: str | None):
    table = create(tmp_path)
    for number in range(3):
        table = change(table, n=str(number))
    file = tmp_path / "metadata" / "version-hint.text"
    file.unlink() if hint is None else file.write_text(hint)
    assert CATALOG.load(str(tmp_path)) == table


def test_more_than_a_hundred_versions_are_in_numerical_order(tmp_path: Path):
    table = create(tmp_path)
    for number in range(104):
        table = change(table, n=str(number))
    (tmp_path / "metadata" / "version-hint.text").unlink()
    loaded = CATALOG.load(str(tmp_path))
    assert loaded.metadata_location.endswith("/v105.metadata.json")
    assert len(loaded.metadata.metadata_log) == 100


@pytest.mark.parametrize("name", ["v1.gz.metadata.json", "v1.metadata.json.gz"])
def test_both_spellings_of_gzip_names_are_read(tmp_path: Path, name: str):
    create(tmp_path)
    plain = tmp_path / "metadata" / "v1.metadata.json"
    plain.with_name(name).write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    loaded = CATALOG.load(str(tmp_path))
    assert loaded.metadata_location.endswith(name)
    assert change(loaded, a="1").metadata_location.endswith("v2.metadata.json")


def test_gzip_is_known_by_its_bytes_not_by_its_name(tmp_path: Path):
    create(tmp_path)
    plain = tmp_path / "metadata" / "v1.metadata.json"
    plain.write_bytes(gzip.compress(plain.read_bytes()))
    assert CATALOG.load(str(tmp_path)).metadata.schema == SCHEMA


@pytest.mark.parametrize("name", ["v2.metadata.json", "v2.gz.metadata.json", "v2.metadata.json.gz"])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_commit_loses_against_the_next_version_in_any_spelling(
    tmp_path: Path, name: str, codec: str
):
    base = create(tmp_path, **{"write.metadata.compression-codec": codec})
    first = tmp_path / "metadata" / Path(base.metadata_location).name
    first.with_name(name).write_bytes(first.read_bytes())
    with pytest.raises(CommitFailedException):
        change(base, a="1")
    assert len(versions(tmp_path)) == 3


def test_all_writers_of_a_version_use_the_codec_of_the_one_before(tmp_path: Path):
    base = create(tmp_path)
    table = change(base, **{"write.metadata.compression-codec": "gzip"})
    assert table.metadata_location.endswith("/v2.metadata.json")
    assert change(table, a="1").metadata_location.endswith("/v3.gz.metadata.json")


def test_the_first_version_has_one_name_so_that_one_creation_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    gzipped = {"write.metadata.compression-codec": "gzip"}
    table = create(tmp_path, **gzipped)
    assert table.metadata_location.endswith("/v1.metadata.json")
    assert change(table, a="1").metadata_location.endswith("/v2.gz.metadata.json")
    monkeypatch.setattr(filesystem, "newest_version", lambda *_: None)  # it looked before
    monkeypatch.setattr(FileSystemCatalog, "_look_before", lambda *_: None)
    with pytest.raises(TableAlreadyExistsError):
        create(tmp_path)


@pytest.mark.parametrize("built_upon", [True, False])
def test_a_creation_that_meets_another_is_withdrawn_unless_a_third_has_built_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built_upon: bool
):
    creation = filesystem.create_version

    def creation_beside_others(io: Any, path: str, data: bytes) -> None:
        creation(io, path, data)
        monkeypatch.setattr(filesystem, "create_version", creation)
        if built_upon:
            change(CATALOG.load(str(tmp_path)), a="1")
        Path(path).with_name("v1.gz.metadata.json").write_bytes(gzip.compress(data))

    monkeypatch.setattr(filesystem, "create_version", creation_beside_others)
    if built_upon:
        made = create(tmp_path)
        assert Path(made.metadata_location).exists()
        assert CATALOG.load(str(tmp_path)).metadata.table_uuid == made.metadata.table_uuid
    else:
        with pytest.raises(TableAlreadyExistsError):
            create(tmp_path)
        assert not (tmp_path / "metadata" / "v1.metadata.json").exists()


def test_java_checksums_next_to_the_hint_are_removed(tmp_path: Path):
    table = create(tmp_path)
    stale = tmp_path / "metadata" / ".version-hint.text.crc"
    stale.write_bytes(b"crc")
    change(table, a="1")
    assert not stale.exists()


def test_a_folder_without_metadata_is_no_table(tmp_path: Path):
    with pytest.raises(NoSuchTableError, match="no metadata file"):
        CATALOG.load(str(tmp_path))
    (tmp_path / "metadata").mkdir()
    with pytest.raises(NoSuchTableError, match="no metadata file"):
        CATALOG.load(str(tmp_path))


def test_a_file_is_no_table(tmp_path: Path):
    (tmp_path / "f.parquet").write_bytes(b"PAR1")
    with pytest.raises(NoSuchTableError):
        CATALOG.load(str(tmp_path / "f.parquet"))


@pytest.mark.parametrize("keep", [0, 1, 40])
@pytest.mark.parametrize("packed", [False, True])
def test_truncated_metadata_is_an_error_naming_the_file(tmp_path: Path, keep: int, packed: bool):
    create(tmp_path)
    file = tmp_path / "metadata" / "v1.metadata.json"
    data = gzip.compress(file.read_bytes()) if packed else file.read_bytes()
    file.write_bytes(data[:keep])
    with pytest.raises(CorruptFileError, match=r"v1\.metadata\.json"):
        CATALOG.load(str(tmp_path))


def test_an_unknown_format_version_is_an_error_naming_the_file(tmp_path: Path):
    create(tmp_path)
    file = tmp_path / "metadata" / "v1.metadata.json"
    text = file.read_text()
    file.write_text(
        text.replace('"format-version":2', '"format-version":9').replace(
            '"format-version": 2', '"format-version": 9'
        )
    )
    with pytest.raises(UnsupportedError, match=r"v1\.metadata\.json.*9"):
        CATALOG.load(str(tmp_path))


def test_a_metadata_file_is_loaded_as_it_is_and_is_read_only(tmp_path: Path):
    first = create(tmp_path)
    change(first, a="1")
    static = CATALOG.load(first.metadata_location)
    assert static.metadata == first.metadata
    with pytest.raises(UnsupportedError, match="read-only"):
        CATALOG.commit(static.identifier, [], [SetProperties({"b": "2"})], static)
    with pytest.raises(NoSuchTableError, match="no such file"):
        CATALOG.load(str(tmp_path / "metadata" / "v9.metadata.json"))


def metastore_table(folder: Path) -> None:
    table = create(folder)
    metadata = folder / "metadata"
    old = Path(table.metadata_location).read_bytes()
    second = Path(change(table, n="2").metadata_location).read_bytes()
    for path in metadata.iterdir():
        path.unlink()
    (metadata / "00000-aaaa.metadata.json").write_bytes(old)
    (metadata / "00009-aaaa.metadata.json").write_bytes(old)
    (metadata / "00010-aaaa.metadata.json").write_bytes(second)


def test_the_folder_of_a_metastore_table_is_read_at_its_newest_file_and_not_changed(
    tmp_path: Path,
):
    metastore_table(tmp_path)
    loaded = CATALOG.load(str(tmp_path))
    assert loaded.metadata_location.endswith("00010-aaaa.metadata.json")
    assert loaded.metadata.properties == {"n": "2"}
    with pytest.raises(UnsupportedError, match="load it through that catalog"):
        change(loaded, a="1")
    with pytest.raises(TableAlreadyExistsError):
        create(tmp_path)
    assert len(list((tmp_path / "metadata").iterdir())) == 3


def test_a_name_needs_a_warehouse():
    with pytest.raises(InvalidInputError, match="warehouse"):
        CATALOG.load("db.t")


def test_names_are_folders_below_the_warehouse():
    catalog = FileSystemCatalog("c", {"warehouse": "s3://b/w/"})
    assert catalog.location_of("db.t") == "s3://b/w/db/t"


def test_a_relative_warehouse_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    catalog = FileSystemCatalog("c", {"warehouse": "demo/warehouse"})
    assert catalog.location_of("db.t") == f"{tmp_path}/demo/warehouse/db/t"


def test_a_file_system_table_is_not_moved(tmp_path: Path):
    base = create(tmp_path / "t")
    with pytest.raises(UnsupportedError, match="can't be set"):
        CATALOG.commit(base.identifier, [], [SetLocation(str(tmp_path / "u"))], base)
    assert CATALOG.load(base.identifier) == base


def test_a_purge_keeps_a_table_that_is_created_while_it_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The first version of the new table has the path of the first version of the former."""
    create(tmp_path / "t", owner="former")
    delete_many = FsspecIO.delete_many

    def delete_then_create(io: FsspecIO, paths: Iterable[str]) -> None:
        delete_many(io, paths)
        monkeypatch.setattr(FsspecIO, "delete_many", delete_many)
        create(tmp_path / "t", owner="new")

    monkeypatch.setattr(FsspecIO, "delete_many", delete_then_create)
    FileSystemCatalog("c").drop_table(str(tmp_path / "t"), purge=True)
    table = FileSystemCatalog("c").load(str(tmp_path / "t"))
    assert table.metadata.properties["owner"] == "new"


def test_a_commit_to_a_recreated_table_fails(tmp_path: Path):
    base = create(tmp_path)
    CATALOG.drop_table(str(tmp_path))
    again = create(tmp_path)
    assert again.metadata_location == base.metadata_location
    with pytest.raises(CommitFailedException):
        change(base, a="1")


class FailingIO(FsspecIO):
    """Storage whose creation reports a failure, after or before it wrote."""

    __slots__ = ("after", "blind")

    def create_if_absent(self, path: str, data: bytes) -> None:
        if self.after:
            super().create_if_absent(path, data)
            self.blind = self.after == "blind"
        raise StorageError("the answer was lost")

    def read_bytes(self, path: str) -> bytes:
        if self.blind:
            raise StorageError("no answer")
        return super().read_bytes(path)


def failing(after: str) -> FileSystemCatalog:
    catalog = FileSystemCatalog("c")
    io = FailingIO()
    io.after, io.blind = after, False
    catalog._io = io
    return catalog


def test_a_creation_whose_answer_was_lost_is_known_by_its_bytes(tmp_path: Path):
    base = create(tmp_path)
    committed = failing("wrote").commit(base.identifier, [], [SetProperties({"a": "1"})], base)
    assert CATALOG.load(str(tmp_path)) == committed


def test_a_creation_that_failed_on_a_local_disk_did_not_land(tmp_path: Path):
    base = create(tmp_path)
    with pytest.raises(StorageError, match="the answer was lost"):
        failing("").commit(base.identifier, [], [SetProperties({"a": "1"})], base)
    assert CATALOG.load(str(tmp_path)) == base


def test_a_creation_that_may_still_arrive_leaves_the_state_unknown():
    table = "memory://unknown-state/t"
    updates = new_table_updates(SCHEMA, location=table)
    with pytest.raises(CommitStateUnknownException, match="may have landed"):
        failing("").commit(table, [AssertCreate()], updates, None)


def test_a_creation_that_can_not_be_looked_at_leaves_the_state_unknown(tmp_path: Path):
    base = create(tmp_path)
    with pytest.raises(CommitStateUnknownException):
        failing("blind").commit(base.identifier, [], [SetProperties({"a": "1"})], base)


class SlowIO(FsspecIO):
    """Storage that lets others commit before, or after, it creates a file."""

    __slots__ = ("late", "others")

    def create_if_absent(self, path: str, data: bytes) -> None:
        if not self.late:
            super().create_if_absent(path, data)
        for number in range(4):
            change(CATALOG.load(location.parent(location.parent(path))), others=str(number))
        if self.late:
            super().create_if_absent(path, data)


@pytest.mark.parametrize("late", [True, False])
def test_a_creation_after_its_version_came_and_went_is_taken_back(tmp_path: Path, late: bool):
    short = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
    }
    base = change(create(tmp_path), **short)
    catalog = FileSystemCatalog("c")
    io = SlowIO()
    io.late = late
    catalog._io = io
    if late:
        with pytest.raises(CommitFailedException, match="came first"):
            catalog.commit(base.identifier, [], [SetProperties({"a": "1"})], base)
    else:
        catalog.commit(base.identifier, [], [SetProperties({"a": "1"})], base)
    now = CATALOG.load(str(tmp_path)).metadata.properties
    assert now["others"] == "3"
    assert ("a" in now) is not late


def test_a_table_recreated_at_the_same_version_is_another_table(tmp_path):
    where = str(tmp_path / "t")
    quick = {"commit.retry.num-retries": "0"}
    old = ice.create_table(where, "id bigint", properties=quick)
    shutil.rmtree(where)
    ice.create_table(where, "id bigint")
    with pytest.raises(IcebergError, match="uuid"):
        old.update_properties().set({"a": "b"}).commit()
    assert "a" not in ice.load_table(where).properties


def replaced_by_another(table: Path, name: str) -> None:
    """Put another commit's metadata under the newest version's name, as Java's rename can."""
    file = table / "metadata" / name
    other = json.loads(file.read_text())
    other["properties"] = {**other["properties"], "theirs": "1"}
    file.write_text(json.dumps(other))


def test_a_version_that_another_writer_replaced_is_not_taken_for_the_one_we_read(tmp_path: Path):
    base = change(create(tmp_path), ours="1")
    replaced_by_another(tmp_path, "v2.metadata.json")
    with pytest.raises(CommitFailedException, match="replaced by another writer"):
        change(base, a="1")
    assert versions(tmp_path) == ["v1.metadata.json", "v2.metadata.json", "version-hint.text"]


def test_a_commit_on_a_replaced_version_is_retried_and_loses_nothing(tmp_path: Path):
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(pa.table({"id": [1]}))
    newest = tmp_path / "t" / "metadata" / "v2.metadata.json"
    ours = newest.read_bytes()
    newest.unlink()
    ice.load_table(str(tmp_path / "t")).append(pa.table({"id": [2]}))
    assert newest.read_bytes() != ours
    table.append(pa.table({"id": [3]}))
    rows = ice.load_table(str(tmp_path / "t")).scan().to_arrow()
    assert sorted(rows.column("id").to_pylist()) == [2, 3]


def test_a_delete_planned_on_a_version_that_was_replaced_is_a_conflict(tmp_path: Path):
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(pa.table({"id": [1, 2]}))
    newest = tmp_path / "t" / "metadata" / "v2.metadata.json"
    newest.unlink()
    ice.load_table(str(tmp_path / "t")).append(pa.table({"id": [2, 3]}))
    transaction = table.transaction()
    transaction.delete("id = 2")
    with pytest.raises(ValidationException):
        transaction.commit_transaction()
    rows = ice.load_table(str(tmp_path / "t")).scan().to_arrow()
    assert sorted(rows.column("id").to_pylist()) == [2, 3]
