"""Storage of one table from a server's response: configuration and credentials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from iceberg_spark.catalog.rest.settings import HEADER
from iceberg_spark.catalog.trust import Trust
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage

_NOT_OF_STORAGE = ("rest.", "ssl.", "urn:", "oauth2", "token", HEADER)
_NOT_OF_STORAGE_EITHER = frozenset({
    "uri", "type", "prefix", "credential", "scope", "audience", "resource", "catalog-impl",
    "namespace-separator", "rest-page-size",
})  # fmt: skip
_EXPIRY = (
    "s3.session-token-expires-at-ms",
    "gcs.oauth2.token-expires-at",
    "adls.sas-token-expires-at-ms.",
    "expiration-time",
)
_TEMPORARY = ("s3.session-token", "client.session-token")
REMOTE_SIGNING = "s3.remote-signing-enabled"
_KEYS = frozenset(
    f"{prefix}.{name}"
    for prefix in ("s3", "client")
    for name in ("access-key-id", "secret-access-key", "session-token")
)
_KEY = "s3.access-key-id"


def storage_properties(
    catalog: Mapping[str, str], answer: Mapping[str, Any], table_location: str, trust: Trust
) -> dict[str, str]:
    """Return the storage properties of a table: the catalog's, overridden by the table's own.

    `answer` is a LoadTableResult; among its credentials the longest prefix of the location wins.
    If the server signs each request to S3 and sends no keys, there are no keys among them. Raises
    UnsupportedError for properties that only the user may set.
    """
    source = f"The server's answer for the table at {table_location}"
    config = trust.accepted(texts(answer.get("config")), source)
    credential = accepted_credential(answer.get("storage-credentials"), table_location, trust)
    trust.check_stores({**config, **credential}, source)
    below = {key: value for key, value in catalog.items() if is_of_storage(key)}
    own = {key: value for key, value in config.items() if is_of_storage(key)}
    every = {**below, **own, **credential}
    if not is_signed(every):
        return every
    has_keys = _KEY in {**own, **credential}
    left_out = (REMOTE_SIGNING,) if has_keys else _KEYS
    return {key: value for key, value in every.items() if key not in left_out}


def is_signed(properties: Mapping[str, str]) -> bool:
    """Return whether a server signs each request to S3."""
    return properties.get(REMOTE_SIGNING, "").lower() == "true"


def is_of_storage(name: str) -> bool:
    """Return whether a property may configure storage; other properties configure the client."""
    return name not in _NOT_OF_STORAGE_EITHER and not name.startswith(_NOT_OF_STORAGE)


def accepted_credential(credentials: Any, table_location: str, trust: Trust) -> dict[str, str]:
    """Return the accepted properties of a location's credential. Raises UnsupportedError."""
    return trust.accepted(
        credential_for(credentials, table_location), f"The credentials for {table_location}"
    )


def renewed_credential(credentials: Any, table_location: str, trust: Trust) -> dict[str, str]:
    """Return the accepted properties of renewed credentials, which come without a table."""
    renewed = accepted_credential(credentials, table_location, trust)
    trust.check_stores(renewed, f"The renewed credentials for {table_location}")
    return renewed


def plan_storage(storage: FileIO, credentials: Any, file_path: str, trust: Trust) -> FileIO:
    """Return a table's storage with a plan's credentials in place of its temporary ones.

    `file_path` is a planned file: the credential with its longest prefix counts. Raises
    UnsupportedError for properties that only the user may set.
    """
    lasting = {
        key: value
        for key, value in storage.properties.items()
        if not key.startswith((*_EXPIRY, *_TEMPORARY))
    }
    return open_storage({**lasting, **renewed_credential(credentials, file_path, trust)})


def credential_for(credentials: Any, table_location: str) -> dict[str, str]:
    """Return the properties of the credential with the longest prefix of a location."""
    best: dict[str, str] = {}
    length = -1
    for credential in credentials if isinstance(credentials, Iterable) else ():
        prefix = str(credential.get("prefix", "")) if isinstance(credential, dict) else ""
        if _spelt(table_location).startswith(_spelt(prefix)) and len(prefix) > length:
            best, length = texts(credential.get("config")), len(prefix)
    return best


def expires_at_ms(properties: Mapping[str, str]) -> int | None:
    """Return when the first credential expires (ms since the epoch), None if unknown."""
    ends = [
        int(value)
        for key, value in properties.items()
        if key.startswith(_EXPIRY) and value.strip().isdecimal()
    ]
    return min(ends, default=None)


def texts(node: Any) -> dict[str, str]:
    """Return the texts of a JSON object, {} for anything else."""
    if not isinstance(node, dict):
        return {}
    return {str(key): str(value) for key, value in node.items() if value is not None}


def _spelt(path: str) -> str:
    """Return a location with its store's main scheme: s3 for s3a, and so on."""
    _, colon, rest = path.partition("://")
    return f"{location.store_of(path)}{colon}{rest}" if colon else path
