"""A table's metadata sends no new file to another bucket or host, unless the user allows it."""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.from_arrow import from_arrow
from iceberg_spark.catalog.metadata_file import Codec, compress_text
from iceberg_spark.catalog.pointer_views import PointerViews
from iceberg_spark.catalog.table_io import check_write_places, table_io
from iceberg_spark.catalog.trust import Trust
from iceberg_spark.catalog.view_file import StoredView, read_view
from iceberg_spark.engines.write_rows import write_rows
from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.io.allowed_places import allowed_places, place_of
from iceberg_spark.io.storage import open_storage
from iceberg_spark.save.commit_save import commit_save
from iceberg_spark.save.plan_save import TablePlace, plan_save
from iceberg_spark.save.write_options import WriteOptions
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.view_json import view_to_dict
from tests.unit.api.tables import ids, make, rows
from tests.unit.spec.test_next_view import new

PROPERTIES = [
    "write.data.path", "write.metadata.path", "write.object-storage.path",
    "write.folder-storage.path",
]  # fmt: skip
VERBS = {
    "append": lambda table: table.append(rows(id=[2], k=["b"])),
    "delete": lambda table: table.delete("id = 1"),
    "delete all": lambda table: table.delete("true"),
    "upsert": lambda table: table.upsert(rows(id=[1], k=["b"]), ["id"]),
    "statistics": lambda table: table.maintenance.compute_table_stats(),
    "files of others": lambda table: table.add_files(f"{table.location()}/added.parquet"),
    "table path": lambda table: table.maintenance.rewrite_table_path(table.location(), "s3://c/t"),
}


@dataclass(frozen=True, slots=True)
class Buckets:
    """Two buckets of one store: the table's own, and the one that its metadata names."""

    own: str
    other: str

    def files(self) -> set[str]:
        io = open_storage({})
        return {info.path for at in (self.own, self.other) for info in io.list(at)}


@pytest.fixture
def buckets() -> Iterator[Buckets]:
    number = uuid.uuid4().hex
    return Buckets(f"memory://own-{number}", f"memory://other-{number}")


def put_parquet(path: str) -> None:
    with open_storage({}).create(path) as out:
        pq.write_table(rows(id=[7], k=["a"]), out)


class Pointers:
    """A catalog's pointers of views, in a dict."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.at: dict[str, str] = {}

    def find(self, identifier: str) -> str | None:
        return self.at.get(identifier)

    def insert(self, made: StoredView) -> bool:
        return self.at.setdefault(made.identifier, made.metadata_location) != ""

    def move(self, base: StoredView, made: StoredView) -> bool:
        self.at[base.identifier] = made.metadata_location
        return True

    def default_location(self, identifier: str) -> str:
        return f"{self.home}/{identifier}"


def filled(buckets: Buckets, **later: str) -> Table:
    """A table with one row, whose properties somebody changes afterwards."""
    table = make(f"{buckets.own}/t")
    table.append(rows(id=[1], k=["a"]))
    put_parquet(f"{buckets.own}/t/added.parquet")
    table.update_properties().set(later).commit()
    return ice.load_table(f"{buckets.own}/t")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", PROPERTIES)
def test_nothing_is_written_to_another_bucket(buckets: Buckets, name: str, verb: str) -> None:
    table = filled(buckets, **{name: f"{buckets.other}/files"})
    before = buckets.files()
    wanted = rf"{buckets.other}.*{name}.*{buckets.own}.*io\.allowed-schemes to '{buckets.other}'"
    with pytest.raises(UnsupportedError, match=wanted):
        VERBS[verb](table)
    assert buckets.files() == before
    assert ids(table) == [1]


@pytest.mark.parametrize("entry", ["memory", "memory://{}"])
def test_the_user_allows_a_bucket_or_all_of_a_store(buckets: Buckets, entry: str) -> None:
    filled(buckets, **{"write.data.path": f"{buckets.other}/files"})
    allowed = {"io.allowed-schemes": entry.format(buckets.other.removeprefix("memory://"))}
    table = ice.load_table(f"{buckets.own}/t", **allowed)
    table.append(rows(id=[2], k=["b"]))
    assert ids(table) == [1, 2]
    assert any(path.startswith(f"{buckets.other}/files/") for path in buckets.files())
    assert ids(ice.load_table(f"{buckets.own}/t")) == [1, 2], "other buckets are read"


def test_another_bucket_than_the_allowed_one_is_refused(buckets: Buckets) -> None:
    filled(buckets, **{"write.data.path": f"{buckets.other}/files"})
    table = ice.load_table(f"{buckets.own}/t", **{"io.allowed-schemes": f"{buckets.other}-2"})
    with pytest.raises(UnsupportedError, match=buckets.other):
        table.append(rows(id=[2], k=["b"]))


def test_a_property_that_leads_elsewhere_can_be_removed(buckets: Buckets) -> None:
    table = filled(buckets, **{"write.data.path": f"{buckets.other}/files"})
    table.update_properties().remove("write.data.path").commit()
    table = ice.load_table(f"{buckets.own}/t")
    table.append(rows(id=[2], k=["b"]))
    assert ids(table) == [1, 2]


def test_what_the_caller_sets_while_creating_a_table_is_the_callers_word(buckets: Buckets) -> None:
    place = f"{buckets.own}/t"
    chosen = {"write.data.path": f"{buckets.other}/files"}
    added = rows(id=[1], k=["a"])
    options = WriteOptions(place, table_properties=chosen)
    plan = plan_save(options, from_arrow(added.schema), overwrite=False)
    files = write_rows(added, plan.context, plan.context.io, plan.align)
    commit_save(TablePlace(place, {}), plan, files)
    assert ids(ice.load_table(place)) == [1]
    assert any(path.startswith(f"{buckets.other}/files/") for path in buckets.files())
    with pytest.raises(UnsupportedError, match=r"io\.allowed-schemes"):
        ice.load_table(place).append(rows(id=[2], k=["b"]))


def test_files_of_another_bucket_are_added_and_read(buckets: Buckets) -> None:
    table = make(f"{buckets.own}/t")
    put_parquet(f"{buckets.other}/f.parquet")
    table.add_files(f"{buckets.other}/f.parquet")
    assert ids(ice.load_table(f"{buckets.own}/t")) == [7]


def test_a_view_stays_in_its_bucket_until_the_user_moves_it(buckets: Buckets) -> None:
    pointers: Any = Pointers(buckets.own)
    views = PointerViews("c", pointers, open_storage({}), Trust("c", {}))
    views.create("v", new("SELECT 1"))
    elsewhere = {"write.metadata.path": f"{buckets.other}/metadata"}
    stored = read_view(open_storage({}), "v", pointers.at["v"])
    hostile = replace(stored.metadata, properties=elsewhere)
    data = compress_text(json.dumps(view_to_dict(hostile)), Codec.GZIP)
    open_storage({}).replace(pointers.at["v"], data)
    before = buckets.files()
    with pytest.raises(UnsupportedError, match=rf"{buckets.other}.*io\.allowed-schemes"):
        views.replace("v", views.load("v"), new("SELECT 2"))
    assert buckets.files() == before
    views.update_properties("v", views.load("v"), {}, ("write.metadata.path",))
    views.update_properties("v", views.load("v"), elsewhere, ())
    assert pointers.at["v"].startswith(buckets.other)


def checked(recorded: str, location: str, storage: Mapping[str, str], **properties: str) -> None:
    metadata = new_metadata(Schema(), location=location, properties=properties, now_ms=1)
    check_write_places(metadata, table_io(open_storage(storage), recorded))


@pytest.mark.parametrize(
    ("recorded", "location", "storage"),
    [
        ("s3://b/t", "s3a://b/t", {}),
        ("s3://b/t", "s3n://B/elsewhere", {}),
        ("gs://b/t", "gcs://b/t", {}),
        ("hdfs://nn/t", "hdfs://nn:8020/t", {}),
        ("hdfs:///t", "hdfs://nn:9000/t", {"hdfs.host": "nn", "hdfs.port": "9000"}),
        ("abfss://c@a.dfs.core.windows.net/t", "wasbs://c@a.blob.core.windows.net/t", {}),
        ("/w/t", "file:///elsewhere/t", {}),
        ("s3://b/t", "hdfs://nn/t", {"io.allowed-schemes": "gs, hdfs://nn:8020/"}),
    ],
)
def test_one_place_has_several_names(recorded: str, location: str, storage: dict[str, str]) -> None:
    checked(recorded, location, storage)
    checked(recorded, recorded, storage, **{"write.data.path": f"{location}/data"})
    checked(recorded, recorded, storage, **{"write.metadata.path": "below/metadata"})


@pytest.mark.parametrize(
    ("recorded", "location", "storage"),
    [
        ("s3://b/t", "s3://other/t", {}),
        ("s3://b/t", "s3://b,file/t", {}),
        ("gs://b/t", "gs://other/t", {}),
        ("hdfs://nn/t", "hdfs://other/t", {}),
        ("hdfs://nn/t", "hdfs://nn:9000/t", {}),
        ("hdfs:///t", "hdfs://nn/t", {}),
        ("abfss://c@a.dfs.core.windows.net/t", "abfss://d@a.dfs.core.windows.net/t", {}),
        ("abfss://c@a.dfs.core.windows.net/t", "abfss://c@b.dfs.core.windows.net/t", {}),
        ("s3://b/t", "/w/t", {}),
        ("s3://b/t", "gs://other/t", {"io.allowed-schemes": "gs://b"}),
    ],
)
def test_other_buckets_and_hosts_are_other_places(
    recorded: str, location: str, storage: dict[str, str]
) -> None:
    wanted = r"metadata's location is .*io\.allowed-schemes"
    with pytest.raises(UnsupportedError, match=wanted):
        checked(recorded, location, storage)
    with pytest.raises(UnsupportedError, match=r"property write\.data\.path is"):
        checked(recorded, recorded, storage, **{"write.data.path": f"{location}/data"})


def test_a_comma_in_a_bucket_adds_no_place() -> None:
    """Lists of places are separated by commas: a server could name `s3://b,file/t`."""
    allowed = allowed_places(table_io(open_storage({}), "s3://b,file/t").properties)
    assert allowed is not None
    assert allowed.stores == {"s3"}
    assert not allowed.may_read("/etc/passwd")


@pytest.mark.parametrize("entry", ["s3://bucket/folder", "file:///mnt", "s3:bucket"])
def test_an_entry_with_a_path_is_refused(entry: str) -> None:
    with pytest.raises(InvalidOptionError, match=rf"io\.allowed-schemes has '{entry}'"):
        table_io(open_storage({"io.allowed-schemes": entry}), "s3://b/t")


def test_a_foreign_store_is_read_in_the_allowed_bucket_only() -> None:
    io: Any = table_io(open_storage({"io.allowed-schemes": "gs://b"}), "s3://own/t")
    allowed = allowed_places(io.properties)
    assert allowed is not None
    assert allowed.may_read("gs://b/f") and allowed.may_read("s3://any/f")
    assert not allowed.may_read("gs://other/f")
    assert place_of("s3a://Own/f", {}) == "s3://own"
