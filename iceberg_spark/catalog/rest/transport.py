"""One exchange with a server: a whole response in time, or an error that says how far it got."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlencode

from iceberg_spark.catalog.rest.answers import Answer, LostAnswerError, NotSentError
from iceberg_spark.catalog.rest.settings import (
    CA_BUNDLE,
    CLIENT_CERTIFICATE,
    CLIENT_KEY,
    RestSettings,
)
from iceberg_spark.catalog.rest.wire import CutError, Times, UnreachedError, Wire
from iceberg_spark.errors import InvalidInputError, UnsupportedError, redact

_LONGEST_ANSWER_S = 300.0
"""For a whole response: a server that sends a byte now and then never exceeds a socket timeout."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `url` is absolute or a path below the server's address, encoded."""

    method: str
    url: str = field(repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float | None = None
    """The timeout of each step, None: that of the settings."""
    of_table: str = ""
    """The table whose own token the request carries, if the server sent one."""

    def with_headers(self, headers: Mapping[str, str]) -> Request:
        """Return the request with these headers over its own."""
        return replace(self, headers={**self.headers, **headers})


class Transport:
    """Connections to a server, kept open; thread-safe, and created again after a fork."""

    __slots__ = ("_made_for", "_process", "_settings", "_wire")

    def __init__(
        self, settings: RestSettings, made_for: Callable[[Request], Answer] | None = None
    ) -> None:
        """`made_for` responds to requests in place of the network (for tests)."""
        self._settings = settings
        self._made_for = made_for
        self._process = os.getpid()
        self._wire = Wire(self._tls)

    def complete(self, request: Request) -> Request:
        """Return a request with its absolute URL and the headers of every request."""
        path = request.url
        url = path if path.startswith(("http://", "https://")) else f"{self._settings.uri}/{path}"
        if request.query:
            query = urlencode(request.query, safe="", quote_via=quote)
            url = f"{url}{'&' if '?' in url else '?'}{query}"
        headers = {**self._settings.headers, **request.headers}
        return replace(request, url=url, query={}, headers=headers)

    def send(self, request: Request) -> Answer:
        """Send a complete request once.

        Raises:
            NotSentError: the server has not received it.
            LostAnswerError: it may have been executed.
            InvalidInputError: the address is not valid.
        """
        if self._made_for is not None:
            return self._made_for(request)
        shown = redact(request.url.partition("?")[0])
        what = f"{request.method} {shown}"
        try:
            return self._exchanged(request, shown)
        except UnreachedError as error:
            raise NotSentError(f"Can't reach {what}: {redact(str(error))}") from None
        except InvalidInputError as error:
            raise InvalidInputError(f"Can't ask {what}: {error}") from None
        except ImportError as error:
            raise UnsupportedError(
                f"Catalogs of type rest need {error.name}: pip install 'iceberg-spark[rest]'"
            ) from error
        except TimeoutError as error:
            raise LostAnswerError(
                f"No answer to {what} in time ({redact(str(error)) or 'timed out'}; "
                f"rest.client.socket-timeout-ms is {self._settings.socket_timeout_s * 1000:.0f})"
            ) from None
        except (OSError, CutError) as error:
            words = redact(str(error)) or type(error).__name__
            raise LostAnswerError(f"The answer to {what} was cut off: {words}") from None

    def _exchanged(self, request: Request, shown: str) -> Answer:
        if self._process != os.getpid():  # connections are the parent's
            self._wire, self._process = Wire(self._tls), os.getpid()
        settings = self._settings
        step_s = settings.socket_timeout_s if request.timeout_s is None else request.timeout_s
        times = Times(min(settings.connect_timeout_s, step_s), step_s, _LONGEST_ANSWER_S)
        reply = self._wire.exchange(
            request.method, request.url, request.headers, request.body, times
        )
        return Answer(reply.status, reply.headers, reply.body, shown)

    def _tls(self) -> ssl.SSLContext:
        settings = self._settings
        try:
            context = ssl.create_default_context(cafile=settings.ca_bundle)
        except OSError as error:
            raise InvalidInputError(f"{CA_BUNDLE} {settings.ca_bundle}: {error}") from None
        if settings.client_certificate:
            certificate, key = settings.client_certificate
            try:
                context.load_cert_chain(certificate, key, password="")  # without it OpenSSL prompts
            except OSError as error:
                files = ", ".join(filter(None, settings.client_certificate))
                raise InvalidInputError(
                    f"{CLIENT_CERTIFICATE} and {CLIENT_KEY} ({files}): {error}"
                ) from None
        return context
