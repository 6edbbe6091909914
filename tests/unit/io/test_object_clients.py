"""PyIceberg's storage properties as arguments of obstore's clients, and what fsspec takes."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from iceberg_spark.errors import InvalidInputError, InvalidOptionError, UnsupportedError
from iceberg_spark.io import object_clients, object_files
from iceberg_spark.io.object_clients import object_store


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No keys and no profiles from outside."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


def arguments(where: str, properties: Mapping[str, str]) -> dict[str, Any]:
    kind = {"s3": "s3", "gs": "gs", "abfss": "abfs"}[where.partition(":")[0]]
    bucket = object_clients._bucket(kind, where)
    found = object_clients._ARGUMENTS[kind](bucket, properties, 8.0)
    return {**found.others, "bucket": found.bucket}


KEYS = {"s3.access-key-id": "id", "s3.secret-access-key": "hush"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (KEYS, {"access_key_id": "id", "secret_access_key": "hush"}),
        ({**KEYS, "s3.session-token": "t"}, {"session_token": "t"}),
        (
            {"client.access-key-id": "id", "client.region": "r"},
            {"access_key_id": "id", "region": "r"},
        ),
        ({"s3.anonymous": "true"}, {"skip_signature": True}),
        ({"s3.endpoint": "http://h:1"}, {"endpoint": "http://h:1"}),
        (
            {"s3.endpoint": "https://h:1", "s3.force-virtual-addressing": "true"},
            {"endpoint": "https://b.h:1", "virtual_hosted_style_request": True},
        ),
        (
            {"s3.server-side-encryption": "aws:kms", "s3.sse-kms-key-id": "k"},
            {"sse_kms_key_id": "k"},
        ),
        ({"s3.sse.type": "kms"}, {"server_side_encryption": "aws:kms"}),
    ],
)
def test_properties_of_s3(given: dict[str, str], expected: dict[str, object]):
    found = arguments("s3://b/k", given)
    assert expected.items() <= found.items()


def test_timeouts_and_a_proxy_of_s3():
    given = {"s3.connect-timeout": "3", "s3.request-timeout": "9", "s3.proxy-uri": "http://p"}
    options = arguments("s3://b/k", {**KEYS, **given})["client_options"]
    assert options["connect_timeout"].total_seconds() == 3
    assert options["read_timeout"].total_seconds() == 9
    assert options["proxy_url"] == "http://p"
    assert not options["allow_http"]


def test_an_endpoint_of_the_environment_may_be_plain_http(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert arguments("s3://b/k", KEYS)["client_options"]["allow_http"]


@pytest.mark.parametrize("how", ["property", "environment", "default"])
def test_a_profile_gives_keys_and_region(how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("AWS_REGION")
    name = "default" if how == "default" else "work"
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        f"[{name}]\naws_access_key_id = id\naws_secret_access_key = hush\n"
    )
    section = name if name == "default" else f"profile {name}"
    (tmp_path / ".aws" / "config").write_text(f"[{section}]\nregion = mars-1\n")
    if how == "environment":
        monkeypatch.setenv("AWS_PROFILE", name)
    found = arguments("s3://b/k", {"s3.profile-name": name} if how == "property" else {})
    keys = found["credential_provider"]()
    assert (keys["access_key_id"], keys["secret_access_key"]) == ("id", "hush")
    assert found["region"] == "mars-1"


def test_keys_of_the_environment_come_before_profiles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[default]\naws_access_key_id = id\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    assert "credential_provider" not in arguments("s3://b/k", {})


def test_an_unknown_encryption_is_refused():
    with pytest.raises(UnsupportedError, match=r"s3\.sse\.type=custom"):
        arguments("s3://b/k", {**KEYS, "s3.sse.type": "custom"})


def test_properties_of_google():
    found = arguments("gs://b/k", {"gcs.service.host": "http://h:1/", "gcs.oauth2.token": "t"})
    assert found["base_url"] == "http://h:1"
    assert found["credential_provider"]()["token"] == "t"
    assert found["client_options"]["allow_http"]


ACCOUNT = "abfss://c@acc.dfs.core.windows.net/k"


@pytest.mark.parametrize(
    ("where", "given", "expected"),
    [
        (ACCOUNT, {"adls.account-key": "k"}, {"bucket": "c", "account_name": "acc"}),
        (ACCOUNT, {}, {"endpoint": "https://acc.blob.core.windows.net"}),
        (ACCOUNT, {"adls.sas-token.acc": "sig"}, {"sas_key": "sig"}),
        (ACCOUNT, {"adls.sas-token.acc.dfs.core.windows.net": "sig"}, {"sas_key": "sig"}),
        (
            "abfss://c/k",
            {"adls.account-name": "a", "adls.client-id": "i", "adls.client-secret": "s"},
            {"bucket": "c", "account_name": "a", "client_id": "i", "client_secret": "s"},
        ),
        (
            "abfss://c/k",
            {"adls.connection-string": "AccountName=a;AccountKey=k==;BlobEndpoint=http://h/a"},
            {"account_name": "a", "account_key": "k==", "endpoint": "http://h/a"},
        ),
    ],
)
def test_properties_of_azure(where: str, given: dict[str, str], expected: dict[str, str]):
    assert expected.items() <= arguments(where, given).items()


@pytest.mark.parametrize(
    ("where", "given"),
    [
        ("s3://b/k", {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}),
        ("s3://b/a//b", {}),
        ("s3://b/a/../b", {}),
        ("gs://b/k", {"gcs.requester-pays": "true"}),
        ("hdfs://h/k", {}),
    ],
)
def test_what_obstore_can_not_do_fsspec_does(where: str, given: dict[str, str]):
    assert object_store(where, given, 8.0) is None


def test_clients_are_kept_by_bucket_and_properties():
    one = object_store("s3://b/k", KEYS, 8.0)
    assert one is object_store("s3a://b/other", {**KEYS, "header.x": "1"}, 8.0)
    assert one is not object_store("s3://c/k", KEYS, 8.0)


def test_a_child_of_a_process_that_used_a_client_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(object_files, "_first", [os.getpid() + 1])
    with pytest.raises(UnsupportedError, match="spawn"):
        object_store("s3://b/k", KEYS, 8.0)


def test_no_secret_is_shown():
    assert "hush" not in repr(object_store("s3://b/k", KEYS, 8.0))


def test_a_client_is_made_anew_where_the_environment_changed(monkeypatch: pytest.MonkeyPatch):
    one = object_store("s3://b/k", {}, 8.0)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    assert one is not object_store("s3://b/k", {}, 8.0)


def test_keys_that_are_renewed_in_a_file_are_used(tmp_path: Path):
    (tmp_path / ".aws").mkdir()
    file = tmp_path / ".aws" / "credentials"
    file.write_text("[default]\naws_access_key_id = old\naws_secret_access_key = hush\n")
    keys = arguments("s3://b/k", {})["credential_provider"]
    assert keys()["access_key_id"] == "old"
    file.write_text("[default]\naws_access_key_id = new\naws_secret_access_key = hush\n")
    assert keys()["access_key_id"] == "new"


@pytest.mark.parametrize("bucket", ["", "b?x", "b#x", "b%20", "a b"])
def test_what_is_no_name_of_a_bucket_is_refused(bucket: str):
    with pytest.raises(InvalidInputError, match="no name of a bucket"):
        object_store(f"s3://{bucket}/k", KEYS, 8.0)


def test_an_endpoint_without_a_scheme_is_refused():
    with pytest.raises(InvalidOptionError, match="starts with http"):
        object_store("s3://b/k", {**KEYS, "s3.endpoint": "localhost:9000"}, 8.0)


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "1e30"])
def test_times_that_are_none_are_refused(seconds: str):
    with pytest.raises(InvalidOptionError, match=r"s3\.request-timeout must be from 0"):
        object_store("s3://b/k", {**KEYS, "s3.request-timeout": seconds}, 8.0)
