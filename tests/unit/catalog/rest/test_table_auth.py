"""Tokens that a server gives with a table: for that table's requests, and for no others."""

import base64
import pickle
import time
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.rest import vended_io as module
from iceberg_spark.catalog.rest.session import RestSession
from iceberg_spark.catalog.rest.vended_io import VendedIO
from iceberg_spark.errors import ForbiddenError
from iceberg_spark.io.storage import open_storage
from tests.unit.catalog.rest.fake_server import URI, error, in_place_of_network
from tests.unit.catalog.rest.small_server import Answer, SmallServer

CATALOGS = {"token": "of-the-catalog"}
SAML = "urn:ietf:params:oauth:token-type:saml2"


def sent(server: SmallServer, method: str, end: str) -> list[str]:
    """Who asked, of requests of a method whose path ends so."""
    return [
        one.headers.get("Authorization", "nobody")
        for one in server.asked
        if one.method == method and one.url.path.endswith(end)
    ]


def changed(server: SmallServer, **properties: str) -> None:
    catalog = server.named(**{**CATALOGS, **properties})
    catalog.create_table("db.t", "id bigint")
    table = catalog.load_table("db.t")
    server.asked.clear()
    table.update_properties().set({"a": "1"}).commit()


def test_a_commit_goes_by_the_tables_own_token_and_a_load_by_the_catalogs(tmp_path: Path):
    server = SmallServer(tmp_path, config={"token": "of-the-table"})
    catalog = server.named(**CATALOGS)
    catalog.create_table("db.t", "id bigint")
    server.asked.clear()
    catalog.load_table("db.t").update_properties().set({"a": "1"}).commit()
    assert set(sent(server, "GET", "/t")) == {"Bearer of-the-catalog"}
    assert sent(server, "POST", "/t") == ["Bearer of-the-table"]


def test_the_next_load_may_bring_another_one_or_none(tmp_path: Path):
    server = SmallServer(tmp_path, config={"token": "first"})
    catalog = server.named(**CATALOGS)
    catalog.create_table("db.t", "id bigint")
    for config in ({"token": "second"}, {}):
        server.config = config
        server.named(**CATALOGS).load_table("db.t").append(
            pa.table({"id": [1]})
        )  # another made the tag old
        server.asked.clear()
        catalog.load_table("db.t").update_properties().set({"a": str(config)}).commit()
        wanted = config.get("token", "of-the-catalog")
        assert sent(server, "POST", "/t") == [f"Bearer {wanted}"]


def test_a_tables_token_is_not_used_for_other_tables(tmp_path: Path):
    server = SmallServer(tmp_path, config={"token": "of-the-table"})
    catalog = server.named(**CATALOGS)
    catalog.create_table("db.t", "id bigint")
    catalog.load_table("db.t")
    server.asked.clear()
    server.config = {}
    catalog.create_table("db.u", "id bigint")
    catalog.load_table("db.u").update_properties().set({"a": "1"}).commit()
    catalog.drop_table("db.t")
    assert {one.headers["Authorization"] for one in server.asked} == {"Bearer of-the-catalog"}


def test_one_that_is_refused_is_tried_no_more(tmp_path: Path):
    server = SmallServer(tmp_path, config={"token": "stale"})

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        is_stale = request.headers.get("Authorization") == "Bearer stale"
        return error(401, "NotAuthorizedException") if is_stale else answer()

    server.meets = meets
    changed(server, **{"token-refresh-enabled": "false"})
    assert sent(server, "POST", "/t") == ["Bearer stale", "Bearer of-the-catalog"]


def test_a_refusal_of_the_tables_token_is_no_refusal_of_the_catalogs(tmp_path: Path):
    server = SmallServer(tmp_path, config={"token": "weak"})

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        is_weak = request.headers.get("Authorization") == "Bearer weak"
        return error(403, "ForbiddenException", "weak is weak") if is_weak else answer()

    server.meets = meets
    with pytest.raises(ForbiddenError) as refused:
        changed(server)
    assert "weak" not in str(refused.value)


def test_another_kind_of_token_is_exchanged_in_the_catalogs_name(tmp_path: Path):
    server = SmallServer(tmp_path, config={SAML: "assertion"})

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        if request.url.path.endswith("/oauth/tokens"):
            assert b"subject_token=assertion" in request.content
            return httpx.Response(200, json={"access_token": "exchanged", "token_type": "bearer"})
        return answer()

    server.meets = meets
    server.named(**CATALOGS).create_table("db.t", "id bigint")
    assert sent(server, "POST", "/tokens") == ["Bearer of-the-catalog"]
    assert sent(server, "POST", "/t") == ["Bearer exchanged"]


@pytest.mark.parametrize(
    ("properties", "scheme"),
    [({}, ""), ({"rest.auth.type": "basic", "rest.auth.basic.username": "me",
                 "rest.auth.basic.password": "pw"}, "Basic ")],
)  # fmt: skip
def test_a_caller_without_tokens_goes_on_without(
    tmp_path: Path, properties: dict[str, str], scheme: str
):
    """As Java does: such a catalog has no tokens at all."""
    server = SmallServer(tmp_path, config={"token": "of-the-table"})
    catalog = server.named(**properties)
    catalog.create_table("db.t", "id bigint")
    catalog.load_table("db.t").update_properties().set({"a": "1"}).commit()
    known = {one.headers.get("Authorization", "") for one in server.asked}
    encoded = base64.b64encode(b"me:pw").decode() if scheme else ""
    assert known == {f"{scheme}{encoded}"}


def test_a_task_renews_credentials_by_the_tables_own_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server = SmallServer(tmp_path)

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        if request.url.path.endswith("/credentials"):
            return httpx.Response(200, json={"storage-credentials": []})
        return answer()

    server.meets = meets
    given = {"uri": URI, **CATALOGS}
    session = RestSession("c", given, in_place_of_network(server))
    monkeypatch.setattr(module, "session_of", lambda *_: session)
    ends = str(int(time.time() * 1000) - 1)
    io = open_storage({"s3.session-token-expires-at-ms": ends, "s3.access-key-id": "old"})
    own = {"token": "of-the-table"}
    in_task = pickle.loads(pickle.dumps(VendedIO("c", given, "db.t", "s3://b/t", io, own)))
    assert in_task.properties["s3.access-key-id"] == "old"
    assert sent(server, "GET", "/credentials") == ["Bearer of-the-table"]


def test_it_is_shown_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    server = SmallServer(tmp_path, config={"token": "s3cr3t"})
    catalog = server.catalog(**CATALOGS)
    server.named(**CATALOGS).create_table("db.t", "id bigint")
    loaded: LoadedTable = catalog.load("db.t")
    shown: list[Any] = [catalog, loaded, loaded.io, loaded.reporter, loaded.metadata.properties]
    assert "s3cr3t" not in repr(shown) + caplog.text
    assert "token" not in loaded.io.properties
