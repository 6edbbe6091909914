"""Requests with AWS signatures (SigV4), for the REST endpoints of Glue and S3 Tables."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Protocol

from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.errors import InvalidInputError, UnauthorizedError, UnsupportedError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.spec.secrets import is_secret

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
