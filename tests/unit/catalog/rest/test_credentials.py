"""Storage of a table: what the server gave for it, and how that is renewed."""

import base64
import json
import pickle
import time
from collections.abc import Mapping

import httpx
import pytest

from iceberg_spark.catalog.rest import vended_io
from iceberg_spark.catalog.rest.credentials import credential_for, is_signed, storage_properties
from iceberg_spark.catalog.rest.session import RestSession
from iceberg_spark.catalog.rest.vended_io import VendedIO
from iceberg_spark.catalog.trust import Trust
from iceberg_spark.errors import ServiceUnavailableError, UnauthorizedError, UnsupportedError
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.metadata_json import metadata_to_json
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.schema import Schema
from tests.unit.catalog.rest.fake_server import URI, FakeServer, error, in_place_of_network

TRUST = Trust("c", {"uri": URI})
EXPIRES = "s3.session-token-expires-at-ms"
CREDENTIALS = [
    {"prefix": "s3://b", "config": {"s3.access-key-id": "whole"}},
    {"prefix": "s3://b/t", "config": {"s3.access-key-id": "table"}},
    {"prefix": "gs://b/t/long", "config": {"gcs.oauth2.token": "other"}},
]


def test_the_credential_with_the_longest_prefix_counts():
    assert credential_for(CREDENTIALS, "s3://b/t/x") == {"s3.access-key-id": "table"}
    assert credential_for(CREDENTIALS, "s3a://b/u") == {"s3.access-key-id": "whole"}
    assert credential_for(CREDENTIALS, "s3://c") == {}
    assert credential_for(None, "s3://c") == {}


def test_a_tables_own_properties_lie_over_the_catalogs_and_its_credential_over_both():
    catalog = {"s3.endpoint": "http://a", "s3.region": "r", "token": "secret", "uri": "http://x"}
    answer = {
        "config": {"s3.region": "table", "s3.access-key-id": "old", "token": "table"},
        "storage-credentials": CREDENTIALS,
    }
    assert storage_properties(catalog, answer, "s3://b/t", TRUST) == {
        "s3.endpoint": "http://a",
        "s3.region": "table",
        "s3.access-key-id": "table",
    }


def test_a_server_that_signs_requests_gets_no_keys_of_the_user():
    config = {"s3.remote-signing-enabled": "true", "s3.region": "r"}
    keys = {"s3.access-key-id": "mine", "client.secret-access-key": "x", "s3.session-token": "y"}
    found = storage_properties(keys, {"config": config}, "s3://b/t", TRUST)
    assert found == config and is_signed(found)
    given = {"config": config, "storage-credentials": CREDENTIALS}
    found = storage_properties({}, given, "s3://b/t", TRUST)
    assert found["s3.access-key-id"] == "table" and not is_signed(found)


def in_ms(seconds: float) -> str:
    return str(int((time.time() + seconds) * 1000))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    """Gives credentials that are good for an hour."""
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    server = FakeServer()
    node = {"prefix": "s3://b", "config": {"s3.access-key-id": "new", EXPIRES: in_ms(3600)}}
    right = httpx.Response(200, json={"storage-credentials": [node]})
    server.replies["GET v1/namespaces/db/tables/t/credentials"] = right
    session = server.catalog()._session
    monkeypatch.setattr(vended_io, "session_of", lambda *_: session)
    return server


def storage(expires_in_s: float) -> VendedIO:
    io = open_storage({"s3.access-key-id": "old", EXPIRES: in_ms(expires_in_s), "a": "b"})
    return VendedIO("c", {"uri": URI}, "db.t", "s3://b/t", io)


def test_credentials_are_renewed_once_they_are_about_to_expire(server: FakeServer):
    io = storage(0)
    assert io.properties["s3.access-key-id"] == io.properties["s3.access-key-id"] == "new"
    assert io.properties["a"] == "b"
    assert len(server.asked()) == 1


def test_a_table_without_renewable_credentials_is_loaded_in_full() -> None:
    metadata = new_metadata(Schema(), location="s3://b/t", now_ms=1)
    node = {
        "metadata-location": "s3://b/t/m.json",
        "metadata": json.loads(metadata_to_json(metadata)),
        "config": {"s3.access-key-id": "key", EXPIRES: in_ms(3600)},
    }
    server = FakeServer(
        {"GET v1/namespaces/db/tables/t": httpx.Response(200, json=node, headers={"ETag": "v1"})}
    )
    catalog = server.catalog()
    catalog.load("db.t")
    catalog.load("db.t")
    assert not [one for one in server.requests if "If-None-Match" in one.headers]


def test_credentials_that_are_good_are_used_as_they_are(server: FakeServer):
    assert storage(3600).properties["s3.access-key-id"] == "old"
    assert server.asked() == []


def test_a_task_renews_them_itself(server: FakeServer):
    in_task = pickle.loads(pickle.dumps(storage(0)))
    assert in_task.properties["s3.access-key-id"] == "new"
    assert "old" not in repr(in_task)


def test_a_server_that_is_down_matters_only_once_they_have_expired(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
):
    server.replies["GET v1/namespaces/db/tables/t/credentials"] = error(503, "Down")
    io = storage(60)
    now = time.time()
    monkeypatch.setattr("iceberg_spark.catalog.rest.vended_io.time.time", lambda: now + 45)
    assert io.properties["s3.access-key-id"] == "old"
    monkeypatch.setattr("iceberg_spark.catalog.rest.vended_io.time.time", lambda: now + 75)
    with pytest.raises(ServiceUnavailableError):
        _ = io.properties


def test_renewed_credentials_name_no_store_for_the_users_secrets(server: FakeServer):
    hostile = {"gcs.service.host": "https://evil.example.com", EXPIRES: in_ms(3600)}
    answer = {"storage-credentials": [{"prefix": "s3://b", "config": hostile}]}
    server.replies["GET v1/namespaces/db/tables/t/credentials"] = httpx.Response(200, json=answer)
    with pytest.raises(UnsupportedError, match=r"gcs\.service\.host"):
        _ = storage(0).properties


CLIENT = {"uri": URI, "credential": "id:client-secret", "adls.account-key": "store-secret"}
CREDENTIALS_OF_T = "GET v1/namespaces/db/tables/t/credentials"


def connect(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sessions of any properties ask the server, as those of a task do."""

    def session(name: str, properties: Mapping[str, str]) -> RestSession:
        return RestSession(name, properties, in_place_of_network(server))

    monkeypatch.setattr(vended_io, "session_of", session)
    token = {"access_token": "catalogs-token", "token_type": "bearer"}
    server.replies["POST v1/oauth/tokens"] = httpx.Response(200, json=token)


def expired_storage(**properties: str) -> VendedIO:
    io = open_storage({"s3.access-key-id": "old", EXPIRES: in_ms(-1)})
    return VendedIO("c", {**CLIENT, **properties}, "db.t", "s3://b/t", io)


def test_a_task_renews_by_the_catalogs_token_and_gets_no_secret_of_the_client(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(server, monkeypatch)
    pickled = pickle.dumps(expired_storage())
    assert b"client-secret" not in pickled
    assert b"store-secret" not in pickled
    in_task = pickle.loads(pickled)
    assert in_task.properties["s3.access-key-id"] == "new"
    assert server.requests[-1].headers["Authorization"] == "Bearer catalogs-token"
    assert server.asked() == ["POST v1/oauth/tokens", CREDENTIALS_OF_T]
    assert pickle.dumps(in_task).count(b"catalogs-token") == 1


def test_a_task_with_an_expired_token_suggests_a_solution(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(server, monkeypatch)
    in_task = pickle.loads(pickle.dumps(expired_storage()))
    server.replies[CREDENTIALS_OF_T] = error(401, "NotAuthorizedException", "token expired")
    server.replies["POST v1/oauth/tokens"] = error(400, "invalid_request", "no exchange")
    with pytest.raises(UnauthorizedError, match=r"tasks\.allow-credential to 'true'"):
        _ = in_task.properties


def test_a_user_may_send_the_credential_to_tasks(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(server, monkeypatch)
    pickled = pickle.dumps(expired_storage(**{"tasks.allow-credential": "true"}))
    assert b"client-secret" in pickled
    assert pickle.loads(pickled).properties["s3.access-key-id"] == "new"


def test_a_task_signs_by_the_users_keys_where_the_catalog_wants_it(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(server, monkeypatch)
    signing = {"rest.sigv4-enabled": "true", "rest.signing-region": "r"}
    keys = {"client.access-key-id": "users-key", "client.secret-access-key": "users-secret"}
    catalog = {"uri": URI, **signing, **keys, "gcs.oauth2.token": "store-secret"}
    io = open_storage({"s3.access-key-id": "old", EXPIRES: in_ms(-1)})
    pickled = pickle.dumps(VendedIO("c", catalog, "db.t", "s3://b/t", io))
    assert b"store-secret" not in pickled
    assert pickle.loads(pickled).properties["s3.access-key-id"] == "new"
    assert "users-key" in server.requests[-1].headers["Authorization"]


def test_a_token_that_no_server_exchanges_is_used_to_its_end() -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + 1000}).encode()).decode()
    replies = {"GET v1/namespaces": httpx.Response(200, json={"namespaces": []})}
    server = FakeServer({**replies, "POST v1/oauth/tokens": error(400, "invalid_request")})
    catalog = server.catalog(token=f"a.{claims}.c")
    with pytest.MonkeyPatch.context() as patch:
        now = time.monotonic()
        patch.setattr("iceberg_spark.catalog.rest.oauth2.time.monotonic", lambda: now)
        catalog.namespaces.list_namespaces(())
        now += 950
        assert catalog.namespaces.list_namespaces(()) == []
        now += 100
        with pytest.raises(UnauthorizedError):
            catalog.namespaces.list_namespaces(())
