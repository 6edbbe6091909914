"""Storage of one table by what its server gave for it: configuration and credentials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from iceberg_spark.catalog.rest.settings import HEADER
from iceberg_spark.catalog.trust import Trust
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io import location

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
_REMOTE_SIGNING = "s3.remote-signing-enabled"
_KEY = "s3.access-key-id"


def storage_properties(
    catalog: Mapping[str, str], answer: Mapping[str, Any], place: str, trust: Trust
) -> dict[str, str]:
    """Return what opens a table's files: the catalog's properties below the table's own.

    `answer` is a LoadTableResult; of its credentials the one with the longest prefix of `place`
    counts. Raises UnsupportedError where the server insists on signing requests itself, and for
    what only the user may set.
    """
    source = f"The server's answer for the table at {place}"
    config = trust.accepted(texts(answer.get("config")), source)
    found = accepted_credential(answer.get("storage-credentials"), place, trust)
    trust.check_stores({**config, **found}, source)
    below = {key: value for key, value in catalog.items() if is_of_storage(key)}
    own = {key: value for key, value in config.items() if is_of_storage(key)}
    every = {**below, **own, **found}
    if every.get(_REMOTE_SIGNING, "").lower() == "true" and _KEY not in {**own, **found}:
        raise UnsupportedError(
            f"The server of {place} wants to sign each request to the store ({_REMOTE_SIGNING}), "
            "which is not supported: have it give credentials (vended-credentials) instead"
        )
    return every


def is_of_storage(name: str) -> bool:
    """Return whether a property may be about storage; the rest is about the catalog's server."""
    return name not in _NOT_OF_STORAGE_EITHER and not name.startswith(_NOT_OF_STORAGE)


def accepted_credential(credentials: Any, place: str, trust: Trust) -> dict[str, str]:
    """Return the properties of the credential for a place that count. Raises UnsupportedError."""
    return trust.accepted(credential_for(credentials, place), f"The credentials for {place}")


def renewed_credential(credentials: Any, place: str, trust: Trust) -> dict[str, str]:
    """Return the same for credentials that stand alone: they name a store for their own secrets."""
    renewed = accepted_credential(credentials, place, trust)
    trust.check_stores(renewed, f"The renewed credentials for {place}")
    return renewed


def credential_for(credentials: Any, place: str) -> dict[str, str]:
    """Return the properties of the credential with the longest prefix of a place."""
    best: dict[str, str] = {}
    length = -1
    for each in credentials if isinstance(credentials, Iterable) else ():
        prefix = str(each.get("prefix", "")) if isinstance(each, dict) else ""
        if _spelt(place).startswith(_spelt(prefix)) and len(prefix) > length:
            best, length = texts(each.get("config")), len(prefix)
    return best


def expires_at_ms(properties: Mapping[str, str]) -> int | None:
    """Return when the first of the credentials expires (ms since the epoch), None: not known."""
    ends = [
        int(value)
        for key, value in properties.items()
        if key.startswith(_EXPIRY) and value.strip().isdecimal()
    ]
    return min(ends, default=None)


def texts(node: Any) -> dict[str, str]:
    """Return the texts of a JSON object, none of what is no object."""
    if not isinstance(node, dict):
        return {}
    return {str(key): str(value) for key, value in node.items() if value is not None}


def _spelt(place: str) -> str:
    """Return a place with the scheme by which its store is known: s3 for s3a, and so on."""
    _, colon, rest = place.partition("://")
    return f"{location.store_of(place)}{colon}{rest}" if colon else place
