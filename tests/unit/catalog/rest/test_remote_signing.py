"""Where and with what a catalog is asked to sign a request to S3."""

import json
import pickle
from typing import Any

import httpx
import pytest

from iceberg_spark.catalog.rest import paths as p
from iceberg_spark.catalog.rest.remote_signing import RestSigner, rest_signer
from iceberg_spark.errors import ServiceUnavailableError, StoragePermissionError
from iceberg_spark.io.remote_signing import StoreRequest
from tests.unit.catalog.rest.fake_server import URI, FakeServer, body, error

SIGN = "POST v1/namespaces/db/tables/t/sign"
GET = StoreRequest("GET", "https://s3/b/k", "eu", {"range": "bytes=0-9"})


def answer(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"uri": "https://s3/b/k?x", "headers": {"A": ["1", "2"]}})


def signer(
    server: FakeServer, properties: dict[str, str] | None = None, **result: Any
) -> RestSigner:
    session = server.catalog(token="a-token", credential="me:hidden-word")._session
    catalog = {"uri": URI, "token": "a-token", "credential": "me:hidden-word"}
    return rest_signer("c", catalog, "db.t", result, properties or {}, {}, session)


@pytest.mark.parametrize(
    ("properties", "lists", "where"),
    [
        ({}, True, f"{URI}/v1/namespaces/db/tables/t/sign"),
        ({}, False, f"{URI}/v1/aws/s3/sign"),
        ({"s3.signer.endpoint": "/sign/x"}, True, f"{URI}/sign/x"),
        ({"signer.uri": "http://other/", "signer.endpoint": "s"}, True, "http://other/s"),
        ({"s3.signer.uri": "http://o", "s3.signer.endpoint": "http://full/s"}, True, "http://full/s"),
    ],
)  # fmt: skip
def test_the_server_says_where_it_signs(properties, lists, where):
    endpoints = [p.LOAD_TABLE, *([p.SIGN] if lists else [])]
    server = FakeServer(config={"endpoints": endpoints})
    server.replies = {f"POST {where.removeprefix(f'{URI}/')}": answer}
    made = signer(server, properties)
    if where.startswith(("http://o", "http://f")):
        assert made.endpoint == where
        return
    signed = made.sign(GET)
    assert (signed.url, signed.headers) == ("https://s3/b/k?x", {"A": "1, 2"})
    assert str(server.requests[-1].url) == where


def test_a_request_is_sent_with_what_the_server_asks_for():
    server = FakeServer({SIGN: answer}, {"endpoints": [p.SIGN]})
    config = {"properties": {"k": "v"}, "headers": {"X-Of-Server": ["a", "b"]}}
    signer(server, **{"remote-signing-config": config}).sign(
        StoreRequest("POST", "https://s3/b?delete", "eu", {"h": "1"}, "<Delete/>")
    )
    request = server.requests[-1]
    assert body(request) == {
        "method": "POST", "region": "eu", "uri": "https://s3/b?delete", "headers": {"h": ["1"]},
        "body": "<Delete/>", "properties": {"k": "v"}, "provider": "s3",
    }  # fmt: skip
    assert request.headers["X-Of-Server"] == "a, b"
    assert request.headers["Authorization"] == "Bearer a-token"


def test_refusals_and_failures_are_told_apart(monkeypatch):
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    busy = error(503, "ServiceUnavailableException")
    server = FakeServer({SIGN: [busy, answer]}, {"endpoints": [p.SIGN]})
    assert signer(server).sign(GET).url.endswith("?x")
    server.replies[SIGN] = error(403, "ForbiddenException", "no")
    with pytest.raises(StoragePermissionError, match=r"sign a GET of table db\.t in S3.*no"):
        signer(server).sign(GET)
    server.replies[SIGN] = httpx.Response(200, json={"uri": "https://s3/b/k"})
    with pytest.raises(ServiceUnavailableError, match="no signed request"):
        signer(server).sign(GET)


def test_signatures_of_a_range_are_used_for_others_unless_they_cover_it():
    covers = ["SignedHeaders=host;range;x-amz-date, Signature=1", "SignedHeaders=host, Signature=1"]
    for number, authorization in enumerate(covers):
        node = {"uri": f"https://s3/{number}", "headers": {"Authorization": [authorization]}}
        reply = httpx.Response(200, json=node, headers={"Cache-Control": "private"})
        server = FakeServer({SIGN: reply}, {"endpoints": [p.SIGN]})
        made = signer(server)
        for part in ("bytes=0-9", "bytes=10-19", "bytes=0-9"):
            made.sign(StoreRequest("GET", f"https://s3/{number}", "eu", {"Range": part}))
        assert len(server.asked("POST")) == 2 - number


def test_a_signer_travels_to_tasks_without_the_clients_secret():
    made = signer(FakeServer(config={"endpoints": [p.SIGN]}))
    sent = pickle.dumps(made)
    assert b"hidden-word" not in sent and b"a-token" in sent
    assert json.loads(json.dumps(pickle.loads(sent).endpoint)) == made.endpoint
    assert made == signer(FakeServer(config={"endpoints": [p.SIGN]}))
