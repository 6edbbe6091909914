"""How a server knows the caller, and that no secret is shown."""

import base64
import json
import logging
import time
from urllib.parse import parse_qs

import httpx
import pytest

from iceberg_spark.errors import (
    ForbiddenError,
    IcebergError,
    InvalidInputError,
    ServiceUnavailableError,
    UnauthorizedError,
    UnsupportedError,
)
from tests.unit.catalog.rest.fake_server import FakeServer, error

PAGE = "GET v1/namespaces"
EMPTY = httpx.Response(200, json={"namespaces": []})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


def token(text: str, expires_in: int | None = None) -> httpx.Response:
    node = {"access_token": text, "token_type": "bearer", "expires_in": expires_in}
    return httpx.Response(200, json={k: v for k, v in node.items() if v is not None})


def forms(server: FakeServer) -> list[dict[str, str]]:
    asked = [one for one in server.requests if "token" in str(one.url)]
    return [{k: v[0] for k, v in parse_qs(one.content.decode()).items()} for one in asked]


def bearers(server: FakeServer) -> list[str]:
    """What the requests for lists came with."""
    asked = [one for one in server.requests if "/namespaces" in str(one.url)]
    return [one.headers.get("Authorization", "none") for one in asked]


def test_a_configured_token_is_sent_with_each_request():
    server = FakeServer({PAGE: EMPTY})
    server.catalog(token="abcd-1234").namespaces.list_namespaces(())
    assert [one.headers["Authorization"] for one in server.requests] == ["Bearer abcd-1234"] * 2


def test_a_token_is_got_once_for_a_credential():
    server = FakeServer({PAGE: EMPTY, "POST v1/oauth/tokens": token("t1")})
    catalog = server.catalog(credential="me:pa:ss", scope="all", audience="us")
    for _ in range(2):
        catalog.namespaces.list_namespaces(())
    assert bearers(server) == ["Bearer t1"] * 2
    assert forms(server) == [
        {
            "grant_type": "client_credentials",
            "client_id": "me",
            "client_secret": "pa:ss",
            "scope": "all",
            "audience": "us",
        }
    ]


def test_a_token_that_is_about_to_expire_is_renewed_before_the_next_request(
    monkeypatch: pytest.MonkeyPatch,
):
    server = FakeServer({PAGE: EMPTY, "POST v1/oauth/tokens": [token("t1", 100), token("t2", 100)]})
    catalog = server.catalog(credential="me:pass")
    catalog.namespaces.list_namespaces(())
    now = time.monotonic()
    monkeypatch.setattr("iceberg_spark.catalog.rest.oauth2.time.monotonic", lambda: now + 95)
    catalog.namespaces.list_namespaces(())
    assert bearers(server) == ["Bearer t1", "Bearer t2"]


def test_a_token_that_is_still_good_is_used_where_no_new_one_can_be_had(
    monkeypatch: pytest.MonkeyPatch,
):
    down = error(503, "Down")
    server = FakeServer({PAGE: EMPTY, "POST v1/oauth/tokens": [token("t1", 100), down]})
    catalog = server.catalog(credential="me:pass")
    catalog.namespaces.list_namespaces(())
    now = time.monotonic()
    monkeypatch.setattr("iceberg_spark.catalog.rest.oauth2.time.monotonic", lambda: now + 95)
    catalog.namespaces.list_namespaces(())
    monkeypatch.setattr("iceberg_spark.catalog.rest.oauth2.time.monotonic", lambda: now + 105)
    with pytest.raises(ServiceUnavailableError):
        catalog.namespaces.list_namespaces(())
    assert bearers(server) == ["Bearer t1", "Bearer t1"]


@pytest.mark.parametrize("status", [401, 419])
def test_a_refused_token_is_renewed_and_the_request_sent_again(status: int):
    replies = [error(status, "NotAuthorizedException"), EMPTY]
    server = FakeServer({PAGE: replies, "POST v1/oauth/tokens": [token("t1"), token("t2")]})
    server.catalog(credential="me:pass").namespaces.list_namespaces(())
    assert bearers(server) == ["Bearer t1", "Bearer t2"]


def test_a_token_alone_is_exchanged_for_a_new_one():
    replies = [error(401, "NotAuthorizedException"), EMPTY]
    server = FakeServer({PAGE: replies, "POST v1/oauth/tokens": token("t2")})
    server.catalog(token="first-one").namespaces.list_namespaces(())
    assert bearers(server) == ["Bearer first-one", "Bearer t2"]
    (form,) = forms(server)
    assert form["grant_type"].endswith("token-exchange") and form["subject_token"] == "first-one"


def test_the_expiry_of_a_jwt_is_read_from_it(monkeypatch: pytest.MonkeyPatch):
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + 100}).encode())
    jwt = f"e30.{claims.decode().rstrip('=')}.x"
    server = FakeServer({PAGE: EMPTY, "POST v1/oauth/tokens": token("t2")})
    catalog = server.catalog(token=jwt)
    catalog.namespaces.list_namespaces(())
    now = time.monotonic()
    monkeypatch.setattr("iceberg_spark.catalog.rest.oauth2.time.monotonic", lambda: now + 99)
    catalog.namespaces.list_namespaces(())
    assert bearers(server) == [f"Bearer {jwt}", "Bearer t2"]


def test_another_kind_of_token_is_exchanged_first():
    kind = "urn:ietf:params:oauth:token-type:saml2"
    server = FakeServer({PAGE: EMPTY, "POST v1/oauth/tokens": token("t1")})
    given = {"oauth2-server-uri": "http://catalog.test/api/v1/oauth/tokens", kind: "assertion"}
    server.catalog(**given).namespaces.list_namespaces(())
    assert forms(server)[0]["subject_token_type"] == kind


def test_basic_and_headers_of_ones_own_and_the_address():
    server = FakeServer({PAGE: EMPTY})
    basic = {"rest.auth.type": "basic", "rest.auth.basic.username": "me"}
    server.catalog(**basic, **{"rest.auth.basic.password": "pa:ss"}).namespaces.list_namespaces(())
    wanted = base64.b64encode(b"me:pa:ss").decode()
    assert bearers(server) == [f"Basic {wanted}"]
    server = FakeServer({PAGE: EMPTY})
    server.catalog(
        **{"header.Authorization": "Mine x", "header.X-A": "b"}, token="abcd"
    ).namespaces.list_namespaces(())
    assert bearers(server) == ["Mine x"]
    assert server.requests[-1].headers["X-A"] == "b"
    with pytest.raises(InvalidInputError, match="password"):
        server.catalog(**basic)
    with pytest.raises(UnsupportedError, match="kerberos"):
        server.catalog(**{"rest.auth.type": "kerberos"})


def test_requests_are_signed_with_sigv4():
    server = FakeServer({PAGE: EMPTY})
    given = {
        "rest.sigv4-enabled": "true",
        "rest.signing-name": "glue",
        "rest.signing-region": "eu-west-1",
        "client.access-key-id": "AKIDEXAMPLE",
        "client.secret-access-key": "wJalrXUtnFEMI",
        "client.session-token": "session",
    }
    server.catalog(**given, token="inner-token").namespaces.list_namespaces(())
    last = server.requests[-1].headers
    assert last["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/glue/aws4_request" in last["Authorization"]
    assert last["Original-Authorization"] == "Bearer inner-token"
    assert last["x-amz-security-token"] == "session"


def test_a_signature_is_not_logged(caplog: pytest.LogCaptureFixture):
    """botocore's canonical request holds the session token."""
    caplog.set_level("DEBUG")
    server = FakeServer({PAGE: EMPTY})
    given = {
        "rest.sigv4-enabled": "true", "rest.signing-region": "r", "client.access-key-id": "key",
        "client.secret-access-key": "secret", "client.session-token": "token-of-session",
    }  # fmt: skip
    server.catalog(**given).namespaces.list_namespaces(())
    assert server.requests[-1].headers["x-amz-security-token"] == "token-of-session"
    assert "token-of-session" not in caplog.text
    assert "CanonicalRequest" not in caplog.text


def test_a_servers_words_are_one_line_without_control_characters():
    words = "first\nsecond\r\x1b[2J\u202ethird"
    server = FakeServer({PAGE: error(403, "ForbiddenException", words)})
    with pytest.raises(ForbiddenError) as raised:
        server.catalog().namespaces.list_namespaces(())
    assert "first second" in str(raised.value)
    assert str(raised.value).isprintable()


SECRETS = ("pass-of-client", "token-of-mine", "basic-password")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 500])
def test_no_secret_is_shown_even_if_the_server_repeats_it(
    status: int, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    words = f"wrong: {' '.join(SECRETS)}"
    server = FakeServer({PAGE: error(status, "Oops", words)})
    server.replies["POST v1/oauth/tokens"] = error(status, "Oops", words)
    for given in (
        {"token": SECRETS[1], "credential": f"me:{SECRETS[0]}", "header.X-Token": SECRETS[2]},
        {"credential": f"me:{SECRETS[0]}"},
    ):
        catalog = server.catalog(**given)
        with pytest.raises(IcebergError) as raised:
            catalog.namespaces.list_namespaces(())
        cause = raised.value.__cause__
        shown = f"{raised.value!r} {cause!r} {catalog!r} {catalog._session!r} {caplog.text}"
        held = [value.rpartition(":")[2] for value in given.values()]
        assert not [secret for secret in held if secret in shown]


def test_a_wrong_credential_raises_a_clear_error():
    refusal = httpx.Response(
        401, json={"error": "invalid_client", "error_description": "unknown client"}
    )
    server = FakeServer({"POST v1/oauth/tokens": refusal})
    with pytest.raises(UnauthorizedError, match="invalid_client: unknown client"):
        server.catalog(credential="me:pass").load("db.t")
