"""Tables on HDFS (a mini-cluster of Hadoop), without libhdfs: one writer wins, nothing is lost."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from benchmarks.stress import make_table, stress
from benchmarks.stress_history import table_rows
from iceberg_spark.errors import (
    FileAlreadyExistsError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchFileError,
    NoSuchNamespaceError,
    StoragePermissionError,
)
from iceberg_spark.io import hdfs_store
from iceberg_spark.io.storage import open_storage
from tests.servers.hdfs_server import hdfs_server

pytestmark = pytest.mark.xdist_group("hdfs")
IO = open_storage()


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hdfs_server(tmp_path_factory.mktemp("hdfs")) as root:
        yield root


@pytest.fixture
def where(hdfs: str) -> str:
    return f"{hdfs}/{uuid.uuid4().hex}"


def test_a_table_is_created_changed_and_read(where: str):
    table = ice.create_table(where, "id bigint, s string")
    other = ice.load_table(where)
    table.append(pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}))
    table.delete("id = 2")
    other.append(pa.table({"id": [4], "s": ["d"]}))
    rows = ice.load_table(where).scan().to_arrow()
    assert sorted(rows["id"].to_pylist()) == [1, 3, 4]


def test_of_eight_creations_of_a_file_one_wins_and_nothing_else_is_left(where: str):
    def create(number: int) -> int | None:
        try:
            IO.create_if_absent(f"{where}/f", str(number).encode())
        except FileAlreadyExistsError:
            return None
        return number

    with ThreadPoolExecutor(8) as threads:
        winners = [one for one in threads.map(create, range(8)) if one is not None]
    assert [int(IO.read_bytes(f"{where}/f"))] == winners
    assert [info.path for info in IO.list(where)] == [f"{where}/f"]


def test_files_are_replaced_listed_and_deleted(where: str):
    IO.replace(f"{where}/hint", b"1")
    IO.replace(f"{where}/hint", b"22")
    with IO.create(f"{where}/a/b/large") as file:
        file.write(bytes(20_000_000))
    found = {info.path.removeprefix(f"{where}/"): info.size for info in IO.list(where)}
    assert found == {"hint": 2, "a/b/large": 20_000_000}
    assert list(IO.list_folders(where)) == [f"{where}/a"]
    with IO.open(f"{where}/a/b/large") as file:
        assert (file.seek(0, 2), file.seek(5), len(file.read(10_000_000))) == (2e7, 5, 1e7)
    IO.delete(f"{where}/hint")
    IO.delete(f"{where}/hint")
    with pytest.raises(NoSuchFileError):
        IO.read_bytes(f"{where}/hint")


def test_a_file_that_is_broken_off_is_gone(where: str):
    def broken_off() -> None:
        with IO.create(f"{where}/f") as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        broken_off()
    assert list(IO.list(where)) == []


def test_what_the_name_node_denies_is_denied(where: str, monkeypatch: pytest.MonkeyPatch):
    IO.replace(f"{where}/f", b"1")
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody")
    hdfs_store._store.cache_clear()  # the next client is made as that user
    for refused in (
        lambda: IO.create_if_absent(f"{where}/g", b"1"),
        lambda: IO.delete(f"{where}/f"),
        lambda: ice.create_table(f"{where}/t", "id bigint"),
    ):
        with pytest.raises(StoragePermissionError, match="Permission denied: user=nobody"):
            refused()
    hdfs_store._store.cache_clear()


def test_nothing_is_below_a_file(where: str):
    IO.replace(f"{where}/f", b"1")
    assert not IO.exists(f"{where}/f/g")
    assert list(IO.list(f"{where}/f/g")) == list(IO.list_folders(f"{where}/f/g")) == []
    IO.delete(f"{where}/f/g")
    with pytest.raises(NoSuchFileError):
        IO.read_bytes(f"{where}/f/g")


def test_namespaces_are_folders_that_stay_when_their_tables_go(where: str):
    """As Java's Hadoop catalog has them: it drops none that holds a file of ours."""
    catalog = ice.load_catalog("c", type="hadoop", warehouse=where)
    catalog.create_namespace("db")
    assert list(IO.list(where)) == [] and list(IO.list_folders(where)) == [f"{where}/db"]
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace("db")
    catalog.create_table("db.t", "id bigint").append(pa.table({"id": [1]}))
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("db")
    catalog.purge_table("db.t")
    assert catalog.list_namespaces() == [("db",)] and catalog.list_tables("db") == []
    catalog.create_namespace("db.below")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("db")
    catalog.drop_namespace("db.below")
    catalog.drop_namespace("db")
    assert list(IO.list_folders(where)) == []
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("db")


@pytest.mark.slow
def test_killed_processes_leave_what_the_history_says(where: str, tmp_path: Path):
    make_table(where)
    outcome = stress(where, tmp_path, seconds=6, processes=6, samples=6)
    assert outcome.found.violations == []
    assert outcome.kills > 0 and outcome.found.commits > 1
    assert sum(table_rows(ice.load_table(where)).values()) == outcome.found.rows
