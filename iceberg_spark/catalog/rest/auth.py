"""Authentication: the headers that identify the caller, renewed before they expire."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import unquote, urlsplit

from iceberg_spark.catalog.rest.oauth2 import OAuth2
from iceberg_spark.catalog.rest.settings import RestSettings
from iceberg_spark.catalog.rest.sigv4 import SigV4
from iceberg_spark.catalog.rest.transport import Request, Transport
from iceberg_spark.errors import InvalidInputError, UnsupportedError

TYPE = "rest.auth.type"
SIGV4_ENABLED = "rest.sigv4-enabled"
DELEGATE = "rest.auth.sigv4.delegate-auth-type"
USERNAME = "rest.auth.basic.username"
PASSWORD = "rest.auth.basic.password"  # noqa: S105 (a property's name)


class Auth(Protocol):
    """Authenticates requests."""

    def signed(self, request: Request) -> Request:
        """Return the request with authentication. Raises UnauthorizedError."""
        ...

    def renew(self, refused: Request) -> bool:
        """Replace what a request was refused with; False if there is no replacement."""
        ...

    def hidden(self) -> tuple[str, ...]:
        """Return the texts that must never be shown."""
        ...

    def of_table(self, config: Mapping[str, str]) -> Auth | None:
        """Return a table's own authentication, None to use the catalog's."""
        ...

    def for_tasks(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties that authenticate a task: a token, without the client's secret."""
        ...


class FixedHeaders:
    """The same headers for each request: none, or a user's name and password."""

    __slots__ = ("_headers", "_hidden")

    def __init__(self, headers: Mapping[str, str], hidden: tuple[str, ...] = ()) -> None:
        self._headers = dict(headers)
        self._hidden = hidden

    def signed(self, request: Request) -> Request:
        """Return the request with the headers, unless it has the caller's own."""
        return request.with_headers({**self._headers, **request.headers})

    def renew(self, refused: Request) -> bool:  # noqa: ARG002 (they stay what they are)
        """Return False: the headers do not change."""
        return False

    def hidden(self) -> tuple[str, ...]:
        """Return the password."""
        return self._hidden

    def of_table(self, config: Mapping[str, str]) -> None:
        """Return None: tables have no other headers, as in Java."""

    def for_tasks(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties unchanged: no token replaces a password."""
        return dict(properties)


def auth_of(
    name: str, properties: Mapping[str, str], settings: RestSettings, transport: Transport
) -> Auth:
    """Return the authentication that properties configure, chosen as Java does.

    `rest.auth.type` or `rest.sigv4-enabled` decide; otherwise a `token`, a `credential` or
    `oauth2-server-uri` selects OAuth2. Raises InvalidInputError, UnsupportedError.
    """
    kind = properties.get(TYPE, "").lower()
    if not kind and properties.get(SIGV4_ENABLED, "false").lower() == "true":
        kind = "sigv4"
    if kind == "sigv4":
        below = properties.get(DELEGATE, "")
        inner = _plain(name, below.lower(), properties, settings, transport)
        return SigV4(properties, inner)
    return _plain(name, kind, properties, settings, transport)


def _plain(
    name: str,
    kind: str,
    properties: Mapping[str, str],
    settings: RestSettings,
    transport: Transport,
) -> Auth:
    asks = {"token", "credential", "oauth2-server-uri"} & properties.keys()
    match kind or ("oauth2" if asks else "none"):
        case "none":
            return _of_uri(settings.uri)
        case "basic":
            user, password = properties.get(USERNAME), properties.get(PASSWORD)
            if not user or password is None:
                raise InvalidInputError(
                    f"Catalog '{name}' has {TYPE} basic: give {USERNAME} and {PASSWORD}"
                )
            return basic(user, password)
        case "oauth2":
            return OAuth2(name, properties, settings, transport)
        case other:
            raise UnsupportedError(
                f"Catalog '{name}' has {TYPE} '{other}'; supported are none, basic, oauth2, sigv4"
            )


def basic(user: str, password: str) -> FixedHeaders:
    """Return the headers for a user's name and password."""
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    return FixedHeaders({"Authorization": f"Basic {encoded}"}, (encoded, password))


def _of_uri(uri: str) -> FixedHeaders:
    parts = urlsplit(uri)
    if parts.username is None:
        return FixedHeaders({})
    return basic(unquote(parts.username), unquote(parts.password or ""))
