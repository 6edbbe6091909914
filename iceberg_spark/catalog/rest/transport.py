"""One exchange with a server: a whole answer in time, or an error that says how far it got."""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from iceberg_spark.catalog.rest.answers import Answer, LostAnswerError, NotSentError
from iceberg_spark.catalog.rest.settings import RestSettings
from iceberg_spark.errors import InvalidInputError, UnsupportedError, redacted
from iceberg_spark.lazy import LazyModule

httpx = LazyModule("httpx")

_LONGEST_ANSWER_S = 300.0
"""For a whole answer: a server that sends a byte now and then never exceeds a socket's time."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request: `url` is whole or a path below the server's address, encoded as it goes out."""

    method: str
    url: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float | None = None
    """Its own time for each step, None: that of the settings."""
    of_table: str = ""
    """The table whose own token it carries, where the server gave that one."""

    def with_headers(self, headers: Mapping[str, str]) -> Request:
        """Return the request with these headers laid over its own."""
        return replace(self, headers={**self.headers, **headers})


class Transport:
    """Connections to a server, kept open; safe among threads, and made anew after a fork."""

    __slots__ = ("_clients", "_lock", "_made_for", "_process", "_settings")

    def __init__(self, settings: RestSettings, made_for: Any = None) -> None:
        """`made_for` is a transport of httpx in the place of the network (tests)."""
        self._settings = settings
        self._made_for = made_for
        self._clients: dict[str, Any] = {}
        self._process = os.getpid()
        self._lock = threading.Lock()

    def whole(self, request: Request) -> Request:
        """Return a request with its whole URL and the headers of every request."""
        at = request.url
        url = at if at.startswith(("http://", "https://")) else f"{self._settings.uri}/{at}"
        if request.query:
            query = urlencode(request.query, safe="", quote_via=quote)
            url = f"{url}{'&' if '?' in url else '?'}{query}"
        return replace(
            request, url=url, query={}, headers={**self._settings.headers, **request.headers}
        )

    def send(self, request: Request) -> Answer:
        """Send a whole request once.

        Raises NotSentError (the server hasn't seen it), LostAnswerError (it may have been done),
        InvalidInputError (no such address can be).
        """
        shown = redacted(request.url.partition("?")[0])
        what = f"{request.method} {shown}"
        client = self._client(request.url)
        try:
            return self._exchange(client, request, shown)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise NotSentError(f"Can't reach {what}: {_words(error)}") from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise InvalidInputError(f"Can't ask {what}: {_words(error)}") from None
        except httpx.TimeoutException as error:
            raise LostAnswerError(
                f"No answer to {what} in time ({type(error).__name__}; "
                f"rest.client.socket-timeout-ms is {self._settings.socket_timeout_s * 1000:.0f})"
            ) from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise LostAnswerError(f"The answer to {what} was cut off: {_words(error)}") from None

    def _exchange(self, client: Any, request: Request, shown: str) -> Answer:
        ends = time.monotonic() + _LONGEST_ANSWER_S
        own = request.timeout_s
        with client.stream(
            request.method,
            request.url,
            content=request.body,
            headers=dict(request.headers),
            timeout=httpx.USE_CLIENT_DEFAULT if own is None else own,
        ) as response:
            parts = []
            for part in response.iter_bytes():
                parts.append(part)
                if time.monotonic() > ends:
                    raise httpx.ReadTimeout("the answer does not end")
            return Answer(response.status_code, response.headers, b"".join(parts), shown)

    def _client(self, url: str) -> Any:
        scheme = urlsplit(url).scheme
        if self._process != os.getpid():  # connections are the parent's
            self._lock, self._clients, self._process = threading.Lock(), {}, os.getpid()
        found = self._clients.get(scheme)
        if found is None:
            with self._lock:
                found = self._clients.get(scheme) or self._made(scheme)
                self._clients[scheme] = found
        return found

    def _made(self, scheme: str) -> Any:
        settings = self._settings
        try:
            return httpx.Client(
                transport=self._made_for,
                verify=self._tls() if scheme == "https" else False,
                timeout=httpx.Timeout(
                    settings.socket_timeout_s, connect=settings.connect_timeout_s
                ),
                follow_redirects=False,
                headers={"User-Agent": "iceberg-spark"},
            )
        except ImportError as error:
            raise UnsupportedError(
                f"Catalogs of type rest need {error.name}: pip install 'iceberg-spark[rest]'"
            ) from error

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self._settings.ca_bundle)
        if self._settings.client_certificate:
            context.load_cert_chain(*self._settings.client_certificate)
        return context


def _words(error: Exception) -> str:
    return redacted(str(error)) or type(error).__name__
