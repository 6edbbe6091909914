"""A store that redirects to another host: what its client sends there, and what is kept from it."""

from collections.abc import Callable
from typing import Any

import obstore
import pytest
from obstore.store import AzureStore, GCSStore, S3Store

from iceberg_spark.errors import StorageError
from iceberg_spark.io.pinned_host import pinned_host
from iceberg_spark.io.storage import open_storage
from tests.hostile.rig import Reply, Request, Server, nothing, serving

OTHER_HOST = "localhost"
"""Another name of this machine: to a client it is another host than 127.0.0.1."""
S3 = {"access_key_id": "k", "secret_access_key": "s", "session_token": "SESSION", "region": "r"}
CLIENT = {"allow_http": True}
SECRETS = ("SESSION", "SIGNATURE", "BEARER")
OBJECT = {"ETag": '"a"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
PROPERTIES: dict[str, Callable[[str], dict[str, str]]] = {
    "s3://bucket/x": lambda at: {
        "s3.endpoint": at, "s3.access-key-id": "k", "s3.secret-access-key": "s",
        "s3.session-token": "SESSION", "s3.region": "r",
    },
    "gs://bucket/x": lambda at: {"gcs.service.host": at, "gcs.oauth2.token": "BEARER"},
    "abfs://container/x": lambda at: {
        "adls.connection-string":
            f"BlobEndpoint={at};AccountName=a;SharedAccessSignature=sv=1&sig=SIGNATURE",
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def redirecting(other: Server) -> Callable[[Request], Reply]:
    return lambda _: Reply(307, headers={"Location": f"{other.at(OTHER_HOST)}/stolen"})


def object_of(_: Request) -> Reply:
    return Reply(body=b"hello", headers=OBJECT)


def secrets_sent(server: Server) -> dict[str, str]:
    """The secrets that a server got, each with the header that had it."""
    return {
        secret: name
        for request in server.requests
        for name, value in request.headers.items()
        for secret in SECRETS
        if secret in value
    }


STORES: dict[str, tuple[Callable[[str], Any], dict[str, str]]] = {
    "s3": (
        lambda at: S3Store("b", endpoint=at, client_options=CLIENT, **S3),
        {"SESSION": "x-amz-security-token"},
    ),
    "azure": (
        lambda at: AzureStore(
            "c", account_name="a", sas_key="sv=1&sig=SIGNATURE", endpoint=at, client_options=CLIENT
        ),
        {"SIGNATURE": "referer"},
    ),
    "google": (
        lambda at: GCSStore(
            "b", base_url=at, client_options=CLIENT,
            credential_provider=lambda: {"token": "BEARER", "expires_at": None},
        ),
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", STORES)
def test_what_the_client_sends_to_another_host_without_the_pin(kind: str) -> None:
    """If this fails, the client has become better: then the pin may go."""
    make, sent = STORES[kind]
    with serving(object_of) as other, serving(redirecting(other)) as store:
        assert bytes(obstore.get(make(store.at()), "x").bytes()) == b"hello"
        assert secrets_sent(other) == sent


@pytest.mark.parametrize("path", PROPERTIES)
def test_a_redirect_to_another_host_gets_nothing(path: str) -> None:
    with serving(nothing) as other, serving(redirecting(other)) as store:
        io = open_storage(PROPERTIES[path](store.at()))
        with pytest.raises(StorageError, match=r"redirects to another host.*io\.redirect-hosts"):
            io.read_bytes(path)
        assert store.requests
        assert other.requests == []


@pytest.mark.parametrize("path", PROPERTIES)
def test_a_host_that_the_user_names_is_redirected_to(path: str) -> None:
    with serving(object_of) as other, serving(redirecting(other)) as store:
        allowed = {"io.redirect-hosts": f"cdn.example.com, {OTHER_HOST}"}
        io = open_storage({**PROPERTIES[path](store.at()), **allowed})
        assert io.read_bytes(path) == b"hello"
        assert other.requests


def test_a_redirect_of_a_store_to_itself_is_followed() -> None:
    def answer(request: Request) -> Reply:
        moved = Reply(307, headers={"Location": "/bucket/moved"})
        return object_of(request) if request.path.endswith("moved") else moved

    with serving(answer) as store:
        io = open_storage(PROPERTIES["s3://bucket/x"](store.at()))
        assert io.read_bytes("s3://bucket/x") == b"hello"


KEYS = {"access_key_id": "k"}
HOST = {"endpoint": "https://store.example.com", "client_options": {}}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"client_options": {}, **KEYS}, "a provider redirects among its own hosts"),
        ({**HOST, **KEYS, "endpoint": "https://s3.eu-west-1.amazonaws.com"}, "the same"),
        (HOST, "the client gets its keys from another host"),
        ({**HOST, **KEYS, "endpoint": "http://127.1:9000"}, "the client connects to 127.0.0.1"),
        ({**HOST, **KEYS, "endpoint": "http://bücher.example"}, "the client encodes the name"),
        ({**HOST, **KEYS, "client_options": {"proxy_url": "http://p"}}, "the user has a proxy"),
    ],
)
def test_a_client_that_needs_other_hosts_is_not_pinned(
    arguments: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    assert pinned_host("s3", arguments, {}) == {}, why


def test_a_client_behind_a_proxy_of_the_environment_is_not_pinned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pinned = pinned_host("s3", {**HOST, **KEYS}, {})
    assert pinned["proxy_excludes"] == "store.example.com"
    monkeypatch.setenv("https_proxy", "http://proxy.example.com")
    assert pinned_host("s3", {**HOST, **KEYS}, {}) == {}
    monkeypatch.setenv("no_proxy", "store.example.com")
    assert pinned_host("s3", {**HOST, **KEYS}, {}) == pinned


def test_keys_of_the_environment_are_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    assert pinned_host("s3", HOST, {})
    assert pinned_host("gs", HOST, {}) == {}
