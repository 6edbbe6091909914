"""Connections to servers by urllib3: kept open for a while, each used by one thread.

It takes half of the processor time of httpx. A response is whole or an error: what `http.client`
returns of a response that was cut off is not used.
"""

from __future__ import annotations

import base64
import os
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from iceberg_spark.errors import IcebergError, InvalidInputError, UnsupportedError
from iceberg_spark.io.decoding import BROKEN, GZIP, inflate
from iceberg_spark.io.limits import DEFAULT_LIMITS
from iceberg_spark.lazy import LazyModule

connection = LazyModule("urllib3.connection")
exceptions = LazyModule("urllib3.exceptions")
urllib3 = LazyModule("urllib3")
urllib_request = LazyModule("urllib.request")

_KEPT_S = 5.0
"""How long an unused connection may be reused."""
_MOST_KEPT = 20
_PART_BYTES = 1 << 18
_MOST_BYTES = 256 * 1024 * 1024
"""Bytes of a response: the metadata of 10,000 snapshots is about 10 MB."""
_PROXY_END = "_proxy"


class CutError(Exception):
    """The response is not whole, or is not HTTP."""


class UnreachedError(Exception):
    """No connection: nothing was sent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole response; header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds to connect, for each step of sending and receiving, and for a whole response."""

    connect_s: float
    step_s: float
    whole_s: float


@dataclass(frozen=True, slots=True)
class _Proxy:
    host: str
    port: int
    user: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        encoded = base64.b64encode(self.user.encode()).decode()
        return {"Proxy-Authorization": f"Basic {encoded}"} if self.user else {}


class Wire:
    """Connections to the servers of some URLs; thread-safe."""

    __slots__ = ("_lock", "_managers", "_tls", "_used_s")

    def __init__(self, tls: Callable[[], ssl.SSLContext]) -> None:
        """`tls` creates the TLS context."""
        self._tls = tls
        self._managers: dict[tuple[str, _Proxy | None], Any] = {}
        self._used_s = time.monotonic()
        self._lock = threading.Lock()

    def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, times: Times
    ) -> Reply:
        """Send a request and return its whole response.

        Raises:
            UnreachedError: nothing was sent.
            InvalidInputError: the request is not valid.
            TimeoutError: it may have been executed.
            CutError: it may have been executed.
        """
        parts = _parts(url)
        proxy = _proxy_of(parts)
        try:
            response = _sent(
                self._pool(parts, proxy), method, _target(parts, proxy, url),
                _headers(headers, proxy if parts.scheme == "http" else None), body, times,
            )  # fmt: skip
            return _received(response, time.monotonic() + times.whole_s)
        except BaseException:
            self._close()
            raise

    def _pool(self, parts: SplitResult, proxy: _Proxy | None) -> Any:
        """Return a server's connections. Raises UnreachedError for an invalid host."""
        now = time.monotonic()
        if now - self._used_s > _KEPT_S:
            self._close()
        self._used_s = now
        with self._lock:
            manager = self._managers.get((parts.scheme, proxy))
            if manager is None:
                manager = self._managers[parts.scheme, proxy] = self._manager(parts.scheme, proxy)
        try:
            pool = manager.connection_from_host(parts.hostname, parts.port, parts.scheme)
        except exceptions.HTTPError as error:
            raise UnreachedError(_words(error)) from None
        if parts.scheme == "https":
            pool.ConnectionCls = _secure_connection()
        return pool

    def _manager(self, scheme: str, proxy: _Proxy | None) -> Any:
        more = {"ssl_context": self._tls()} if scheme == "https" else {}
        if proxy is None:
            return urllib3.PoolManager(maxsize=_MOST_KEPT, **more)
        address = f"http://{proxy.host}:{proxy.port}"
        return urllib3.ProxyManager(
            address, maxsize=_MOST_KEPT, proxy_headers=proxy.headers or None, **more
        )

    def _close(self) -> None:
        """Close unused connections; their user closes those in use."""
        with self._lock:
            for manager in self._managers.values():
                manager.clear()


@cache
def _secure_connection() -> Any:
    """Return a class of connections whose failed handshakes do not count as lost responses."""

    def connect(self: Any) -> None:
        try:
            connection.HTTPSConnection.connect(self)
        except (ssl.SSLError, exceptions.SSLError, TimeoutError) as error:
            raise exceptions.NewConnectionError(self, _words(error)) from None

    return type("SecureConnection", (connection.HTTPSConnection,), {"connect": connect})


def _headers(headers: Mapping[str, str], proxy: _Proxy | None) -> dict[str, str]:
    compression = (
        {} if "accept-encoding" in map(str.lower, headers) else {"Accept-Encoding": "gzip"}
    )
    return {**compression, **headers, **(dict(proxy.headers) if proxy else {})}


def _sent(
    pool: Any,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | None,
    times: Times,
) -> Any:
    """Return a response whose body is not read yet."""
    try:
        return pool.urlopen(
            method,
            target,
            body=body,
            headers=headers,
            retries=False,
            redirect=False,
            assert_same_host=False,
            timeout=urllib3.Timeout(connect=times.connect_s, read=times.step_s),
            preload_content=False,
            decode_content=False,
        )
    except (
        exceptions.NewConnectionError,
        exceptions.ConnectTimeoutError,
        exceptions.ProxyError,
        exceptions.LocationParseError,
    ) as error:
        raise UnreachedError(_words(error)) from None
    except exceptions.TimeoutError as error:
        raise TimeoutError(_words(error)) from None
    except (exceptions.HTTPError, OSError) as error:
        raise CutError(_words(error)) from None
    except ValueError:  # the text may be a secret, so it is not shown
        raise InvalidInputError(
            "its address or one of its headers has a character that requests can't have"
        ) from None


def _received(response: Any, until_s: float) -> Reply:
    parts = []
    left = _MOST_BYTES
    try:
        if (response.length_remaining or 0) > left:
            raise CutError(f"the answer has more than {_MOST_BYTES:,} bytes")
        while part := response.read1(_PART_BYTES, decode_content=False):
            parts.append(part)
            left -= len(part)
            if left < 0:
                raise CutError(f"the answer has more than {_MOST_BYTES:,} bytes")
            if time.monotonic() > until_s:
                raise TimeoutError("the answer does not end")
    except exceptions.TimeoutError as error:
        raise TimeoutError(_words(error)) from None
    except exceptions.HTTPError as error:
        raise CutError(_words(error)) from None
    finally:
        if not response.closed:
            response.close()
    if response.length_remaining or response.status < 200 or _ends_in_headers(response, parts):
        raise CutError("the connection ended within it")
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status, headers, _plain(headers, b"".join(parts)))


def _ends_in_headers(response: Any, parts: list[bytes]) -> bool:
    """Return whether more headers may follow: `http.client` takes a cut for their end."""
    return response.length_remaining is None and not response.chunked and not parts


def _plain(headers: Mapping[str, str], body: bytes) -> bytes:
    """Return a decompressed body. Raises CutError."""
    match headers.get("content-encoding", "identity").strip().lower():
        case _ if not body:
            return body
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            try:
                return inflate(body, GZIP, DEFAULT_LIMITS, "An answer of the catalog")
            except (*BROKEN, IcebergError) as error:  # an answer that is too large, too
                raise CutError(f"it is not gzip to its end ({_words(error)})") from None
        case other:
            raise CutError(f"it is compressed by {other[:20]}, which was not asked for")


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise InvalidInputError("it is no address of http or https")
    return parts


def _target(parts: SplitResult, proxy: _Proxy | None, url: str) -> str:
    """Return the target in the request's first line: for a proxy the whole URL."""
    if proxy and parts.scheme == "http":
        host = parts.netloc.rpartition("@")[2]
        return url.replace(parts.netloc, host, 1)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.path or '/'}{query}"


def _proxy_of(parts: SplitResult) -> _Proxy | None:
    """Return the proxy of a server in the environment, by the rules of other clients."""
    if not any(name.lower().endswith(_PROXY_END) for name in os.environ):
        return None
    proxies = urllib_request.getproxies_environment()
    configured = proxies.get(parts.scheme) or proxies.get("all")
    if not configured or urllib_request.proxy_bypass_environment(parts.hostname, proxies):
        return None
    address = urlsplit(configured if "://" in configured else f"http://{configured}")
    try:
        port = address.port or 80
    except ValueError:
        message = f"The environment's proxy for {parts.scheme} has a port that is no number"
        raise InvalidInputError(message) from None
    if address.scheme != "http" or not address.hostname:
        raise UnsupportedError(
            f"A proxy of {address.scheme or 'no scheme'} is not supported; those of http are"
        )
    who = (
        f"{unquote(address.username)}:{unquote(address.password or '')}" if address.username else ""
    )
    return _Proxy(address.hostname, port, who)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
