"""Configuration, paths, repeated reads, and errors that say what was wrong."""

from itertools import count
from pathlib import Path

import httpx
import pytest

import iceberg_spark as ice
from iceberg_spark.catalog.rest import session as rest_session
from iceberg_spark.catalog.rest.session import session_of
from iceberg_spark.errors import (
    ForbiddenError,
    InvalidInputError,
    InvalidOptionError,
    NoSuchNamespaceError,
    NoSuchTableError,
    ServiceUnavailableError,
    UnauthorizedError,
    UnsupportedError,
)
from tests.unit.catalog.rest.fake_server import URI, FakeServer, error

TABLE = "v1/namespaces/db/tables/t"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", pauses.append)
    return pauses


def test_defaults_lie_below_the_callers_properties_and_overrides_above():
    server = FakeServer(config={"defaults": {"a": "1", "b": "1"}, "overrides": {"c": "3"}})
    catalog = server.catalog(b="2", c="2")
    found = catalog._session.config.properties
    assert (found["a"], found["b"], found["c"]) == ("1", "2", "3")


def test_the_configuration_is_requested_once_with_the_warehouse():
    server = FakeServer(
        {f"HEAD {TABLE}": httpx.Response(204)},
        {"endpoints": ["HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}"]},
    )
    catalog = server.catalog(warehouse="w/1")
    assert catalog.table_exists("db.t") and catalog.table_exists("db.t")
    first, *others = server.requests
    assert str(first.url) == f"{URI}/v1/config?warehouse=w%2F1"
    assert [one.method for one in others] == ["HEAD", "HEAD"]


def test_catalogs_of_the_same_properties_share_a_session():
    assert session_of("c", {"uri": URI}) is session_of("c", {"uri": URI})
    assert session_of("c", {"uri": URI}) is not session_of("c", {"uri": URI, "token": "x"})


def test_prefix_and_separator_stand_in_paths_as_the_server_gave_them():
    config = {"overrides": {"prefix": "ws%2Fone/x", "namespace-separator": "%2E"}}
    server = FakeServer(config=config)
    with pytest.raises(ServiceUnavailableError):
        server.catalog().load("a b.c/d.é+f")
    assert server.asked()[0].startswith(
        "GET v1/ws%2Fone/x/namespaces/a%20b%2Ec%2Fd/tables/%C3%A9%2Bf"
    )


def test_the_separator_is_the_unit_separator_unless_the_server_names_one():
    server = FakeServer({"HEAD v1/namespaces/a%1Fb": httpx.Response(204)})
    server.replies["GET v1/namespaces/a%1Fb"] = httpx.Response(200, json={})
    assert server.catalog().namespaces.exists(("a", "b"))


def test_a_part_that_has_the_separator_in_it_is_no_other_namespace():
    server = FakeServer()
    for asked in (server.catalog().namespaces.drop, server.catalog().namespaces.list_namespaces):
        with pytest.raises(InvalidInputError, match="between parts"):
            asked(("a\x1fb",))
    assert server.asked() == []


def test_an_endpoint_that_the_server_lacks_is_named():
    server = FakeServer(config={"endpoints": ["GET /v1/{prefix}/namespaces"]})
    with pytest.raises(UnsupportedError, match=r"POST /v1/\{prefix\}/namespaces"):
        server.catalog().namespaces.create(("db",), {})


PASSING = {
    "429": error(429, "SlowDownException", **{"Retry-After": "7"}),
    "500": error(500, "InternalServerError"),
    "502": httpx.Response(502, text="<html>bad gateway</html>"),
    "503": error(503, "SlowDownException"),
    "cut": httpx.RemoteProtocolError("peer closed connection"),
    "refused": httpx.ConnectError("connection refused"),
    "silent": httpx.ReadTimeout("timed out"),
    "truncated": httpx.Response(200, text='{"identifiers": [{"name"'),
    "html": httpx.Response(200, html="<html>please wait</html>"),
}


@pytest.mark.parametrize("fault", PASSING)
def test_a_read_is_repeated_while_its_failure_may_pass(fault: str, no_pauses: list[float]):
    right = httpx.Response(200, json={"identifiers": [{"namespace": ["db"], "name": "t"}]})
    server = FakeServer({"GET v1/namespaces/db/tables": [PASSING[fault], PASSING[fault], right]})
    assert server.catalog().namespaces.list_tables(("db",)) == [("db", "t")]
    assert no_pauses == [7, 7] if fault == "429" else all(pause <= 5 for pause in no_pauses)


@pytest.mark.parametrize("fault", PASSING)
def test_a_permanent_failure_is_an_error_with_a_reason(fault: str):
    server = FakeServer({"GET v1/namespaces/db/tables": PASSING[fault]})
    with pytest.raises(ServiceUnavailableError, match=r"namespaces/db/tables|list the tables of"):
        server.catalog().namespaces.list_tables(("db",))
    assert len(server.asked()) == 6


def test_a_server_that_asks_for_too_long_a_pause_is_not_waited_for():
    server = FakeServer({f"GET {TABLE}": error(503, "Down", **{"Retry-After": "86400"})})
    with pytest.raises(ServiceUnavailableError, match="Down"):
        server.catalog().load("db.t")
    assert len(server.asked()) == 1


REFUSALS = {
    "unknown caller": (error(401, "NotAuthorizedException"), UnauthorizedError),
    "forbidden": (error(403, "ForbiddenException"), ForbiddenError),
    "no table": (error(404, "NoSuchTableException"), NoSuchTableError),
    "no namespace": (error(404, "NoSuchNamespaceException"), NoSuchNamespaceError),
    "a gateway's 404": (httpx.Response(404, html="<h1>nginx</h1>"), ServiceUnavailableError),
    "bad request": (error(400, "BadRequestException"), InvalidInputError),
    "not implemented": (error(501, "NotImplemented"), UnsupportedError),
    "redirect": (httpx.Response(307, headers={"Location": "http://x/"}), InvalidInputError),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_not_repeated_and_means_one_error(case: str):
    reply, wanted = REFUSALS[case]
    server = FakeServer({f"GET {TABLE}": reply})
    with pytest.raises(wanted) as raised:
        server.catalog().load("db.t")
    assert type(raised.value) is wanted
    assert len(server.asked()) == 1


def test_a_list_that_does_not_end_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rest_session, "_MOST_PAGES", 5)
    numbers = count(1)

    def page(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"namespaces": [], "next-page-token": str(next(numbers))})

    server = FakeServer({"GET v1/namespaces": page})
    with pytest.raises(UnsupportedError, match=r"5 pages.*rest-page-size"):
        server.catalog(**{"rest-page-size": "2"}).namespaces.list_namespaces(())
    assert next(numbers) == 6


def test_lists_are_requested_page_by_page():
    def page(request: httpx.Request) -> httpx.Response:
        token = request.url.params["pageToken"]
        node = {"": ([["a"], ["b"]], "2"), "2": ([["c"]], None)}[token]
        return httpx.Response(200, json={"namespaces": node[0], "next-page-token": node[1]})

    server = FakeServer({"GET v1/namespaces": page})
    found = server.catalog(**{"rest-page-size": "2"}).namespaces.list_namespaces(())
    assert found == [("a",), ("b",), ("c",)]
    assert [one.split("?")[1] for one in server.asked()] == [
        "pageToken=&pageSize=2",
        "pageToken=2&pageSize=2",
    ]


def test_a_catalog_without_an_address_or_with_a_wrong_number_is_refused_at_once(tmp_path: Path):
    with pytest.raises(InvalidInputError, match="uri"):
        ice.load_catalog("c", type="rest")
    with pytest.raises(InvalidOptionError, match="socket-timeout"):
        ice.load_catalog("c", type="rest", uri=URI, **{"rest.client.socket-timeout-ms": "soon"})
