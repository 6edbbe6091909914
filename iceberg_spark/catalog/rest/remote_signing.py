"""Requests to S3 that a catalog signs, so that no client has keys.

Source: REST specification, RemoteSignRequest; Java's `S3V4RestSignerClient`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.catalog.rest.answers import Answer, LostAnswerError
from iceberg_spark.catalog.rest.credentials import texts
from iceberg_spark.catalog.rest.paths import SIGN
from iceberg_spark.catalog.rest.session import RestSession, session_of
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.catalog.rest.vended_io import properties_for_tasks
from iceberg_spark.errors import StoragePermissionError
from iceberg_spark.io.remote_signing import SignedRequest, StoreRequest

_URI = ("s3.signer.uri", "signer.uri")
_ENDPOINT = ("s3.signer.endpoint", "signer.endpoint")
_FORMER_ENDPOINT = "v1/aws/s3/sign"
"""Where servers sign that do not list an endpoint for it (Java 1.10)."""
_REFUSED = {403: StoragePermissionError, 404: StoragePermissionError}
_REPEATABLE = ("GET", "HEAD")
_MOST_SIGNED = 1_000
_LASTS_S = 30.0
"""How long a signature is used again if the server allows that without a time (Java's)."""
_MAX_AGE = re.compile(r"max-age=(\d+)")
_SIGNED_HEADERS = re.compile(r"SignedHeaders=([^,\s]+)")

Texts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RestSigner:
    """Signs requests for the files of one table (implements `RequestSigner`).

    `catalog` are the catalog's properties, from which tasks create its session. `own` is the
    server's configuration of the table's own token. `passed` and `headers` go to the server with
    each request.
    """

    name: str
    catalog: Texts = field(repr=False)
    identifier: str
    endpoint: str = field(repr=False)
    own: Texts = field(repr=False)
    passed: Texts = field(default=(), repr=False)
    headers: Texts = field(default=(), repr=False)
    session: RestSession | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        catalog = properties_for_tasks(dict(self.catalog), self._connected())
        values = self.name, _frozen(catalog), self.identifier, self.endpoint, self.own
        return RestSigner, (*values, self.passed, self.headers)

    def sign(self, request: StoreRequest) -> SignedRequest:
        """Let the server sign a request, unless it has and allows that to be used again.

        Raises:
            StoragePermissionError: the server does not sign it.
            ServiceUnavailableError: the server does not answer.
        """
        signed = _SIGNATURES.find(self, request)
        return self._requested(request) if signed is None else signed

    def _requested(self, request: StoreRequest) -> SignedRequest:
        session = self._connected()
        node = {
            "method": request.method,
            "region": request.region,
            "uri": request.url,
            "headers": {name: [value] for name, value in request.headers.items()},
            **({} if request.body is None else {"body": request.body}),
            **({"properties": dict(self.passed)} if self.passed else {}),
            "provider": "s3",
        }
        body = json.dumps(node, separators=(",", ":")).encode()
        headers = {**dict(self.headers), "Content-Type": "application/json"}
        post = Request("POST", self.endpoint, body=body, headers=headers, of_table=self.identifier)

        def parsed(answer: Answer) -> SignedRequest:
            signed = _signed(answer)
            _SIGNATURES.keep(self, request, signed, answer.headers.get("cache-control", ""))
            return signed

        what = f"sign a {request.method} of table {self.identifier} in S3"
        return session.read(post, _REFUSED, what, parsed)

    def _connected(self) -> RestSession:
        catalog = dict(self.catalog)
        session = self.session or session_of(self.name, catalog)
        if self.own and not session.has_own(self.identifier):  # in a task
            session.keep_own(self.identifier, dict(self.own))
        return session


def rest_signer(
    name: str,
    catalog: Mapping[str, str],
    identifier: str,
    answer: Mapping[str, Any],
    properties: Mapping[str, str],
    own: Mapping[str, str],
    session: RestSession,
) -> RestSigner:
    """Return the signer of a table, by its LoadTableResult and its storage properties."""
    config = answer.get("remote-signing-config")
    config = config if isinstance(config, dict) else {}
    headers = {key: ", ".join(map(str, v)) for key, v in dict(config.get("headers") or {}).items()}
    return RestSigner(
        name,
        _frozen(catalog),
        identifier,
        _endpoint(session, identifier, properties),
        _frozen(own),
        _frozen(texts(config.get("properties"))),
        _frozen(headers),
        session,
    )


def _endpoint(session: RestSession, identifier: str, properties: Mapping[str, str]) -> str:
    """Return where requests are signed: an address, or a path below the catalog's address."""
    base = next((properties[name] for name in _URI if name in properties), "")
    path = next((properties[name] for name in _ENDPOINT if name in properties), "")
    if path.startswith(("http://", "https://")):
        return path
    if not path:
        lists = session.paths.has(SIGN)
        path = session.paths.table(identifier, "sign") if lists else _FORMER_ENDPOINT
    return f"{base.rstrip('/')}/{path.lstrip('/')}" if base else path.lstrip("/")


def _signed(answer: Answer) -> SignedRequest:
    node = answer.node()
    url, headers = node.get("uri"), node.get("headers")
    if not isinstance(url, str) or not isinstance(headers, dict):
        raise LostAnswerError("The catalog's answer holds no signed request")
    return SignedRequest(url, {name: ", ".join(map(str, v)) for name, v in headers.items()})


def _frozen(values: Mapping[str, str]) -> Texts:
    return tuple(sorted(values.items()))


class Signatures:
    """Signatures that servers allow to be used again; thread-safe.

    One of a request for a part of a file is used for other parts unless it covers the range.
    """

    __slots__ = ("_signed",)

    def __init__(self) -> None:
        self._signed = BoundedCache(_MOST_SIGNED)

    def find(self, signer: RestSigner, request: StoreRequest) -> SignedRequest | None:
        """Return a signature that can be used again."""
        for ranged in (False, True):
            cached = self._signed.get(_key(signer, request, ranged=ranged))
            if cached is not None:
                signed: SignedRequest = cached[0]
                if time.monotonic() < cached[1]:
                    return signed
        return None

    def keep(
        self, signer: RestSigner, request: StoreRequest, signed: SignedRequest, allows: str
    ) -> None:
        """Keep a signature if the server's Cache-Control allows that."""
        words = allows.lower()
        if "private" not in words or "no-" in words or request.method not in _REPEATABLE:
            return
        age = _MAX_AGE.search(words)
        until = time.monotonic() + (float(age.group(1)) if age else _LASTS_S)
        authorization = {k.lower(): v for k, v in signed.headers.items()}.get("authorization", "")
        covered = _SIGNED_HEADERS.search(authorization)
        ranged = covered is None or "range" in covered.group(1).split(";")
        self._signed.put(_key(signer, request, ranged=ranged), (signed, until))


def _key(signer: RestSigner, request: StoreRequest, *, ranged: bool) -> tuple[Any, ...]:
    lowered = {name.lower(): value for name, value in request.headers.items()}
    part = lowered.get("range", "") if ranged else None
    return signer, request.method, request.region, request.url, part


_SIGNATURES = Signatures()
