"""No secret of a catalog or a store is in an error with all its causes, or in any object's repr."""

import gc
import traceback
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.catalog.pinned import load
from iceberg_spark.catalog.rest.answers import Answer
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.catalog.rest.wire import Reply
from iceberg_spark.errors import IcebergError
from iceberg_spark.io.storage import open_storage
from iceberg_spark.save.commit_save import TablePlace
from iceberg_spark.save.plan_save import plan_save
from iceberg_spark.save.write_options import write_options
from tests.s3_server import Objects, s3_server
from tests.unit.catalog.rest.small_server import SmallServer

SECRET = "S3CR3Tmarker9"
NOBODY = "http://127.0.0.1:1"
QUICK = {"io.timeout-s": "0.6"}

FILES = [
    f"catalog:\n  c:\n    token: {SECRET}: {SECRET}\n",
    f"catalog:\n  c: {{token: {SECRET}}}\n",
    f"catalog:\n  c:\n    token: {SECRET}\n    token: {SECRET}\n",
    f'catalog:\n  c:\n    token: "{SECRET}\n',
    f"catalog:\n  c:\n    token: *{SECRET}\n",
    f"catalog:\n\ttoken: {SECRET}\n",
]
DATABASES = [
    f"postgresql://u:{SECRET}@127.0.0.1:1/db",
    f"postgresql://u:{SECRET}@127.0.0.1:port/db",
    f"postgresql://u:x@{SECRET}@127.0.0.1:1/db",
    f"postgresql://u:{SECRET}@:{SECRET}@host:1:2/db",
    f"postgresql://u:{SECRET}@[::1/db",
    f"jdbc:postgresql://127.0.0.1:1/db?user=u&password={SECRET}",
    f"nosuch://u:{SECRET}@h/db",
    f"u:{SECRET}@h",
]
SERVERS: list[dict[str, str]] = [
    {"token": SECRET},
    {"token": f"{SECRET}\n"},
    {"credential": f"id:{SECRET}"},
    {"credential": "a:b", "oauth2-server-uri": f"http://u:{SECRET}@127.0.0.1:1/t"},
    {"header.X-Api-Key": f"{SECRET}\r"},
    {
        "rest.auth.type": "basic",
        "rest.auth.basic.username": "u",
        "rest.auth.basic.password": SECRET,
    },
    {"uri": f"http://u:{SECRET}@127.0.0.1:1"},
    {"uri": f"http://u:{SECRET}@127.0.0.1:port"},
]
STORES: dict[str, dict[str, str]] = {
    "s3://b/k": {
        "s3.endpoint": NOBODY, "s3.region": "r", "s3.access-key-id": SECRET,
        "s3.secret-access-key": SECRET, "s3.session-token": SECRET,
    },
    "s3://b/u": {"s3.endpoint": f"http://u:{SECRET}@127.0.0.1:1", "s3.region": "r",
                 "s3.access-key-id": "a", "s3.secret-access-key": "b"},
    "gs://b/k": {"gcs.service.host": NOBODY, "gcs.oauth2.token": SECRET},
    "abfss://b/k": {"adls.connection-string": f"AccountName=a;AccountKey={SECRET}"},
    "abfss://b@acc.dfs.core.windows.net/k": {"adls.account-name": "a", "adls.account-key": SECRET},
}  # fmt: skip


def shown(error: BaseException) -> str:
    """What a log has of an error; not the lines of this file, in which the secrets stand."""
    chain = traceback.TracebackException.from_exception(error)
    texts = []
    while chain is not None:
        texts.extend(chain.format_exception_only())
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
    return "".join(texts)


def check_ends_in_our_error(doing: Callable[[], object]) -> None:
    with pytest.raises(IcebergError) as caught:
        doing()
    assert SECRET not in shown(caught.value), shown(caught.value)


@pytest.mark.parametrize("text", FILES)
def test_a_broken_configuration_file(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".pyiceberg.yaml").write_text(text)
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    check_ends_in_our_error(lambda: ice.load_catalog("c"))


@pytest.mark.parametrize("uri", DATABASES)
def test_a_database_that_is_not_there(uri: str) -> None:
    given = {"type": "sql", "uri": uri, "warehouse": "/w"}
    check_ends_in_our_error(lambda: ice.load_catalog("c", **given).list_namespaces())


@pytest.mark.parametrize("given", SERVERS)
def test_a_rest_server_that_is_not_there(given: dict[str, str]) -> None:
    every = {"type": "rest", "uri": NOBODY, "rest.client.max-retries": "0", **given}
    check_ends_in_our_error(lambda: ice.load_catalog("c", **every).list_namespaces())


@pytest.mark.parametrize("proxy", ["127.0.0.1:1", "127.0.0.1:port"])
def test_a_proxy_of_the_environment(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://u:{SECRET}@{proxy}")
    given = {"type": "rest", "uri": "http://h.invalid", "rest.client.max-retries": "0"}
    check_ends_in_our_error(lambda: ice.load_catalog("c", **given).list_namespaces())


@pytest.mark.parametrize("where", STORES)
def test_a_store_that_is_not_there(where: str) -> None:
    io = open_storage({**STORES[where], **QUICK})
    check_ends_in_our_error(lambda: io.read_bytes(where))


def test_no_object_shows_a_secret(tmp_path: Path) -> None:
    """Whatever is made on the way from a catalog to a commit, and all that hangs on it."""
    with s3_server() as objects:
        kept = everything(objects, tmp_path)
    ours = "iceberg_spark"
    found = [each for each in gc.get_objects() if str(type(each).__module__).startswith(ours)]
    assert kept and len(found) > 100
    assert {type(each).__name__ for each in found if SECRET in text_of(each)} == set()


def text_of(each: object) -> str:
    try:
        return f"{each!r} {each}"
    except Exception:  # noqa: BLE001 (a class that is asked as if it were an object)
        return ""


def everything(objects: Objects, folder: Path) -> list[object]:
    keys = {
        **{key: value for key, value in objects.properties.items() if key != "py-io-impl"},
        "s3.access-key-id": f"{SECRET}-id",
        "s3.secret-access-key": SECRET,
        "s3.session-token": f"{SECRET}-t",
    }
    table = ice.create_table("s3://bucket/t", "id bigint", **keys)
    table.append(pa.table({"id": [1, 2]}))
    scan = table.scan("id = 1")
    transaction = table.transaction()
    options = write_options({"path": "s3://bucket/t", **keys}, plain=False)
    save = plan_save(options, table.schema(), overwrite=False)
    place = TablePlace("s3://bucket/t", dict(options.storage))
    pinned = load("s3://bucket/t", keys)
    sql = ice.load_catalog("c", type="sql", uri=DATABASES[0], warehouse="/w")
    hive = ice.load_catalog("c", type="hive", uri=f"thrift://u:{SECRET}@127.0.0.1:1", **keys)
    glue = ice.load_catalog("c", type="glue", **{"glue.secret-access-key": SECRET})
    server = SmallServer(folder, config={"token": SECRET, **keys})
    rest = server.named(token=SECRET, **{"header.Authorization": f"Bearer {SECRET}"})
    given = rest.create_table("db.t", "id bigint")
    return [scan, transaction, options, save, place, pinned, sql, hive, glue, rest, given]


def test_requests_and_answers_show_neither_addresses_nor_contents() -> None:
    at, named = f"http://u:{SECRET}@h", {"a": SECRET}
    made = Request("GET", at, named, SECRET.encode(), named)
    answered = Answer(200, named, SECRET.encode(), at)
    assert SECRET not in f"{made} {answered} {Reply(200, named, SECRET.encode())}"
