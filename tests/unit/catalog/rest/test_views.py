"""Views of a REST catalog: what is asked, what answers mean, and answers that get lost."""

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from iceberg_spark.api.catalog import TableCatalog
from iceberg_spark.api.view import create_or_replace
from iceberg_spark.errors import (
    CommitFailedException,
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    ServiceUnavailableError,
    UnsupportedError,
    ValidationException,
    ViewAlreadyExistsError,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.types import LongType, NestedField, StringType
from iceberg_spark.spec.view import (
    NewView,
    ViewHistoryEntry,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)
from iceberg_spark.spec.view_json import version_to_dict
from tests.unit.catalog.rest.fake_server import FakeServer, Reply, body, error

ALL = "v1/namespaces/db/views"
ONE = f"{ALL}/v"
UUID = "fa6506c3-7681-40c8-86dc-e36561f83385"
LOST = httpx.ReadError("connection reset")
ONE_COLUMN = Schema(NestedField(1, "a", LongType()))
HAS_VIEWS = {"defaults": {"view-endpoints-supported": "true"}}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


def version(sql: str, stamp: int = 5, **members: Any) -> ViewVersion:
    return replace(
        ViewVersion(1, stamp, 0, (ViewRepresentation(sql, "spark"),), ("db",)), **members
    )


def new(sql: str, stamp: int = 5, schema: Schema = ONE_COLUMN, **properties: str) -> NewView:
    return NewView(schema, version(sql, stamp), properties)


def made(*versions: ViewVersion, schemas: tuple[Schema, ...] = (ONE_COLUMN,)) -> ViewMetadata:
    every = tuple(replace(one, version_id=n) for n, one in enumerate(versions, 1))
    log = tuple(ViewHistoryEntry(one.timestamp_ms, one.version_id) for one in every)
    return ViewMetadata(UUID, "/w/v", every[-1].version_id, every, log, schemas)


def given(view: ViewMetadata) -> httpx.Response:
    node = {
        "view-uuid": view.view_uuid,
        "format-version": 1,
        "location": view.location,
        "current-version-id": view.current_version_id,
        "versions": [version_to_dict(one) for one in view.versions],
        "version-log": [
            {"timestamp-ms": one.timestamp_ms, "version-id": one.version_id}
            for one in view.version_log
        ],
        "schemas": [{**schema_to_dict(one), "schema-id": one.schema_id} for one in view.schemas],
        "properties": dict(view.properties),
    }
    return httpx.Response(200, json={"metadata-location": "/w/v.json", "metadata": node})


def served(**replies: list[Reply] | Reply) -> FakeServer:
    named = {"GET": f"GET {ONE}", "POST": f"POST {ONE}", "NEW": f"POST {ALL}", "ALL": f"GET {ALL}"}
    named |= {"DELETE": f"DELETE {ONE}", "RENAME": "POST v1/views/rename"}
    return FakeServer({named[key]: reply for key, reply in replies.items()}, HAS_VIEWS)


GONE = error(404, "NoSuchViewException")
TAKEN = error(409, "AlreadyExistsException")


def test_creating_is_one_request_with_columns_and_version():
    server = served(NEW=given(made(version("SELECT 1"))))
    view = server.catalog().views.create("db.v", new("SELECT 1", comment="x"))
    assert view.current_version.sql_for("spark") == "SELECT 1"
    assert server.asked() == [f"POST {ALL}"]
    assert body(server.requests[-1]) == {
        "name": "v",
        "schema": schema_to_dict(ONE_COLUMN),
        "view-version": version_to_dict(version("SELECT 1")),
        "properties": {"comment": "x"},
    }


def test_a_new_text_adds_a_version_to_a_schema_that_is_there():
    server = served(POST=given(made(version("SELECT 1"), version("SELECT 2"))))
    server.catalog().views.replace("db.v", made(version("SELECT 1")), new("SELECT 2", a="b"))
    sent = body(server.requests[-1])
    assert sent["requirements"] == [{"type": "assert-view-uuid", "uuid": UUID}]
    added = version_to_dict(version("SELECT 2", version_id=2))
    assert sent["updates"] == [
        {"action": "set-properties", "updates": {"a": "b"}},
        {"action": "add-view-version", "view-version": added},
        {"action": "set-current-view-version", "view-version-id": -1},
    ]


def test_new_columns_add_a_schema_and_name_it_as_the_one_added_last():
    columns = Schema(NestedField(1, "b", StringType()))
    server = served(POST=given(made(version("SELECT 2"))))
    server.catalog().views.replace(
        "db.v", made(version("SELECT 1")), new("SELECT 2", schema=columns)
    )
    schema, added, _ = body(server.requests[-1])["updates"]
    assert schema["schema"]["schema-id"] == 1 and schema["schema"]["fields"][0]["name"] == "b"
    assert added["view-version"]["schema-id"] == -1


def test_a_former_definition_becomes_current_again_by_its_id():
    base = made(version("SELECT 1"), version("SELECT 2"))
    server = served(POST=given(base))
    server.catalog().views.replace("db.v", base, new("SELECT 1", 99))
    assert body(server.requests[-1])["updates"] == [
        {"action": "set-current-view-version", "view-version-id": 1}
    ]


def test_a_location_is_requested():
    made_there = replace(made(version("SELECT 1")), location="/x")
    server = served(NEW=given(made_there), POST=given(made_there))
    views, asked = server.catalog().views, replace(new("SELECT 1"), location="/x")
    assert views.create("db.v", asked).location == "/x"
    assert body(server.requests[-1])["location"] == "/x"
    current = {"action": "set-current-view-version", "view-version-id": 1}
    views.replace("db.v", made(version("SELECT 1")), asked)
    moved = {"action": "set-location", "location": "/x"}
    assert body(server.requests[-1])["updates"] == [current, moved]
    views.replace("db.v", made_there, asked)
    assert body(server.requests[-1])["updates"] == [current]


def test_a_move_whose_answer_is_lost_has_landed_where_the_view_is_there():
    base = made(version("SELECT 1"))
    moved, asked = replace(base, location="/x"), replace(new("SELECT 1", 7), location="/x/")
    server = served(POST=[LOST, given(moved)], GET=given(base))
    assert server.catalog().views.replace("db.v", base, asked) == moved
    assert len([one for one in server.asked() if one.startswith("POST")]) == 2
    server = served(POST=LOST, GET=given(moved))
    assert server.catalog().views.replace("db.v", base, asked) == moved


def test_a_query_of_another_dialect_is_not_lost_silently():
    trino = ViewRepresentation("SELECT 1", "trino")
    base = made(version("SELECT 1", representations=(trino,)))
    server = served(POST=given(base))
    views = server.catalog().views
    with pytest.raises(ValidationException, match=r"trino.*replace\.drop-dialect-allowed"):
        views.replace("db.v", base, new("SELECT 1"))
    assert server.asked() == []
    views.replace("db.v", base, new("SELECT 1", **{"replace.drop-dialect-allowed": "true"}))
    assert server.asked() == [f"POST {ONE}"]


def test_a_lost_answer_is_looked_for_in_the_view():
    """The server gives the first version its own time, and adds to its summary, as Java's do."""
    ours = given(made(version("SELECT 1", 6, summary={"iceberg-version": "1.11.0"})))
    server = served(NEW=LOST, GET=ours)
    assert server.catalog().views.create("db.v", new("SELECT 1")).view_uuid == UUID
    assert len([one for one in server.asked() if one.startswith("POST")]) == 1


def test_a_view_of_anothers_after_a_lost_answer_is_not_taken_for_ours():
    others = given(made(version("SELECT 1"), version("SELECT 2")))
    server = served(NEW=[LOST, TAKEN], GET=others)
    with pytest.raises(ViewAlreadyExistsError):
        server.catalog().views.create("db.v", new("SELECT 1"))


def test_a_view_is_loaded_after_its_creation_response_was_cut_off():
    server = served(NEW=httpx.Response(200, text="{}"), GET=given(made(version("SELECT 1"))))
    assert server.catalog().views.create("db.v", new("SELECT 1")).view_uuid == UUID


def test_a_replacement_whose_answer_is_lost_has_landed_where_it_is_in_the_history():
    """Another one came after it."""
    now = made(version("SELECT 1"), version("SELECT 2", 7), version("SELECT 3", 8))
    server = served(POST=LOST, GET=given(now))
    views = server.catalog().views
    assert views.replace("db.v", made(version("SELECT 1")), new("SELECT 2", 7)) == now


def test_a_replacement_that_did_not_land_is_sent_again():
    base = made(version("SELECT 1"))
    after = made(version("SELECT 1"), version("SELECT 2", 7))
    server = served(POST=[LOST, given(after)], GET=given(base))
    assert server.catalog().views.replace("db.v", base, new("SELECT 2", 7)) == after


def test_a_drop_whose_answer_is_lost_has_happened_where_the_view_is_gone():
    server = served(DELETE=LOST, GET=GONE)
    server.catalog().views.drop("db.v")
    with pytest.raises(NoSuchViewError):
        served(DELETE=GONE).catalog().views.drop("db.v")


def test_renaming_names_both():
    server = served(RENAME=httpx.Response(204))
    server.catalog().views.rename("db.v", "db.w")
    assert body(server.requests[-1]) == {
        "source": {"namespace": ["db"], "name": "v"},
        "destination": {"namespace": ["db"], "name": "w"},
    }


@pytest.mark.parametrize(
    ("answer", "raised"),
    [
        (TAKEN, ViewAlreadyExistsError),
        (error(404, "NoSuchNamespaceException"), NoSuchNamespaceError),
        (GONE, NoSuchViewError),
    ],
)
def test_a_refused_rename_has_a_reason(answer: httpx.Response, raised: type[Exception]):
    with pytest.raises(raised):
        served(RENAME=answer).catalog().views.rename("db.v", "db.w")


def test_a_list_comes_in_pages():
    def page(name: str, token: str | None) -> httpx.Response:
        node = {"identifiers": [{"namespace": ["db"], "name": name}], "next-page-token": token}
        return httpx.Response(200, json=node)

    server = served(ALL=[page("v", "t1"), page("w", None)])
    catalog = TableCatalog(server.catalog(**{"rest-page-size": "1"}))
    assert catalog.list_views("db") == [("db", "v"), ("db", "w")]
    assert "pageToken=t1" in server.asked()[1]


def test_a_view_is_looked_for_as_the_server_can():
    server = served(GET=GONE)
    assert not server.catalog().views.exists("db.v")
    assert server.asked() == [f"GET {ONE}"]
    endpoints = ["HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}"]
    server = FakeServer({f"HEAD {ONE}": httpx.Response(204)}, {"endpoints": endpoints})
    assert server.catalog().views.exists("db.v")


def test_views_are_not_requested_from_a_server_without_view_endpoints():
    server = FakeServer()
    catalog = TableCatalog(server.catalog())
    for ask in (catalog.load_view, catalog.view_exists, catalog.list_views, catalog.drop_view):
        with pytest.raises(UnsupportedError, match="does not have the endpoint"):
            ask("db.v")
    assert server.asked() == []


def test_an_answer_without_a_view_is_no_view():
    server = served(GET=httpx.Response(200, json={"metadata-location": "/w/v.json"}))
    with pytest.raises(ServiceUnavailableError, match="no view metadata"):
        server.catalog().views.load("db.v")


def test_or_replace_creates_where_nothing_is_and_takes_up_what_others_made():
    after = given(made(version("SELECT 0"), version("SELECT 1")))
    server = served(GET=[GONE, given(made(version("SELECT 0", 1)))], NEW=TAKEN, POST=after)
    create_or_replace(server.catalog().views, "db.v", new("SELECT 1"))
    assert server.asked() == [f"GET {ONE}", f"POST {ALL}", f"GET {ONE}", f"POST {ONE}"]


def test_or_replace_gives_up_where_a_table_has_the_name():
    server = served(GET=GONE, NEW=TAKEN)
    with pytest.raises(ViewAlreadyExistsError):
        create_or_replace(server.catalog().views, "db.v", new("SELECT 1"))


def test_or_replace_gives_up_where_the_view_is_another_each_time():
    other = error(409, "CommitFailedException")
    server = served(GET=given(made(version("SELECT 0"))), POST=other)
    with pytest.raises(CommitFailedException):
        create_or_replace(server.catalog().views, "db.v", new("SELECT 1"))


def test_names_are_checked_before_any_request():
    server = served()
    catalog = TableCatalog(server.catalog())
    for name in (("db", "a.v"), "db..v"):
        with pytest.raises(InvalidInputError):
            catalog.load_view(name)
    with pytest.raises(NoSuchViewError, match="root namespace"):
        catalog.load_view("v")
    with pytest.raises(NoSuchTableError, match="root namespace"):
        catalog.load_table("t")
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables(())
    assert not catalog.namespace_exists(()) and not catalog.table_exists("t")
    assert server.asked() == []


def test_requests_repeat_with_one_key_where_the_server_takes_keys():
    config = {**HAS_VIEWS, "idempotency-key-lifetime": "PT30M"}
    posts = [LOST, given(made(version("SELECT 1")))]
    server = FakeServer({f"POST {ALL}": posts, f"GET {ONE}": GONE}, config)
    server.catalog().views.create("db.v", new("SELECT 1"))
    sent = [one for one in server.requests if one.method == "POST"]
    assert len({one.headers["Idempotency-Key"] for one in sent}) == 1 and len(sent) == 2
    assert json.loads(sent[0].content) == json.loads(sent[1].content)


def test_properties_are_set_and_taken_away_in_one_request_whose_answer_may_be_lost():
    base = made(version("SELECT 1"))
    after = replace(base, properties={"a": "b"})
    for replies in ({"POST": given(after)}, {"POST": LOST, "GET": given(after)}):
        server = served(**replies)
        server.catalog().views.update_properties("db.v", base, {"a": "b"}, ("c",))
        assert server.asked().count(f"POST {ONE}") == 1
        sent = next(body(one) for one in server.requests if one.method == "POST")
        assert sent["requirements"] == [{"type": "assert-view-uuid", "uuid": UUID}]
        assert sent["updates"] == [
            {"action": "set-properties", "updates": {"a": "b"}},
            {"action": "remove-properties", "removals": ["c"]},
        ]
