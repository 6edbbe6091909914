"""Tables in S3 whose catalog signs each request: no process has a key of the store."""

import pickle
from collections.abc import Iterator

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import StoragePermissionError
from tests.servers.s3_servers import versitygw_server
from tests.servers.signer import SigningCatalog, signing_catalog

pytestmark = pytest.mark.xdist_group("signing")
SIGNER = {"s3.signer.endpoint": "v1/aws/s3/sign"}


@pytest.fixture(scope="module")
def store() -> Iterator[object]:
    """A store that checks signatures."""
    with versitygw_server() as server:
        yield server


@pytest.fixture
def signing(store, monkeypatch: pytest.MonkeyPatch) -> Iterator[SigningCatalog]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    with signing_catalog(store, **SIGNER) as catalog:
        yield catalog


def new_table(signing: SigningCatalog, name: str, **properties: str) -> Table:
    catalog = ice.load_catalog("c", type="rest", uri=signing.uri, token="a-token", **properties)
    return catalog.create_table(f"db.{name}", "id bigint, s string")


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [str(each) for each in ids]})


def test_a_table_is_written_and_read_without_keys(signing):
    table = new_table(signing, "whole")
    table.append(rows(1, 2, 3))
    table.append(rows(4))
    table.delete("id = 2")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 3, 4]
    assert {node["method"] for node in signing.signed} >= {"GET", "HEAD", "PUT"}
    assert {node["authorization"] for node in signing.signed} == {"Bearer a-token"}
    assert all(node["region"] == "us-east-1" for node in signing.signed)


def test_keys_of_the_user_are_not_used(signing):
    keys = {"s3.access-key-id": "mine", "s3.secret-access-key": "wrong"}
    table = new_table(signing, "keys", **keys)
    table.append(rows(1))
    assert table.scan().to_arrow().num_rows == 1
    assert not {"s3.access-key-id", "s3.secret-access-key"} & set(table.io.properties)


def test_tasks_let_the_catalog_sign_too(signing):
    table = new_table(signing, "tasks", **{"s3.secret-access-key": "hidden-word"})
    table.append(rows(1))
    sent = pickle.dumps(table.io)
    assert b"hidden-word" not in sent
    (task,) = table.scan().plan_files()
    before = len(signing.signed)
    assert pickle.loads(sent).read_bytes(task.file_path)[:4] == b"PAR1"
    assert len(signing.signed) > before


def test_what_the_catalog_does_not_sign_is_a_refusal(signing):
    table = new_table(signing, "refused")
    table.append(rows(1))
    signing.refuses = lambda node: node["uri"].endswith(".parquet")
    with pytest.raises(StoragePermissionError, match=r"sign a .* of table db\.refused.*not yours"):
        table.scan().to_arrow()


@pytest.mark.parametrize(("allows", "again"), [("private", 0), ("private, max-age=0", 1), ("", 1)])
def test_signatures_are_used_again_as_far_as_the_answer_allows(signing, allows, again):
    table = new_table(signing, f"again{again}{len(allows)}")
    table.append(rows(1))
    (task,) = table.scan().plan_files()
    signing.cache_control = allows
    table.io.read_bytes(task.file_path)
    before = len(signing.signed)
    table.io.read_bytes(task.file_path)
    assert (len(signing.signed) > before) == bool(again)


def test_many_files_are_removed_one_by_one_and_large_ones_written_in_parts(signing):
    table = new_table(signing, "large")
    where = f"{table.location()}/data/large.bin"
    with table.io.create(where) as file:
        for _ in range(7):
            file.write(bytes(10 * 1024 * 1024))
    assert table.io.size(where) == 70 * 1024 * 1024
    assert {node["method"] for node in signing.signed} >= {"POST", "PUT"}
    table.io.delete_many([where, f"{where}.not-there"])
    assert not table.io.exists(where)
    assert list(table.io.list(table.location())) == []
