"""No secret is shown: which properties are secrets, and what messages, reprs and plans hold."""

import traceback

import pyiceberg.io as pyiceberg_io
import pytest

from iceberg_spark.errors import IcebergError, InvalidOptionError, StorageError, redact
from iceberg_spark.io.foreign_errors import named_errors
from iceberg_spark.io.secrets import secrets_of, shown_by_spark
from iceberg_spark.save.write_options import write_options
from iceberg_spark.scan.read_options import read_options
from iceberg_spark.spec.secrets import is_secret
from tests.hostile.rig import shown

NAMES = sorted(
    value
    for name, value in vars(pyiceberg_io).items()
    if name.isupper()
    and isinstance(value, str)
    and value.startswith(("s3.", "gcs.", "adls.", "hdfs.", "client.", "hf."))
)
HIDDEN_BY_SPARK = {
    "adls.client-secret", "adls.sas-token", "adls.token", "client.secret-access-key",
    "client.session-token", "gcs.oauth2.token", "hf.token", "s3.secret-access-key",
    "s3.session-token",
}  # fmt: skip
SHOWN_BY_SPARK = {
    "adls.account-key", "adls.connection-string", "adls.credential", "client.access-key-id",
    "s3.access-key-id", "gcs.session-kwargs",
}  # fmt: skip


def test_every_storage_property_of_pyiceberg_is_a_secret_or_not() -> None:
    assert len(NAMES) > 50
    secrets = {name for name in NAMES if is_secret(name)}
    assert secrets == (HIDDEN_BY_SPARK | SHOWN_BY_SPARK) & set(NAMES)
    assert set(shown_by_spark(dict.fromkeys(NAMES, "x"))) == SHOWN_BY_SPARK & set(NAMES)
    assert set(secrets_of((name, f"value-{name}") for name in NAMES)) == {
        f"value-{name}" for name in secrets
    }


@pytest.mark.parametrize("name", sorted({*SHOWN_BY_SPARK, "catalog.credential"}))
def test_a_secret_that_spark_would_show_is_refused_as_an_option(name: str) -> None:
    for parse in (read_options, write_options):
        with pytest.raises(InvalidOptionError, match=rf"'{name}'.*\.pyiceberg\.yaml.*enable") as e:
            parse({"path": "/t", name: "hush-hush"})
        assert "hush" not in str(e.value)
    assert write_options({"path": "/t", name: "hush"}, plain=False).storage == {name: "hush"}
    assert read_options({"path": "/t", name: "hush"}, plain=False).storage == {name: "hush"}


@pytest.mark.parametrize("name", sorted(HIDDEN_BY_SPARK - {"hf.token"}))
def test_a_secret_that_spark_hides_may_stay_an_option(name: str) -> None:
    options = read_options({"path": "/t", name: "hush-hush"})
    assert options.storage == {name: "hush-hush"}
    assert "hush" not in repr(options)


@pytest.mark.parametrize(
    ("name", "value"),
    [("path", "s3://key:hush@b/t"), ("s3.proxy-uri", "http://u:hush@proxy:80"),
     ("s3.endpoint", "https://host/?sig=hush")],
)  # fmt: skip
def test_a_password_in_an_options_url_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidOptionError, match="would be visible in Spark's plans") as caught:
        read_options({"path": "/t", name: value})
    assert "hush" not in str(caught.value)


URLS = {
    "s3://key:hush@bucket/x": "s3://***@bucket/x",
    "s3://key:hu/sh@bucket/x": "s3://***@bucket/x",
    "https://user:hush@host:80/x?a=1": "https://***@host:80/x?a=1",
    "https://host/x?sv=1&sig=hush%3D&se=2": "https://host/x?sv=1&sig=***&se=2",
    "https://h/x?X-Amz-Signature=hush&X-Amz-Security-Token=hush": (
        "https://h/x?X-Amz-Signature=***&X-Amz-Security-Token=***"
    ),
    "AccountName=a;AccountKey=hush==;EndpointSuffix=b": (
        "AccountName=a;AccountKey=***;EndpointSuffix=b"
    ),
}


@pytest.mark.parametrize("text", URLS)
def test_no_error_shows_the_password_of_a_url(text: str) -> None:
    assert str(IcebergError(f"Can't read {text} now")) == f"Can't read {URLS[text]} now"
    assert redact(URLS[text]) == URLS[text]
    with pytest.raises(StorageError) as caught, named_errors("read", text, "s3"):
        raise OSError(f"refused {text}")
    assert "hush" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "text",
    ["abfss://c@account.dfs.core.windows.net/x", "hdfs://nn:8020/a@b:c@d", "/a:b@c", "s3://b/k=1:2",
     "http://h:80/x?a=b", "file:///a/day=10:30/x@y", "a token=b", "memory://x/y:z"],
)  # fmt: skip
def test_what_is_no_password_stays(text: str) -> None:
    assert redact(text) == text


def test_what_blots_secrets_out_of_messages_shows_none_itself() -> None:
    assert "hush" not in repr(named_errors("read", "s3://b/k", "s3", ("hush-hush",)))


EXPIRED = (
    "status code: 400 Bad Request: <Error><Code>ExpiredToken</Code><Message>The provided token has "
    "expired.</Message><Token-0>SESSION-TOKEN</Token-0></Error>"
)
MISMATCH = (
    "status code: 403 Forbidden: <Error><Code>SignatureDoesNotMatch</Code><CanonicalRequest>GET\n/b"
    "\nx-amz-security-token:SESSION-TOKEN\n</CanonicalRequest></Error>"
)


@pytest.mark.parametrize("text", [EXPIRED, MISMATCH])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_session_token_that_a_store_repeats_is_in_no_chained_cause(text: str, depth: int) -> None:
    """S3 answers so to credentials of a profile, which no property and no variable names."""
    answer: OSError = OSError(text)
    if depth:
        answer = PermissionError("refused")
        answer.__cause__ = OSError(text)
    with pytest.raises(IcebergError) as caught, named_errors("read", "s3://b/k", "s3"):
        raise answer
    assert "SESSION-TOKEN" not in shown(caught.value)
    assert caught.value.__cause__ is None


def test_a_secret_of_the_environment_is_in_no_message_and_no_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "hush-hush")
    with pytest.raises(IcebergError) as caught, named_errors("read", "s3://b/k", "s3"):
        raise OSError("sent hush-hush")
    assert "hush" not in shown(caught.value)
    with pytest.raises(IcebergError) as harmless, named_errors("read", "s3://b/k", "s3"):
        raise OSError("cut off")
    assert isinstance(harmless.value.__cause__, OSError)
