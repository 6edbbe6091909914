"""The settings of a REST client in a catalog's properties, by Java's and PyIceberg's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iceberg_spark.errors import InvalidInputError, InvalidOptionError
from iceberg_spark.io.secrets import secrets_of

URI = "uri"
WAREHOUSE = "warehouse"
PREFIX = "prefix"
SEPARATOR = "namespace-separator"
PAGE_SIZE = "rest-page-size"
CONNECT_TIMEOUT = "rest.client.connection-timeout-ms"
SOCKET_TIMEOUT = "rest.client.socket-timeout-ms"
REPORTS = "rest-metrics-reporting-enabled"
MAX_RETRIES = "rest.client.max-retries"
PLANNING_MODE = "scan-planning-mode"
PLANNING_TIMEOUT = "rest-scan-planning.poll-timeout-ms"
CA_BUNDLE = "ssl.cabundle"
CLIENT_CERTIFICATE = "ssl.client.cert"
CLIENT_KEY = "ssl.client.key"
HEADER = "header."
DELEGATION = "X-Iceberg-Access-Delegation"

_SECRET_HEADERS = frozenset({"header.authorization", "header.cookie"})
_UNIT_SEPARATOR = "%1F"
_DEFAULT_HEADERS = {
    "Accept": "application/json",
    "User-Agent": "iceberg-spark",
    DELEGATION: "vended-credentials",
}


@dataclass(frozen=True, slots=True)
class RestSettings:
    """How to reach the server; times in seconds.

    `prefix` and `separator` are parts of URLs, already encoded.
    """

    uri: str = field(repr=False)  # it may hold a password
    warehouse: str | None
    prefix: str
    separator: str
    page_size: int | None
    connect_timeout_s: float
    socket_timeout_s: float
    max_retries: int
    headers: Mapping[str, str] = field(repr=False)
    ca_bundle: str | None = None
    client_certificate: tuple[str, str | None] | None = None
    reports: bool = True
    planning_timeout_s: float = 300.0
    """How long to wait for the server to plan a scan (Java's default)."""


def rest_settings(name: str, properties: Mapping[str, str]) -> RestSettings:
    """Return the settings of a catalog. Raises InvalidInputError, InvalidOptionError."""
    uri = properties.get(URI, "").rstrip("/")
    if not uri.startswith(("http://", "https://")):
        raise InvalidInputError(
            f"Catalog '{name}' of type rest needs the property {URI}, its server's address: "
            "http://... or https://..."
        )
    certificate = properties.get(CLIENT_CERTIFICATE)
    page_size = _number(properties, PAGE_SIZE, 0)
    return RestSettings(
        uri,
        properties.get(WAREHOUSE),
        properties.get(PREFIX, "").strip("/"),
        _encoded(properties.get(SEPARATOR) or _UNIT_SEPARATOR),
        page_size or None,
        _number(properties, CONNECT_TIMEOUT, 10_000) / 1000,
        _number(properties, SOCKET_TIMEOUT, 60_000) / 1000,
        _number(properties, MAX_RETRIES, 5),
        _headers(properties),
        properties.get(CA_BUNDLE),
        (certificate, properties.get(CLIENT_KEY)) if certificate else None,
        properties.get(REPORTS, "true").strip().lower() == "true",
        _number(properties, PLANNING_TIMEOUT, 300_000) / 1000,
    )


def hidden_values(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the texts that must never be shown: secrets, also in a credential or in headers."""
    more = {
        f"{key}.secret": value.partition(":")[2] or value
        for key, value in properties.items()
        if key == "credential" or key.lower() in _SECRET_HEADERS
    }
    return secrets_of((*properties.items(), *more.items()))


def _headers(properties: Mapping[str, str]) -> dict[str, str]:
    chosen = {key[len(HEADER) :]: v for key, v in properties.items() if key.startswith(HEADER)}
    names = {key.lower() for key in chosen}
    usual = {key: v for key, v in _DEFAULT_HEADERS.items() if key.lower() not in names}
    return {**usual, **chosen}


def _encoded(separator: str) -> str:
    """Return the separator encoded for URLs; servers send it encoded, users may not."""
    return separator if separator.isprintable() and "\x1f" not in separator else _UNIT_SEPARATOR


def _number(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name)
    if text is None:
        return default
    if not text.strip().isdecimal():
        raise InvalidOptionError(f"Property '{name}' must be a whole number, not '{text}'")
    return int(text)
