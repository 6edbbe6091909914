"""What is kept of a server's answers, and who else may answer in its place."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from iceberg_spark.catalog.rest.known_tables import KnownTables
from iceberg_spark.catalog.rest.session import session_of
from iceberg_spark.errors import (
    CorruptFileError,
    InvalidInputError,
    NoSuchTableError,
    ServiceUnavailableError,
)
from iceberg_spark.spec.metadata_json import metadata_to_json
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.schema import Schema
from tests.unit.catalog.rest.fake_server import URI, FakeServer
from tests.unit.catalog.rest.small_server import Answer, SmallServer

AT = "v1/namespaces/db/tables/t"
METADATA = json.loads(metadata_to_json(new_metadata(Schema(), location="/w/t", now_ms=1)))
VIEW = {
    "view-uuid": "9c5c3c9e-6e9a-4a6c-8a63-5a2b8d8b5d3f", "format-version": 1, "location": "/w/v",
    "current-version-id": 1, "version-log": [{"timestamp-ms": 1, "version-id": 1}],
    "versions": [{"version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {},
                  "default-namespace": ["db"],
                  "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}]}],
    "schemas": [{"type": "struct", "schema-id": 0, "fields": []}],
}  # fmt: skip
PORTAL = httpx.Response(200, html="<html>Log in here</html>")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


@pytest.fixture
def server(tmp_path: Path) -> SmallServer:
    """One that gives tags, and 304 where one has the newest."""
    made = SmallServer(tmp_path)

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        found = answer()
        tag = found.headers.get("ETag")
        same = request.method == "GET" and tag and request.headers.get("If-None-Match") == tag
        return httpx.Response(304) if same else found

    made.meets = meets
    return made


def test_a_commit_of_anothers_is_seen_at_the_next_load(server: SmallServer):
    one, other = server.named(), server.named(user="other")
    one.create_table("db.t", "id bigint")
    for value in ("1", "2"):
        other.load_table("db.t").update_properties().set({"a": value}).commit()
        assert one.load_table("db.t").properties["a"] == value
        assert one.load_table("db.t").properties["a"] == value  # a 304


def test_a_dropped_renamed_or_recreated_table_is_not_served_from_the_cache(server: SmallServer):
    one, other = server.named(), server.named(user="other")
    first = one.create_table("db.t", "id bigint").metadata.table_uuid
    one.load_table("db.t")
    other.drop_table("db.t")
    with pytest.raises(NoSuchTableError):
        one.load_table("db.t")
    second = other.create_table("db.t", "name string").metadata.table_uuid
    assert one.load_table("db.t").metadata.table_uuid == second != first


def test_another_caller_gets_nothing_by_the_tag_of_the_first(server: SmallServer):
    """Whoever may not see the table would see it by a 304."""
    server.named(token="mine").create_table("db.t", "id bigint")
    mine, theirs = server.named(token="mine"), server.named(token="theirs")
    mine.load_table("db.t")
    mine.load_table("db.t")
    theirs.load_table("db.t")
    gets = [one.headers.get("If-None-Match") for one in server.asked if one.url.path.endswith("/t")]
    assert gets[-3] is None and gets[-2] and gets[-1] is None


@pytest.mark.parametrize(
    "other", [{"token": "b"}, {"credential": "c:d"}, {"header.X-User": "b"}, {"warehouse": "w"}]
)
def test_a_session_is_one_callers(other: dict[str, str]):
    given = {"uri": URI, "token": "a"}
    one, two = session_of("c", given), session_of("c", {**given, **other})
    assert one is not two and one.tagged_tables is not two.tagged_tables


def test_304_without_a_cached_table_is_an_error(tmp_path: Path):
    server = SmallServer(tmp_path)
    server.named().create_table("db.t", "id bigint")
    catalog = server.named()
    server.meets = lambda one, answer: httpx.Response(304) if one.method == "GET" else answer()
    with pytest.raises(ServiceUnavailableError):
        catalog._catalog.load("db.t")


def test_a_premature_304_is_requested_again(tmp_path: Path):
    server = SmallServer(tmp_path)
    server.named().create_table("db.t", "id bigint")
    early = [httpx.Response(304)]

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        is_load = request.method == "GET" and request.url.path.endswith("/t")
        return early.pop() if is_load and early else answer()

    server.meets = meets
    assert server.named().load_table("db.t").metadata.table_uuid


CHANGES: dict[str, Any] = {
    "drop": lambda one: one.drop_table("db.t"),
    "rename": lambda one: one.rename_table("db.t", "db.u"),
    "namespace": lambda one: one.create_namespace("db.deep"),
    "namespace dropped": lambda one: one.drop_namespace("db"),
    "view": lambda one: one.drop_view("db.v"),
}
SAYS_NOTHING = {"304": httpx.Response(304), "portal": PORTAL}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("answer", SAYS_NOTHING)
def test_a_change_accepted_by_a_portal_is_not_made(change: str, answer: str):
    """A portal's page, or a cache's 304: the server has not been asked."""
    there = httpx.Response(200, json={"namespace": ["db"], "properties": {}})
    names = ("v1/namespaces/db", "v1/namespaces/db/views/v")
    server = FakeServer(
        {
            "GET v1/namespaces/db/tables/t": httpx.Response(200, json={"metadata": METADATA}),
            **{f"GET {name}": there for name in names},
            "GET v1/namespaces/db%1Fdeep": httpx.Response(404, json={"error": {}}),
            "GET v1/namespaces/db/tables/u": httpx.Response(404, json={"error": {}}),
            "GET v1/namespaces/db/views/v": httpx.Response(200, json={"metadata": VIEW}),
            **{f"{method} {path}": SAYS_NOTHING[answer] for method, path in CHANGED},
        },
        {"defaults": {"view-endpoints-supported": "true"}},
    )
    with pytest.raises(Exception) as refused:  # noqa: PT011
        CHANGES[change](server.named())
    assert "answered" in str(refused.value)


CHANGED = (
    ("DELETE", "v1/namespaces/db/tables/t"),
    ("POST", "v1/tables/rename"),
    ("POST", "v1/namespaces"),
    ("DELETE", "v1/namespaces/db"),
    ("DELETE", "v1/namespaces/db/views/v"),
)


def test_a_portal_is_no_proof_that_something_is_there():
    has = ["HEAD /v1/{prefix}/namespaces/{namespace}", "GET x"]
    server = FakeServer({"HEAD v1/namespaces/db": PORTAL}, {"endpoints": has})
    with pytest.raises(ServiceUnavailableError):
        server.named().namespace_exists("db")


BAD = {"missing": {"format-version": 1}, "strange": {"format-version": "x"}}


@pytest.mark.parametrize("node", BAD)
@pytest.mark.parametrize("what", ["table", "view"])
def test_metadata_that_can_not_be_read_is_named(what: str, node: str):
    found = httpx.Response(200, json={"metadata": BAD[node]})
    config = {"defaults": {"view-endpoints-supported": "true"}}
    server = FakeServer({f"GET v1/namespaces/db/{what}s/x": found}, config)
    load = getattr(server.named(), f"load_{what}")
    with pytest.raises(CorruptFileError, match=f"metadata of {what} db.x"):
        load("db.x")


def test_half_a_character_is_no_name():
    server = FakeServer()
    for call in (server.named().load_table, server.named().list_tables):
        with pytest.raises(InvalidInputError):
            call("db.\ud800")
    assert server.asked() == []


def test_the_cache_is_bounded():
    known = KnownTables()
    for number in range(100):
        known.stage(f"/w/{number}", None)  # type: ignore[arg-type]
    assert known.staged("/w/0") is None
    assert known._staged.count < 100
