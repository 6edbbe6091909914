"""Tables on real servers of S3, Google and Azure: what is written is read, and one writer wins."""

import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import (
    FileAlreadyExistsError,
    NamespaceAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.io import fsspec_io
from iceberg_spark.io.storage import open_storage
from tests.servers.azure_server import azure_server
from tests.servers.faulty_proxy import Fault, FaultyProxy, faulty_proxy
from tests.servers.gcs_server import gcs_server
from tests.servers.processes import HOST
from tests.servers.s3_servers import S3Server, moto_server, versitygw_server
from tests.servers.s3mock import s3mock_server

pytestmark = pytest.mark.xdist_group("stores")

Store = tuple[str, dict[str, str]]


@pytest.fixture(scope="module")
def moto() -> Iterator[S3Server]:
    with moto_server() as server:
        yield server


@pytest.fixture(scope="module")
def versitygw() -> Iterator[S3Server]:
    with versitygw_server() as server:
        yield server


@pytest.fixture(scope="module", params=["moto", "versitygw", "google", "azure"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """The location of a bucket and the properties that lead there."""
    match request.param:
        case "google":
            with gcs_server() as properties:
                yield "gs://bucket", properties
        case "azure":
            with azure_server() as properties:
                yield "abfss://bucket", properties
        case name:
            yield "s3://bucket", request.getfixturevalue(name).properties


def new_folder(store: Store) -> str:
    return f"{store[0]}/{uuid.uuid4().hex}"


def ids(where: str, properties: dict[str, str]) -> list[int]:
    return sorted(ice.load_table(where, **properties).scan().to_arrow()["id"].to_pylist())


def test_a_table_is_created_changed_and_read(store: Store):
    where, properties = new_folder(store), store[1]
    table = ice.create_table(where, "id bigint, s string", **properties)
    table.append(pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}))
    table.delete("id = 2")
    table.overwrite(pa.table({"id": [4], "s": ["d"]}), overwrite_filter="id = 3")
    assert ids(where, properties) == [1, 4]
    table.maintenance.expire_snapshots(older_than=table.history()[-1].timestamp_ms + 1)
    assert ids(where, properties) == [1, 4]


def test_a_store_in_which_two_may_win_holds_what_one_writer_does():
    """S3Mock takes conditional PUTs and does not keep others out meanwhile."""
    with s3mock_server() as server:
        store = "s3://bucket", server.properties
        test_a_table_is_created_changed_and_read(store)
        test_two_handles_append_by_turns(store)
        test_files_and_folders_are_listed(store)


def test_two_handles_append_by_turns(store: Store):
    where, properties = new_folder(store), store[1]
    one = ice.create_table(where, "id bigint", **properties)
    other = ice.load_table(where, **properties)
    for number in range(3):
        one.append(pa.table({"id": [number]}))
        other.append(pa.table({"id": [10 + number]}))
    assert ids(where, properties) == [0, 1, 2, 10, 11, 12]


def test_of_eight_creations_of_a_file_one_wins(store: Store):
    where, io = new_folder(store), open_storage(store[1])

    def create(number: int) -> int | None:
        try:
            io.create_if_absent(f"{where}/f", str(number).encode())
        except FileAlreadyExistsError:
            return None
        return number

    with ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            winners = [one for one in threads.map(create, range(8)) if one is not None]
            assert [int(io.read_bytes(f"{where}/f"))] == winners
            io.delete(f"{where}/f")


def test_eight_writers_lose_nothing(store: Store):
    where, properties = new_folder(store), store[1]
    settings = {"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "5"}
    ice.create_table(where, "id bigint", properties=settings, **properties)

    def append(number: int) -> None:
        ice.load_table(where, **properties).append(pa.table({"id": [number]}))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(append, range(8)))
    assert ids(where, properties) == list(range(8))


def test_files_and_folders_are_listed(store: Store):
    where, io = new_folder(store), open_storage(store[1])
    for name in ["a/f", "a/b/f", "top", "odd %20 +é#?&'"]:
        with io.create(f"{where}/{name}") as file:
            file.write(name.encode())
    found = {info.path.removeprefix(f"{where}/"): info.size for info in io.list(where)}
    assert found == {"a/f": 3, "a/b/f": 5, "top": 3, "odd %20 +é#?&'": 15}
    assert list(io.list_folders(where)) == [f"{where}/a"]
    assert io.read_bytes(f"{where}/odd %20 +é#?&'").decode() == "odd %20 +é#?&'"
    paths = [f"{where}/{name}" for name in ("top", "none", "a")]
    assert list(io.find(paths)) == paths[:1]


def test_a_namespace_that_hadoop_marked_is_there_without_a_file(moto: S3Server):
    name = uuid.uuid4().hex
    mark = Request(f"http://{HOST}:{moto.port}/bucket/{name}/db/", b"", method="PUT")
    mark.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/b")
    urlopen(mark, timeout=30).close()
    warehouse = f"s3://bucket/{name}"
    catalog = ice.load_catalog("c", type="hadoop", warehouse=warehouse, **moto.properties)
    assert catalog.namespace_exists("db") and catalog.list_tables("db") == []
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace("db")
    catalog.create_table("db.t", "id bigint").append(pa.table({"id": [1]}))
    catalog.purge_table("db.t")
    assert catalog.list_tables("db") == []
    with pytest.raises(UnsupportedError, match="Hadoop"):
        catalog.drop_namespace("db")
    assert catalog.list_namespaces() == [("db",)]


def test_a_file_of_several_parts_is_written_and_read(moto: S3Server):
    io = open_storage(moto.properties)
    data = bytes(range(256)) * 80_000  # 20 MB
    with io.create("s3://bucket/large") as file:
        for start in range(0, len(data), 1_000_000):
            file.write(data[start : start + 1_000_000])
    assert io.read_bytes("s3://bucket/large") == data
    with io.open("s3://bucket/large") as source:
        source.seek(123_456)
        assert source.read(17_000_000) == data[123_456:17_123_456]


def test_an_upload_that_is_broken_off_leaves_nothing(versitygw: S3Server):
    io = open_storage(versitygw.properties)

    def broken_off() -> None:
        with io.create("s3://bucket/broken/large") as file:
            file.write(bytes(20_000_000))
            raise KeyError

    with pytest.raises(KeyError):
        broken_off()
    assert list(io.list("s3://bucket/broken")) == []


def test_a_store_that_ignores_the_condition_is_refused_and_nothing_is_left():
    with versitygw_server(obeys_conditions=False) as server:
        with pytest.raises(UnsupportedError, match=r"io\.lock-path"):
            ice.create_table("s3://bucket/t", "id bigint", **server.properties)
        assert list(open_storage(server.properties).list("s3://bucket/t")) == []


def test_the_condition_is_proved_once_for_a_bucket(
    versitygw: S3Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fsspec_io, "_proven", set())
    with faulty_proxy(versitygw.port) as proxy:
        properties = through(proxy, versitygw)
        for _ in range(2):
            ice.create_table(f"s3://bucket/{uuid.uuid4().hex}", "id bigint", **properties)
        probes = [one.partition(" ")[0] for one in proxy.requests if one.endswith(".probe")]
    assert probes == ["PUT", "PUT", "DELETE"]


def through(proxy: FaultyProxy, server: S3Server) -> dict[str, str]:
    return {**server.properties, "s3.endpoint": f"http://{HOST}:{proxy.port}"}


@pytest.mark.parametrize("fault", list(Fault))
def test_a_commit_lands_once_whatever_becomes_of_its_request(store: Store, fault: Fault):
    key, address = next(each for each in store[1].items() if "http://" in each[1])
    port = re.search(rf"{HOST}:(\d+)", address)
    assert port is not None
    with faulty_proxy(int(port[1])) as proxy:
        where = new_folder(store)
        properties = {**store[1], key: address.replace(port[0], f"{HOST}:{proxy.port}")}
        table = ice.create_table(where, "id bigint", **properties)
        proxy.faults.append(fault)
        table.append(pa.table({"id": [1]}))
        assert proxy.faults == []
        table.append(pa.table({"id": [2]}))
        assert ids(where, properties) == [1, 2]
        assert len(table.snapshots()) == 2
        files = {info.path for info in open_storage(properties).list(f"{where}/data")}
        assert files == set(table.inspect.all_files()["file_path"].to_pylist())
