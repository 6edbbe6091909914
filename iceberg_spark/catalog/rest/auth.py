"""Authentication: the headers that identify the caller, renewed before they expire."""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from iceberg_spark.catalog.rest.oauth2 import OAuth2
from iceberg_spark.catalog.rest.settings import RestSettings
from iceberg_spark.catalog.rest.transport import Request, Transport
from iceberg_spark.errors import InvalidInputError, UnauthorizedError, UnsupportedError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.spec.secrets import is_secret

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


botocore_auth = LazyModule("botocore.auth")
botocore_request = LazyModule("botocore.awsrequest")
botocore_credentials = LazyModule("botocore.credentials")
botocore_session = LazyModule("botocore.session")

SIGNING_NAME = "rest.signing-name"
SIGNING_REGION = "rest.signing-region"
_REGIONS = (SIGNING_REGION, "client.region", "s3.region")
_KEYS = ("rest.", "client.", "s3.")
_RELOCATED = "Original-Authorization"
_SIGNED_HEADERS = frozenset({"content-type", "host"})


_is_signing: ContextVar[bool] = ContextVar("is_signing", default=False)


class _NotWhileSigning(logging.Filter):
    """Drops botocore's log of a signature: the canonical request contains the session token."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
        """Return whether another request wrote the record."""
        return not _is_signing.get()


_FILTER = _NotWhileSigning()


@contextmanager
def _without_log() -> Iterator[None]:
    logging.getLogger("botocore.auth").addFilter(_FILTER)  # adding it again changes nothing
    token = _is_signing.set(True)
    try:
        yield
    finally:
        _is_signing.reset(token)


class Inner(Protocol):
    """The authentication of a request before it is signed."""

    def signed(self, request: Request) -> Request:
        """Return a request as the server wants it."""
        ...

    def renew(self, refused: Request) -> bool:
        """Get something newer."""
        ...

    def hidden(self) -> tuple[str, ...]:
        """Return the texts that must never be shown."""
        ...

    def of_table(self, config: Mapping[str, str]) -> Inner | None:
        """Return a table's own."""
        ...

    def for_tasks(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties by which a task is known."""
        ...


class SigV4:
    """Signs each request, over the headers of another kind of authentication."""

    __slots__ = ("_credentials", "_inner", "_name", "_properties", "_region")

    def __init__(self, properties: Mapping[str, str], inner: Inner) -> None:
        self._properties = properties
        self._inner = inner
        self._name = properties.get(SIGNING_NAME, "execute-api")
        self._region = next((properties[key] for key in _REGIONS if key in properties), None)
        self._credentials: Any = None

    def signed(self, request: Request) -> Request:
        """Return the request with its signature; another Authorization is moved, as in Java."""
        authenticated = self._inner.signed(request)
        headers = dict(authenticated.headers)
        moved = headers.pop("Authorization", None)
        if moved is not None:
            headers[_RELOCATED] = moved
        try:
            return self._with_signature(authenticated, headers)
        except ImportError as error:
            raise UnsupportedError(
                f"Signing requests (SigV4) needs {error.name}: pip install botocore"
            ) from error

    def renew(self, refused: Request) -> bool:
        """Load the credentials from their source again."""
        self._credentials = None
        return self._inner.renew(refused)

    def hidden(self) -> tuple[str, ...]:
        """Return the hidden texts of the inner authentication; responses never contain keys."""
        return self._inner.hidden()

    def of_table(self, config: Mapping[str, str]) -> SigV4 | None:
        """Return the signer over a table's own token, None if it has none."""
        inner = self._inner.of_table(config)
        return None if inner is None else SigV4(self._properties, inner)

    def for_tasks(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the inner authentication's properties with the keys that sign requests."""
        keys = {
            name: value
            for name, value in self._properties.items()
            if name.startswith(_KEYS) and is_secret(name)
        }
        return {**keys, **self._inner.for_tasks(properties)}

    def _with_signature(self, request: Request, headers: dict[str, str]) -> Request:
        body = request.body or b""
        signed = {k: v for k, v in headers.items() if k.lower() in _SIGNED_HEADERS}
        signed["x-amz-content-sha256"] = hashlib.sha256(body).hexdigest()
        aws_request = botocore_request.AWSRequest(
            method=request.method, url=request.url, data=body, headers=signed
        )
        with _without_log():
            botocore_auth.SigV4Auth(self._keys(), self._name, self._where()).add_auth(aws_request)
        return replace(request, headers={**headers, **dict(aws_request.headers.items())})

    def _keys(self) -> Any:
        if self._credentials is None:
            self._credentials = (
                self._keys_of_properties() or botocore_session.Session().get_credentials()
            )
        if self._credentials is None:
            raise UnauthorizedError(
                "No AWS credentials to sign requests with: give client.access-key-id and "
                "client.secret-access-key, or configure them for AWS's tools"
            )
        return self._credentials.get_frozen_credentials()

    def _keys_of_properties(self) -> Any:
        for start in _KEYS:
            key = self._properties.get(f"{start}access-key-id")
            secret = self._properties.get(f"{start}secret-access-key")
            if key and secret:
                token = self._properties.get(f"{start}session-token")
                return botocore_credentials.Credentials(key, secret, token)
        return None

    def _where(self) -> str:
        if self._region is None:
            self._region = botocore_session.Session().get_config_variable("region")
        if not self._region:
            raise InvalidInputError(f"Signing requests needs a region: give {SIGNING_REGION}")
        return self._region
