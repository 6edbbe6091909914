"""A server for one caller: its configuration, one token, requests with retries, and pages."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.catalog.rest.answers import (
    EXPIRED,
    NAMESPACE,
    NOT_MODIFIED,
    Answer,
    LostAnswerError,
    NotSentError,
)
from iceberg_spark.catalog.rest.auth import Auth, auth_of
from iceberg_spark.catalog.rest.credentials import is_of_storage
from iceberg_spark.catalog.rest.known_tables import KnownTables
from iceberg_spark.catalog.rest.oauth2 import own_of_table
from iceberg_spark.catalog.rest.paths import CONFIG, DEFAULT_ENDPOINTS, VIEW_ENDPOINTS, Paths
from iceberg_spark.catalog.rest.retry_policy import BusyError, RetryPolicy
from iceberg_spark.catalog.rest.settings import (
    PAGE_SIZE,
    RestSettings,
    hidden_values,
    rest_settings,
)
from iceberg_spark.catalog.rest.transport import Request, Transport
from iceberg_spark.catalog.trust import Trust
from iceberg_spark.errors import IcebergError, NoSuchNamespaceError, UnsupportedError
from iceberg_spark.io.secrets import blot
from iceberg_spark.spec.secrets import is_secret

T = TypeVar("T")
Meaning = Mapping[int, type[IcebergError]]

_MOST_SESSIONS = 16
_MATCH = "If-None-Match"
_LEAST_BUDGET_S = 60.0
_HAS_VIEWS = "view-endpoints-supported"
_OF_AUTH = (
    "token",
    "credential",
    "scope",
    "audience",
    "resource",
    "oauth2",
    "rest.",
    "client.",
    "urn:",
)


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The response of `/v1/config`: defaults and overrides of the caller's properties."""

    properties: Mapping[str, str] = field(repr=False)
    settings: RestSettings
    paths: Paths
    takes_keys: bool


class RestSession:
    """Requests to one server; the first one requests its configuration."""

    __slots__ = (
        "_auth",
        "_config",
        "_hidden",
        "_lock",
        "_made_for",
        "_name",
        "_of_tables",
        "_properties",
        "_transport",
        "stages",
        "tagged_tables",
        "trust",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        properties: Mapping[str, str],
        made_for: Callable[[Request], Answer] | None = None,
    ) -> None:
        """`made_for` responds to requests in place of the network (for tests)."""
        self._name = name
        self._properties = dict(properties)
        self._made_for = made_for
        settings = rest_settings(name, properties)
        self._transport = Transport(settings, made_for)
        self._auth: Auth = auth_of(name, self._properties, settings, self._transport)
        self._config: ServerConfig | None = None
        self._hidden = hidden_values(self._properties)
        self._lock = threading.RLock()
        self._of_tables = TableAuths()
        self.trust = Trust(name, self._properties)
        """What of the server's answers counts."""
        self.tagged_tables = KnownTables()
        self.stages = True
        """Whether the server prepares tables, as far as one knows."""

    @property
    def config(self) -> ServerConfig:
        """The server's configuration, requested once. Raises what `read` raises."""
        config = self._config
        if config is None:
            with self._lock:
                config = self._config or self._configured()
                self._config = config
        return config

    @property
    def paths(self) -> Paths:
        """The server's paths."""
        return self.config.paths

    def _configured(self) -> ServerConfig:
        first = rest_settings(self._name, self._properties)
        query = {"warehouse": first.warehouse} if first.warehouse else {}
        what = f"configure catalog '{self._name}'"
        node = self._read(
            Request("GET", CONFIG, query), {404: NoSuchNamespaceError}, what, _retry_policy(first),
            Answer.node,
        )  # fmt: skip
        properties = self._properties
        source = f"The server of catalog '{self._name}'"
        unset = {k: v for k, v in _texts(node.get("defaults")).items() if k not in properties}
        defaults = self.trust.accepted(unset, source)
        overrides = self.trust.accepted(_texts(node.get("overrides")), source)
        self.trust.check_stores({**defaults, **overrides}, source)
        merged = {**defaults, **properties, **overrides}
        settings = rest_settings(self._name, merged)
        named = node.get("endpoints")
        endpoints = frozenset(map(str, named)) if named else _endpoints_unsaid(merged)
        if settings != first:
            self._transport = Transport(settings, self._made_for)
        if settings.uri != first.uri or _of_auth(merged) != _of_auth(properties):
            self._auth = auth_of(self._name, merged, settings, self._transport)
        self._hidden = hidden_values(merged)
        paths = Paths(settings.prefix, settings.separator, endpoints)
        return ServerConfig(merged, settings, paths, bool(node.get("idempotency-key-lifetime")))

    def read(
        self, request: Request, meaning: Meaning, what: str, parsed: Callable[[Answer], T]
    ) -> T:
        """Send a GET or HEAD, repeat it after transient failures, and return what `parsed` returns.

        Raises the error that the response stands for, or ServiceUnavailableError.
        """
        return self._read(request, meaning, what, _retry_policy(self.config.settings), parsed)

    def _read(
        self,
        request: Request,
        meaning: Meaning,
        what: str,
        policy: RetryPolicy,
        parsed: Callable[[Answer], T],
    ) -> T:
        def once() -> T:
            answer = self.exchange(request)
            if answer.is_ok or (answer.status == NOT_MODIFIED and _MATCH in request.headers):
                return parsed(answer)
            error = self.error(answer, meaning, what)
            if answer.may_pass:
                raise BusyError(str(error), answer.retry_after_s)
            raise error

        return policy.retrying()(once)

    def exchange(self, request: Request) -> Answer:
        """Send a request once, and once more if a token was refused and there is another.

        Raises NotSentError, LostAnswerError, UnauthorizedError.
        """
        own = self._of_tables.find(request.of_table) if request.of_table else None
        answer = self._exchanged(request, own or self._auth)
        if own is not None and answer.status in EXPIRED:
            self._of_tables.forget(request.of_table, own)
            answer = self._exchanged(request, self._auth)
        if answer.is_page:
            raise LostAnswerError(f"{answer.url} answered with a page, as no catalog does")
        return answer

    def _exchanged(self, request: Request, auth: Auth) -> Answer:
        signed = self._signed(request, auth)
        answer = self._transport.send(signed)
        if answer.status in EXPIRED and _renewed(auth, signed):
            answer = self._transport.send(self._signed(request, auth))
        return answer

    def for_tasks(self) -> dict[str, str]:
        """Return the caller's properties for another process, without secrets of client and store.

        Raises what `read` raises, for an expired token.
        """
        _ = self.config  # which may name the authentication
        sent = {
            name: value
            for name, value in self._properties.items()
            if not (is_of_storage(name) and is_secret(name, value))
        }
        return self._auth.for_tasks(sent)

    def keep_own(self, identifier: str, config: Mapping[str, str]) -> None:
        """Take a table's own token from its configuration, for requests of that table."""
        self._of_tables.keep(identifier, config, self._auth)

    def has_own(self, identifier: str) -> bool:
        """Return whether a table has a token of its own."""
        return self._of_tables.find(identifier) is not None

    def _signed(self, request: Request, auth: Auth) -> Request:
        try:
            return auth.signed(self._transport.complete(request))
        except LostAnswerError as error:  # the request for the token failed
            raise NotSentError(str(error)) from None

    def error(self, answer: Answer, meaning: Meaning, what: str) -> IcebergError:
        """Return the error that a response stands for, without secrets that it may repeat."""
        error = answer.error(meaning, what)
        return type(error)(blot(str(error), self._secrets()))

    def _secrets(self) -> tuple[str, ...]:
        return (*self._hidden, *self._auth.hidden(), *self._of_tables.hidden())


def _renewed(auth: Auth, refused: Request) -> bool:
    try:
        return auth.renew(refused)
    except LostAnswerError as error:
        raise NotSentError(str(error)) from None


def _retry_policy(settings: RestSettings) -> RetryPolicy:
    return RetryPolicy(settings.max_retries, max(_LEAST_BUDGET_S, settings.socket_timeout_s * 1.5))


def _endpoints_unsaid(properties: Mapping[str, str]) -> frozenset[str]:
    has_views = properties.get(_HAS_VIEWS, "").lower() == "true"
    return DEFAULT_ENDPOINTS | VIEW_ENDPOINTS if has_views else DEFAULT_ENDPOINTS


def _of_auth(properties: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in properties.items() if key.startswith(_OF_AUTH)}


def _texts(node: Any) -> dict[str, str]:
    if not isinstance(node, dict):
        return {}
    return {str(key): str(value) for key, value in node.items() if value is not None}


_sessions = BoundedCache(_MOST_SESSIONS)


def session_of(name: str, properties: Mapping[str, str]) -> RestSession:
    """Return the process's session for these properties, so that it is configured once."""
    key = (name, frozenset(properties.items()))
    session: RestSession = _sessions.get_or_load(key, lambda: (RestSession(name, properties), 1))
    return session


_MOST_TABLES = 256


@dataclass(frozen=True, slots=True)
class _Own:
    config: Mapping[str, str] = field(repr=False)
    auth: Auth = field(repr=False)


class TableAuths:
    """The tables of one session with a token of their own; thread-safe."""

    __slots__ = ("_lock", "_tables")

    def __init__(self) -> None:
        self._tables: OrderedDict[str, _Own] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, identifier: str, config: Mapping[str, str], catalogs: Auth) -> None:
        """Store a table's configured token; does not replace a renewed one."""
        own = own_of_table(config)
        with self._lock:
            current = self._tables.get(identifier)
            if current is not None and current.config == own:
                return
            auth = catalogs.of_table(config) if own else None
            if auth is None:
                self._tables.pop(identifier, None)
                return
            self._tables[identifier] = _Own(own, auth)
            while len(self._tables) > _MOST_TABLES:
                self._tables.popitem(last=False)

    def find(self, identifier: str) -> Auth | None:
        """Return a table's own authentication, None to use the catalog's."""
        with self._lock:
            entry = self._tables.get(identifier)
        return entry.auth if entry else None

    def forget(self, identifier: str, refused: Auth) -> None:
        """Remove a token that was refused for good, unless it was replaced."""
        with self._lock:
            entry = self._tables.get(identifier)
            if entry is not None and entry.auth is refused:
                del self._tables[identifier]

    def hidden(self) -> tuple[str, ...]:
        """Return the texts that must never be shown."""
        with self._lock:
            every = list(self._tables.values())
        return tuple(
            text for entry in every for text in (*entry.auth.hidden(), *entry.config.values())
        )


_NEXT = "next-page-token"
_MOST_PAGES = 100_000
"""Pages of a list: ten million tables at a hundred. A hostile server always has another page."""


def pages(
    session: RestSession, path: str, query: Mapping[str, str], key: str, what: str
) -> Iterator[Any]:
    """Yield the members of a list, page after page.

    Raises NoSuchNamespaceError, UnsupportedError for a list that does not end.
    """
    size = session.config.settings.page_size
    token, seen = "", {""}
    for _ in range(_MOST_PAGES):
        parameters = {**query, **({"pageToken": token, "pageSize": str(size)} if size else {})}
        request = Request("GET", path, parameters)
        node = session.read(request, NAMESPACE, what, lambda answer: _page(answer, key))
        yield from node[key]
        token = node.get(_NEXT) or ""
        if token in seen:  # the last page, or a server that repeats a page
            return
        seen.add(token)
        query = {**query, "pageToken": token}
    raise UnsupportedError(
        f"Can't {what}: the server gave {_MOST_PAGES:,} pages and names another one; set "
        f"{PAGE_SIZE} to get larger ones"
    )


def _page(answer: Answer, key: str) -> dict[str, Any]:
    node = answer.node()
    if not isinstance(node.get(key), list):
        raise LostAnswerError(f"{answer.url} answered without a list of {key}")
    return node
