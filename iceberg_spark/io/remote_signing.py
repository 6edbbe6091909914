"""S3 with requests that somebody else signs, such as a table's catalog.

s3fs sends the requests, since its client calls a function to sign each of them. obstore's does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.lazy import LazyModule

asyncio = LazyModule("asyncio")
fsspec = LazyModule("fsspec")

_EVENT = "before-sign.s3"


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """A request to S3. `body` is set only for requests whose body says what they do."""

    method: str
    url: str = field(repr=False)
    region: str
    headers: Mapping[str, str] = field(repr=False)
    body: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """The address and the headers of a signed request."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


class RequestSigner(Protocol):
    """Signs requests to S3; picklable, and equal to signers that sign alike."""

    def __hash__(self) -> int:
        """Return the same for signers that are equal."""
        ...

    def sign(self, request: StoreRequest) -> SignedRequest:
        """Sign a request. Raises StoragePermissionError if it is refused."""
        ...


def signed_files(signer: RequestSigner, arguments: Mapping[str, Any], process: int) -> Any:
    """Return s3fs's file system whose requests a signer signs; one for equal arguments.

    `process` is the process that uses it: threads of a driver do not survive a fork.

    Raises:
        UnsupportedError: s3fs is not installed.
    """
    config = {
        **arguments.get("config_kwargs", {}),
        # Checksums would be part of a body of which the signer knows nothing.
        "request_checksum_calculation": "when_required",
        "response_checksum_validation": "when_required",
    }
    unsigned = {**arguments, "config_kwargs": config, "anon": True}
    return _signed_files(signer, _frozen(unsigned), process)


@lru_cache(maxsize=64)
def _signed_files(signer: RequestSigner, arguments: Any, _process: int) -> Any:
    try:
        kind = fsspec.get_filesystem_class("s3")
    except ImportError as error:
        raise UnsupportedError(
            f"The catalog signs each request to S3, which needs {error.name or 's3fs'}: "
            "pip install s3fs"
        ) from error
    files = kind(**_thawed(arguments), skip_instance_cache=True)

    async def sign(request: Any, region_name: str, **_: Any) -> None:
        signed = await asyncio.to_thread(signer.sign, _store_request(request, region_name))
        request.url = signed.url
        for name, value in signed.headers.items():
            del request.headers[name]
            request.headers[name] = value

    files.s3.meta.events.register_last(_EVENT, sign)
    return files


def _store_request(request: Any, region: str) -> StoreRequest:
    names_objects = request.method == "POST" and "?delete" in request.url
    body = request.body if names_objects else None
    return StoreRequest(
        request.method,
        request.url,
        region,
        {str(name): _text(value) for name, value in request.headers.items()},
        None if body is None else _text(body),
    )


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _frozen(value: Any) -> Any:
    """Return nested dictionaries as something that can be hashed."""
    if isinstance(value, dict):
        return tuple(sorted((name, _frozen(item)) for name, item in value.items()))
    return value


def _thawed(value: Any) -> Any:
    if isinstance(value, tuple):
        return {name: _thawed(item) for name, item in value}
    return value
