"""What every catalog promises: one suite, each catalog."""

import pickle
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iceberg_spark.catalog.aws.catalogs import dynamodb_catalog, glue_catalog
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.catalog.hive.hive_catalog import hive_catalog
from iceberg_spark.catalog.memory import memory_catalog
from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.catalog.rest.rest_catalog import RestCatalog, rest_catalog
from iceberg_spark.catalog.sql_catalog import sql_catalog
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.manage_snapshots import CreateRef, ManageSnapshots
from iceberg_spark.commits.metadata_changes import UpdateProperties
from iceberg_spark.errors import (
    CommitFailedException,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.requirements import AssertCreate, AssertTableUuid, requirements_for
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import SnapshotRefType
from iceberg_spark.spec.types import LongType, NestedField
from iceberg_spark.spec.updates import AddSchema, SetCurrentSchema, SetProperties, TableUpdate
from tests.builders import data_file

SCHEMA = Schema(NestedField(1, "id", LongType()))


REST = pytest.param("rest", marks=pytest.mark.xdist_group("rest"))
HIVE = pytest.param("hive", marks=pytest.mark.xdist_group("hive"))
AMAZONS = [
    pytest.param(kind, marks=pytest.mark.xdist_group("amazon")) for kind in ("glue", "dynamodb")
]
STORES = ["local", "file-uri", "memory-store"]
POINTERS = ["memory-catalog", "sqlite", "postgres", HIVE, *AMAZONS]
KINDS = [*STORES, REST, *POINTERS]


@pytest.fixture(params=KINDS)
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    unique = uuid.uuid4().hex
    match request.param:
        case "local":
            yield FileSystemCatalog("c", {"warehouse": str(tmp_path)})
        case "file-uri":
            yield FileSystemCatalog("c", {"warehouse": f"file:{tmp_path}"})
        case "memory-store":
            yield FileSystemCatalog("c", {"warehouse": f"memory://{unique}"})
        case "sqlite":
            yield in_database("c", f"sqlite:///{tmp_path}/c.db", tmp_path)
        case "postgres":
            uri = request.getfixturevalue("postgres").uri
            yield in_database(unique, uri, tmp_path)
        case "rest":
            yield on_server(request.getfixturevalue("rest").uri)
        case "hive":
            properties = request.getfixturevalue("hive").properties(tmp_path)
            yield from with_database(hive_catalog("c", properties))
        case "glue" | "dynamodb":
            properties = request.getfixturevalue("amazon").properties(request.param, tmp_path)
            made = {"glue": glue_catalog, "dynamodb": dynamodb_catalog}[request.param]
            yield from with_database(made("c", properties))
        case _:
            yield memory_catalog(unique, {"warehouse": f"file://{tmp_path}"})


def with_database(made: Catalog) -> Iterator[Catalog]:
    """Its database `db` is this test's alone: such a service is one catalog for all."""
    made.namespaces.create(("db",), {})
    yield made
    for _, name in made.namespaces.list_tables(("db",)):
        made.drop_table(f"db.{name}")
    made.namespaces.drop(("db",))


def in_database(name: str, uri: str, warehouse: Path) -> Catalog:
    made = sql_catalog(name, {"uri": uri, "warehouse": str(warehouse)})
    made.namespaces.create(("db",), {})
    return made


def on_server(uri: str) -> Catalog:
    made = rest_catalog("c", {"uri": uri})
    if not made.namespaces.exists(("db",)):
        made.namespaces.create(("db",), {})
    for table in made.namespaces.list_tables(("db",)):
        made.drop_table(".".join(table), purge=True)
    return made


def create(catalog: Catalog, name: str = "db.t", **properties: str) -> LoadedTable:
    def creation(location: str) -> tuple[TableUpdate, ...]:
        return new_table_updates(SCHEMA, location=location, properties=properties)

    location = catalog.stage(name, creation).location
    return catalog.commit(name, [AssertCreate()], creation(location), None)


def change(catalog: Catalog, base: LoadedTable, **properties: str) -> LoadedTable:
    updates: list[TableUpdate] = [SetProperties(properties)]
    return catalog.commit("db.t", requirements_for(base.metadata, updates), updates, base)


def add_column(catalog: Catalog, base: LoadedTable, name: str) -> LoadedTable:
    fields = base.metadata.schema.fields
    wider = Schema(*fields, NestedField(2, name, LongType()), schema_id=1)
    updates: list[TableUpdate] = [AddSchema(wider), SetCurrentSchema()]
    return catalog.commit("db.t", requirements_for(base.metadata, updates), updates, base)


def test_a_created_table_can_be_loaded(catalog: Catalog):
    assert not catalog.table_exists("db.t")
    created = create(catalog, owner="me")
    assert catalog.table_exists("db.t")
    loaded = catalog.load("db.t")
    assert loaded == created
    assert loaded.metadata.properties == {"owner": "me"}
    assert loaded.metadata.schema.find_field("id").field_id == 1


def test_a_missing_table_is_an_error(catalog: Catalog):
    with pytest.raises(NoSuchTableError):
        catalog.load("db.t")
    with pytest.raises(NoSuchTableError):
        catalog.drop_table("db.t")


def test_a_table_is_created_once(catalog: Catalog):
    first = create(catalog)
    with pytest.raises(TableAlreadyExistsError):
        create(catalog)
    assert catalog.load("db.t") == first


def test_a_commit_gives_the_next_metadata_and_a_new_file(catalog: Catalog):
    base = create(catalog)
    committed = change(catalog, base, a="1")
    assert committed.metadata.properties == {"a": "1"}
    assert committed.metadata_location != base.metadata_location
    assert catalog.load("db.t") == committed
    io = catalog.io(committed.metadata.location)
    assert read_metadata(io, committed.metadata_location) == committed.metadata


def test_a_commit_on_a_stale_base_fails_and_changes_nothing(catalog: Catalog):
    base = create(catalog)
    newest = change(catalog, base, a="1")
    if not isinstance(catalog, RestCatalog):  # a server applies what still holds to the newest
        with pytest.raises(CommitFailedException):
            change(catalog, base, b="2")
        assert catalog.load("db.t") == newest
    newest = add_column(catalog, newest, "n")
    with pytest.raises(CommitFailedException):
        add_column(catalog, base, "m")
    assert catalog.load("db.t") == newest


def test_a_requirement_that_does_not_hold_fails_the_commit(catalog: Catalog):
    base = create(catalog)
    wrong = [AssertTableUuid(str(uuid.uuid4()))]
    with pytest.raises(CommitFailedException, match=r"assert-table-uuid|UUID does not match"):
        catalog.commit("db.t", wrong, [SetProperties({"a": "1"})], base)
    assert catalog.load("db.t") == base


def test_the_log_of_metadata_files_names_the_former_ones(catalog: Catalog):
    first = create(catalog)
    second = change(catalog, first, a="1")
    third = change(catalog, second, a="2")
    logged = [entry.metadata_file for entry in third.metadata.metadata_log]
    assert logged == [first.metadata_location, second.metadata_location]
    assert third.metadata.metadata_log[0].timestamp_ms == first.metadata.last_updated_ms


def test_the_log_keeps_as_many_entries_as_the_table_asks_for(catalog: Catalog):
    table = create(catalog, **{"write.metadata.previous-versions-max": "2"})
    files = [table.metadata_location]
    for number in range(5):
        table = change(catalog, table, n=str(number))
        files.append(table.metadata_location)
    assert [entry.metadata_file for entry in table.metadata.metadata_log] == files[3:5]
    io = catalog.io(table.metadata.location)
    assert all(io.exists(path) for path in files)


def test_files_that_leave_the_log_are_deleted_where_the_table_asks_for_that(catalog: Catalog):
    table = create(
        catalog,
        **{
            "write.metadata.previous-versions-max": "2",
            "write.metadata.delete-after-commit.enabled": "true",
        },
    )
    files = [table.metadata_location]
    for number in range(5):
        table = change(catalog, table, n=str(number))
        files.append(table.metadata_location)
    io = catalog.io(table.metadata.location)
    assert [io.exists(path) for path in files] == [False, False, False, True, True, True]
    assert catalog.load("db.t") == table


def test_gzip_metadata_is_written_and_read_where_the_table_asks_for_it(catalog: Catalog):
    table = create(catalog, **{"write.metadata.compression-codec": "gzip"})
    table = change(catalog, table, a="1")
    assert table.metadata_location.endswith(".gz.metadata.json")
    io = catalog.io(table.metadata.location)
    assert io.read_bytes(table.metadata_location)[:2] == b"\x1f\x8b"
    assert catalog.load("db.t") == table


def test_a_catalog_is_rebuilt_in_a_worker_by_pickle(catalog: Catalog):
    created = create(catalog)
    again = pickle.loads(pickle.dumps(catalog))
    assert again.name == catalog.name
    assert dict(again.properties) == dict(catalog.properties)
    assert again.load("db.t") == created


def test_a_dropped_table_is_gone_and_can_be_created_again(catalog: Catalog):
    create(catalog, owner="first")
    catalog.drop_table("db.t")
    assert not catalog.table_exists("db.t")
    assert create(catalog, owner="second").metadata.properties == {"owner": "second"}


def test_a_purged_table_leaves_no_file(catalog: Catalog):
    table = create(catalog)
    io = catalog.io(table.metadata.location)
    io.create_if_absent(f"{table.metadata.location}/data/f.parquet", b"1")
    catalog.drop_table("db.t", purge=True)
    if isinstance(catalog, RestCatalog):  # the server deletes what it finds in the metadata
        assert not io.exists(table.metadata_location)
        return
    assert list(io.list(table.metadata.location)) == []


@pytest.mark.parametrize("catalog", POINTERS, indirect=True)
def test_a_pointer_is_removed_only_at_the_version_that_was_read(catalog: PointerCatalog):
    table = create(catalog)
    newest = change(catalog, table, owner="me")
    with pytest.raises(CommitFailedException, match="nothing was dropped"):
        catalog.remove(table)
    assert catalog.load("db.t").metadata_location == newest.metadata_location
    catalog.remove(newest)
    assert not catalog.table_exists("db.t")
    assert catalog.io("db.t").exists(newest.metadata_location)


@pytest.mark.parametrize("catalog", POINTERS, indirect=True)
def test_a_pointer_of_another_table_of_the_name_is_not_removed(catalog: PointerCatalog):
    table = create(catalog)
    assert catalog.namespaces is not None
    catalog.namespaces.rename_table("db.t", "db.renamed")
    with pytest.raises(CommitFailedException, match="nothing was dropped"):
        catalog.remove(table)
    create(catalog)
    with pytest.raises(CommitFailedException, match="nothing was dropped"):
        catalog.remove(table)
    assert catalog.load("db.renamed").metadata == table.metadata


def test_every_one_of_many_concurrent_commits_lands_once_or_fails(catalog: Catalog):
    create(catalog)

    def commit(number: int) -> None:
        while True:
            try:
                change(catalog, catalog.load("db.t"), **{f"k{number}": "1"})
            except CommitFailedException:
                continue
            return

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(commit, range(24)))
    newest = catalog.load("db.t").metadata
    assert newest.properties == {f"k{number}": "1" for number in range(24)}
    assert len(newest.metadata_log) == 24


def test_commits_to_two_branches_take_row_ids_one_after_the_other(catalog: Catalog):
    """What a server checks of a commit to another branch is that its row ids are free."""
    table = create(catalog)
    where = table.metadata.location
    one, two, three = (data_file(f"{where}/data/{name}.parquet") for name in "abc")
    audit = ManageSnapshots((CreateRef(SnapshotRefType.BRANCH, "audit", None),))
    upgrade = UpdateProperties({"format-version": "3"})
    table = commit(catalog, "db.t", [AppendFiles([one]), audit, upgrade], table)
    assert (table.metadata.format_version, table.metadata.next_row_id) == (3, 0)
    first = commit(catalog, "db.t", AppendFiles([two], branch="audit"), table)
    second = commit(catalog, "db.t", AppendFiles([three]), table)
    assert catalog.load("db.t").metadata == second.metadata
    numbered = {first.metadata.refs["audit"].snapshot_id: (0, 20)}
    numbered[second.metadata.refs["main"].snapshot_id] = (20, 20)
    found = second.metadata.snapshots
    assert {key: (found[key].first_row_id, found[key].added_rows) for key in numbered} == numbered
    assert second.metadata.next_row_id == 40
