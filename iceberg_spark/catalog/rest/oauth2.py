"""Bearer tokens by OAuth2: configured, requested with a client's credential, or exchanged."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from iceberg_spark.catalog.rest.answers import Answer
from iceberg_spark.catalog.rest.paths import TOKENS
from iceberg_spark.catalog.rest.settings import RestSettings, hidden_values
from iceberg_spark.catalog.rest.transport import Request, Transport
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    ServiceUnavailableError,
    UnauthorizedError,
)
from iceberg_spark.io.secrets import blot

TOKEN = "token"  # noqa: S105 (a property's name)
CREDENTIAL = "credential"
SERVER = "oauth2-server-uri"
EXPIRES_IN_MS = "token-expires-in-ms"
REFRESH_ENABLED = "token-refresh-enabled"
EXCHANGE_ENABLED = "token-exchange-enabled"
_OPTIONAL = ("audience", "resource")
_TYPE = "urn:ietf:params:oauth:token-type:"
_ACCESS = f"{_TYPE}access_token"
_GIVEN_TYPES = tuple(
    f"{_TYPE}{kind}" for kind in ("id_token", "access_token", "jwt", "saml2", "saml1")
)
"""Properties with a token to exchange for one of the catalog's; the first one applies."""
_OWN = frozenset({TOKEN, EXPIRES_IN_MS, *_GIVEN_TYPES})
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_WINDOW = 0.1  # share of a token's lifetime, before its end
_LONGEST_WINDOW_S = 300.0
_TRIES = 4


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token; `renew_at` is in seconds of the monotonic clock, None if unknown."""

    text: str = field(repr=False)
    renew_at: float | None = None
    expires_at: float | None = None


class OAuth2:
    """A token for all requests, renewed before it expires or after it is refused."""

    __slots__ = ("_lock", "_name", "_parent", "_properties", "_settings", "_token", "_transport")

    def __init__(
        self,
        name: str,
        properties: Mapping[str, str],
        settings: RestSettings,
        transport: Transport,
        parent: OAuth2 | None = None,
    ) -> None:
        """`parent` is the catalog's token, for a table's own token."""
        self._name = name
        self._properties = properties
        self._settings = settings
        self._transport = transport
        self._parent = parent
        self._token: Token | None = None
        self._lock = threading.Lock()

    def signed(self, request: Request) -> Request:
        """Return the request with a valid token."""
        if "Authorization" in request.headers:
            return request
        token = self._current()
        return request.with_headers({"Authorization": f"Bearer {token.text}"})

    def renew(self, refused: Request) -> bool:
        """Get another token than the one that was refused."""
        if not self._may_renew():
            return False
        with self._lock:
            before = self._token
            if before is None or refused.headers.get("Authorization") != f"Bearer {before.text}":
                return True  # another thread has renewed it since
            self._token = self._renewed(before)
            return self._token.text != before.text

    def hidden(self) -> tuple[str, ...]:
        """Return the current token."""
        return (self._token.text,) if self._token else ()

    def of_table(self, config: Mapping[str, str]) -> OAuth2 | None:
        """Return a table's own token, given or exchanged for one (Java: OAuth2Manager)."""
        own = own_of_table(config)
        if not own:
            return None
        remaining = {k: v for k, v in self._properties.items() if k not in _OWN}
        return OAuth2(self._name, {**remaining, **own}, self._settings, self._transport, self)

    def for_tasks(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties with the current token in place of what requests tokens.

        Raises UnauthorizedError.
        """
        private = {CREDENTIAL, *_OWN}
        remaining = {name: value for name, value in properties.items() if name not in private}
        return {**remaining, TOKEN: self._current().text}

    def _parents(self) -> str | None:
        return self._parent._current().text if self._parent else None

    def _current(self) -> Token:
        token, now = self._token, time.monotonic()
        if token is not None and (token.renew_at is None or now < token.renew_at):
            return token
        with self._lock:
            token = self._token
            if token is None:
                self._token = self._first()
            elif token.renew_at is not None and now >= token.renew_at and self._may_renew():
                self._token = self._renewed_early(token)
            return self._token or self._first()

    def _may_renew(self) -> bool:
        return self._properties.get(REFRESH_ENABLED, "true").lower() != "false"

    def _first(self) -> Token:
        text = self._properties.get(TOKEN)
        if text:
            return _passed_token(text, self._properties.get(EXPIRES_IN_MS))
        for kind in _GIVEN_TYPES:
            if kind in self._properties:
                return self._exchanged(self._properties[kind], kind, self._parents())
        return self._by_credential()

    def _renewed_early(self, before: Token) -> Token:
        """Renew a token that is still valid; if that fails, use it until it expires.

        A server may refuse to exchange a token without a credential (a task's token).
        """
        try:
            return self._renewed(before)
        except (ServiceUnavailableError, UnauthorizedError):
            if before.expires_at is None or time.monotonic() >= before.expires_at:
                raise
            return before

    def _renewed(self, before: Token) -> Token:
        """Renew by the credential if there is one, like the first token, otherwise by exchange."""
        exchanges = self._properties.get(EXCHANGE_ENABLED, "").lower()
        has_credential = bool(self._properties.get(CREDENTIAL))
        if exchanges == "true" or (not has_credential and exchanges != "false"):
            try:
                return self._exchanged(before.text, _ACCESS, before.text)
            except IcebergError:
                if not has_credential:
                    raise
        return self._by_credential()

    def _by_credential(self) -> Token:
        credential = self._properties.get(CREDENTIAL)
        if not credential:
            raise InvalidInputError(
                f"Catalog '{self._name}' needs the property {TOKEN}, or {CREDENTIAL}: client:secret"
            )
        client, colon, secret = credential.partition(":")
        who = {"client_id": client, "client_secret": secret} if colon else {"client_secret": client}
        return self._requested({"grant_type": "client_credentials", **who}, {})

    def _exchanged(self, subject: str, kind: str, bearer: str | None = None) -> Token:
        form = {"grant_type": _EXCHANGE, "subject_token": subject, "subject_token_type": kind}
        return self._requested(form, {"Authorization": f"Bearer {bearer}"} if bearer else {})

    def _requested(self, form: Mapping[str, str], headers: Mapping[str, str]) -> Token:
        properties = self._properties
        more = {name: properties[name] for name in _OPTIONAL if name in properties}
        body = {**form, "scope": properties.get("scope", "catalog"), **more}
        request = self._transport.complete(
            Request(
                "POST",
                properties.get(SERVER) or TOKENS,
                body=urlencode(body).encode(),
                headers={"Content-Type": "application/x-www-form-urlencoded", **headers},
            )
        )
        again = Retrying(
            retry=retry_if_exception_type(ServiceUnavailableError),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random_exponential(multiplier=0.1, max=2.0),
            reraise=True,
        )
        held = tuple(v for k, v in form.items() if k in ("client_secret", "subject_token"))
        hidden = (*hidden_values(properties), *held)
        return again(self._answered, request, hidden)

    def _answered(self, request: Request, hidden: tuple[str, ...]) -> Token:
        answer = self._transport.send(request)
        if answer.is_ok:
            node = answer.node()
            text = node.get("access_token")
            if isinstance(text, str) and text:
                return _token(text, node.get("expires_in"))
        raise self._refused(answer, hidden)

    def _refused(self, answer: Answer, hidden: tuple[str, ...]) -> IcebergError:
        error = answer.error({400: UnauthorizedError}, f"get a token for catalog '{self._name}'")
        return type(error)(blot(str(error), hidden))


def own_of_table(config: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a table's configuration for its own token; empty without one."""
    own = {key: value for key, value in config.items() if key in _OWN}
    return own if own.keys() - {EXPIRES_IN_MS} else {}


def _passed_token(text: str, expires_in_ms: str | None) -> Token:
    if expires_in_ms and expires_in_ms.isdecimal():
        return _token(text, int(expires_in_ms) / 1000)
    expires = _expiry_of(text)
    return _token(text, None if expires is None else expires - time.time())


def _token(text: str, expires_in_s: object) -> Token:
    if not isinstance(expires_in_s, int | float) or isinstance(expires_in_s, bool):
        return Token(text)
    now = time.monotonic()
    window = min(expires_in_s * _WINDOW, _LONGEST_WINDOW_S)
    return Token(text, now + expires_in_s - window, now + expires_in_s)


def _expiry_of(token: str) -> float | None:
    """Return the expiry time in a JWT, in seconds since the epoch."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    expires = claims.get("exp") if isinstance(claims, dict) else None
    return float(expires) if isinstance(expires, int | float) else None
