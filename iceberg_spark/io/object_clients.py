"""obstore's clients for S3, Google and Azure, created from PyIceberg's storage properties."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    StoragePermissionError,
    UnsupportedError,
)
from iceberg_spark.io import location
from iceberg_spark.io.numbers import is_true, number
from iceberg_spark.io.object_files import process_of_threads
from iceberg_spark.io.object_store import ObjectStore, is_odd
from iceberg_spark.io.pinned_host import REDIRECT_HOSTS, pinned_host
from iceberg_spark.io.store import IO_IMPL
from iceberg_spark.lazy import LazyModule

stores = LazyModule("obstore.store")

_KINDS = frozenset({"s3", "gs", "abfs"})
_ONLY_FSSPEC = ("gcs.requester-pays", "gcs.session-kwargs", "gcs.access", "adls.credential")
"""Properties that obstore has nothing for."""
_USED = ("s3.", "gcs.", "adls.", "client.", REDIRECT_HOSTS)
_ENVIRONMENT = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_REGION", "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_TOKEN",
    "AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "no_proxy",
)  # fmt: skip
"""Environment variables that clients read on creation; they are part of the cache key."""
_RETRIES = 4
_LAST_RETRY = 0.7  # of the time that failures in passing are waited for
_LONGEST = timedelta(hours=1)
"""A whole request: a large part over a thin line is bounded by its silence, not by its length."""


def object_store(where: str, properties: Mapping[str, str], timeout_s: float) -> ObjectStore | None:
    """Return obstore's store for a location, None where fsspec has to take it.

    Raises InvalidOptionError, UnsupportedError in a child of a process that used obstore.
    """
    kind = location.store_of(where)
    if kind not in _KINDS or not _can_take(where, properties):
        return None
    used = tuple(sorted((k, v) for k, v in properties.items() if k.startswith(_USED)))
    environment = tuple(map(os.environ.get, _ENVIRONMENT))
    return _store(kind, _bucket(kind, where), used, timeout_s, process_of_threads(), environment)


def _can_take(where: str, properties: Mapping[str, str]) -> bool:
    if properties.get(IO_IMPL, "").endswith("FsspecFileIO") or is_odd(where):
        return False
    if any(properties.get(name, "").lower() not in ("", "false") for name in _ONLY_FSSPEC):
        return False
    return find_spec("obstore") is not None


def _bucket(kind: str, where: str) -> str:
    """Return the bucket; of Azure container and host, `container@account.dfs...`, if it has one."""
    bucket = location.strip_scheme(where).partition("/")[0]
    if not bucket or _NO_NAME.search(bucket):  # part of the address would select another object
        raise InvalidInputError(f"Can't open {where}: '{bucket}' is no name of a bucket")
    return bucket if kind == "abfs" else bucket.rpartition("@")[2]


@lru_cache(maxsize=64)
def _store(
    kind: str,
    bucket: str,
    properties_key: tuple[tuple[str, str], ...],
    timeout_s: float,
    _process: int,
    _environment: tuple[str | None, ...],
) -> ObjectStore:
    properties = dict(properties_key)
    arguments = _ARGUMENTS[kind](bucket, properties, timeout_s)
    arguments.others["client_options"] |= pinned_host(kind, arguments.others, properties)
    again = {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=timeout_s * _LAST_RETRY)}
    make = partial(getattr(stores, _CLASSES[kind]), arguments.bucket, **arguments.others)
    once = lru_cache(maxsize=1)(partial(make, retry_config={"max_retries": 0}))
    return ObjectStore(kind, bucket, make(retry_config=again), once)


_NO_NAME = re.compile(r"[\s?#%\\]")

_CLASSES = {"s3": "S3Store", "gs": "GCSStore", "abfs": "AzureStore"}


@dataclass(frozen=True, slots=True)
class _Arguments:
    """Arguments of an obstore client."""

    bucket: str
    others: dict[str, Any] = field(repr=False)  # keys are among them


def _client_options(endpoint: str, connect_s: float, silent_s: float) -> dict[str, Any]:
    if endpoint and not endpoint.startswith(("http://", "https://")):
        raise InvalidOptionError(f"An endpoint starts with http:// or https://, not {endpoint}")
    return {
        "allow_http": endpoint.startswith("http:"),
        "connect_timeout": timedelta(seconds=connect_s),
        "read_timeout": timedelta(seconds=silent_s),
        "timeout": _LONGEST,
    }


def _s3(bucket: str, properties: Mapping[str, str], timeout_s: float) -> _Arguments:
    def either(name: str) -> str | None:
        return properties.get(f"s3.{name}") or properties.get(f"client.{name}")

    environment = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    endpoint = properties.get("s3.endpoint") or environment or ""
    options = _client_options(
        endpoint,
        number(properties, "s3.connect-timeout", timeout_s / 2),
        number(properties, "s3.request-timeout", 60.0),
    )
    if proxy := properties.get("s3.proxy-uri"):
        options["proxy_url"] = proxy
    keys: dict[str, Any] = {
        "access_key_id": either("access-key-id"),
        "secret_access_key": either("secret-access-key"),
        "session_token": either("session-token"),
    }
    region = either("region")
    if is_true(properties, "s3.anonymous"):
        keys = {"skip_signature": True}
    elif keys["access_key_id"] is None:
        profile = aws_profile(either("profile-name"), either("role-arn"), properties, region)
        if profile is not None:
            region = region or profile.region
            keys = {"credential_provider": profile.credentials}
    # Not every S3-compatible server supports deleting many objects by one request.
    keys["disable_bulk_delete"] = True
    virtual = is_true(properties, "s3.force-virtual-addressing")
    arguments = {
        **keys,
        **_encryption(properties),
        "endpoint": _with_bucket(endpoint, bucket) if virtual and endpoint else endpoint,
        "region": region or _region_of(bucket, endpoint),
        "virtual_hosted_style_request": virtual,
        "client_options": options,
    }
    return _Arguments(bucket, {key: value for key, value in arguments.items() if value})


def _with_bucket(endpoint: str, bucket: str) -> str:
    kind, colon, host = endpoint.partition("://")
    return f"{kind}{colon}{bucket}.{host}"


def _region_of(bucket: str, endpoint: str) -> str | None:
    """Return a bucket's region, by a request to AWS if it is not configured."""
    if endpoint or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        return None
    try:
        return str(LazyModule("pyarrow.fs").resolve_s3_region(bucket))
    except (OSError, NotImplementedError):
        return None


_SSE = {"s3": "AES256", "kms": "aws:kms", "dsse-kms": "aws:kms:dsse"}


def _encryption(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return how objects are encrypted: PyIceberg's names of it, or Java's `s3.sse.type`."""
    kind = properties.get("s3.sse.type", "none").lower()
    if kind not in ("none", *_SSE):
        raise UnsupportedError(f"s3.sse.type={kind} is not supported; it is one of none, s3, kms")
    key = properties.get("s3.sse-kms-key-id") or properties.get("s3.sse.key")
    return {
        "server_side_encryption": properties.get("s3.server-side-encryption") or _SSE.get(kind),
        "sse_kms_key_id": key,
    }


def _gs(bucket: str, properties: Mapping[str, str], timeout_s: float) -> _Arguments:
    endpoint = properties.get("gcs.service.host", "")
    arguments: dict[str, Any] = {"client_options": _client_options(endpoint, timeout_s / 2, 60.0)}
    if endpoint:
        arguments["base_url"] = endpoint.rstrip("/")
    if token := properties.get("gcs.oauth2.token"):
        arguments["credential_provider"] = _always({"token": token, "expires_at": None})
    elif is_true(properties, "gcs.anonymous"):
        arguments["skip_signature"] = True
    return _Arguments(bucket, arguments)


def _always(credential: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: dict(credential)


_AZURE_NAMES = {
    "adls.account-name": "account_name",
    "adls.account-key": "account_key",
    "adls.sas-token": "sas_key",
    "adls.tenant-id": "tenant_id",
    "adls.client-id": "client_id",
    "adls.client-secret": "client_secret",
}
_CONNECTION = {
    "AccountName": "account_name",
    "AccountKey": "account_key",
    "SharedAccessSignature": "sas_key",
    "BlobEndpoint": "endpoint",
}
_HOST = re.compile(r"^(?P<container>[^@]+)@(?P<account>[^.]+)\.")


def _abfs(bucket: str, properties: Mapping[str, str], timeout_s: float) -> _Arguments:
    arguments: dict[str, Any] = {
        argument: properties[property_name]
        for property_name, argument in _AZURE_NAMES.items()
        if property_name in properties
    }
    for part in properties.get("adls.connection-string", "").split(";"):
        name, equals, value = part.partition("=")
        if equals and name in _CONNECTION:
            arguments.setdefault(_CONNECTION[name], value)
    container, host = bucket, properties.get("adls.account-host")
    if account_host := _HOST.match(bucket):
        container, host = account_host["container"], host or bucket.partition("@")[2]
        arguments.setdefault("account_name", account_host["account"])
        own = properties.get(f"adls.sas-token.{account_host['account']}") or properties.get(
            f"adls.sas-token.{bucket.partition('@')[2]}"
        )
        if own:
            arguments["sas_key"] = own
    if host and "endpoint" not in arguments:
        arguments["endpoint"] = "https://" + host.replace(".dfs.", ".blob.", 1)
    if token := properties.get("adls.token"):
        arguments["credential_provider"] = _always({"token": token, "expires_at": None})
    if is_true(properties, "adls.anon"):
        arguments["skip_signature"] = True
    endpoint = str(arguments.get("endpoint", ""))
    arguments["client_options"] = _client_options(endpoint, timeout_s / 2, 60.0)
    return _Arguments(container, arguments)


_ARGUMENTS: dict[str, Callable[[str, Mapping[str, str], float], _Arguments]] = {
    "s3": _s3,
    "gs": _gs,
    "abfs": _abfs,
}


# Keys of AWS that only botocore finds: profiles, single sign-on, roles that are assumed.
#
# Those in properties, in the environment and of an instance or a container the client finds
# itself.

session = LazyModule("botocore.session")

_FILES = (
    ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
    ("AWS_CONFIG_FILE", "~/.aws/config"),
)
_LIFETIME = timedelta(minutes=10)
"""Assumed lifetime of keys without one; the client renews them five minutes before the end."""
_ROLE_SESSION = "iceberg-spark"


@dataclass(frozen=True, slots=True)
class AwsProfile:
    """A provider of keys, called again before they expire, and the profile's region."""

    credentials: Callable[[], dict[str, Any]]
    region: str | None


def aws_profile(
    name: str | None, role: str | None, properties: Mapping[str, str], region: str | None
) -> AwsProfile | None:
    """Return the profile to use, None if there is no profile, role or file of profiles.

    Raises UnsupportedError if one is named and botocore is not installed.
    """
    named = name or os.environ.get("AWS_PROFILE")
    in_environment = "AWS_ACCESS_KEY_ID" in os.environ
    if not (named or role) and (in_environment or not any(map(_is_there, _FILES))):
        return None
    try:
        aws_session = session.Session(profile=named)
    except ImportError:
        if not (named or role):
            return None
        raise UnsupportedError(
            "Profiles and roles of AWS need botocore; pip install 'iceberg-spark[s3]'"
        ) from None
    region = region or aws_session.get_config_variable("region")
    if role:
        return AwsProfile(lambda: _assumed(aws_session, role, properties, region), region)
    if not named and aws_session.get_credentials() is None:  # files without keys
        return None
    return AwsProfile(lambda: _profile_keys(named), region)


def _is_there(file: tuple[str, str]) -> bool:
    variable, usual = file
    return Path(os.environ.get(variable, usual)).expanduser().is_file()


def _profile_keys(name: str | None) -> dict[str, Any]:
    credentials = session.Session(profile=name).get_credentials()  # a session reads files once
    if credentials is None:
        raise StoragePermissionError(f"The AWS profile '{name}' has no keys")
    frozen = credentials.get_frozen_credentials()
    return {
        "access_key_id": frozen.access_key,
        "secret_access_key": frozen.secret_key,
        "token": frozen.token,
        "expires_at": datetime.now(UTC) + _LIFETIME,
    }


def _assumed(
    aws: Any, role: str, properties: Mapping[str, str], region: str | None
) -> dict[str, Any]:
    session_name = properties.get("s3.role-session-name") or properties.get(
        "client.role-session-name"
    )
    client = aws.create_client("sts", region_name=region or "us-east-1")
    answer = client.assume_role(RoleArn=role, RoleSessionName=session_name or _ROLE_SESSION)
    keys = answer["Credentials"]
    return {
        "access_key_id": keys["AccessKeyId"],
        "secret_access_key": keys["SecretAccessKey"],
        "token": keys["SessionToken"],
        "expires_at": keys["Expiration"],
    }
