"""Answers that a test writes down, in the place of a REST catalog's server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from iceberg_spark.api.catalog import TableCatalog
from iceberg_spark.catalog.rest.answers import Answer, LostAnswerError, NotSentError
from iceberg_spark.catalog.rest.rest_catalog import RestCatalog
from iceberg_spark.catalog.rest.session import RestSession
from iceberg_spark.catalog.rest.transport import Request

URI = "http://localhost/api"  # of this machine: its tables may lie in local folders
Reply = httpx.Response | Exception
Handler = Callable[[httpx.Request], Reply]


def error(status: int, kind: str, text: str = "no", **headers: str) -> httpx.Response:
    node = {"error": {"message": text, "type": kind, "code": status}}
    return httpx.Response(status, json=node, headers=headers)


def in_place_of_network(server: Handler) -> Callable[[Request], Answer]:
    """What a session asks instead of a server on the network; errors are told apart as there."""

    def answered(asked: Request) -> Answer:
        request = httpx.Request(
            asked.method, asked.url, headers=dict(asked.headers), content=asked.body
        )
        try:
            reply = server(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotSentError(f"Can't reach {asked.method} {asked.url}: {error}") from None
        except httpx.TransportError as error:
            raise LostAnswerError(f"No answer to {asked.method} {asked.url}: {error}") from None
        assert isinstance(reply, httpx.Response)
        headers = {name.lower(): value for name, value in reply.headers.items()}
        return Answer(reply.status_code, headers, reply.content, asked.url)

    return answered


@dataclass
class FakeServer:
    """Replies by method and path below the address; a list is used up, its last reply stays."""

    replies: dict[str, list[Reply] | Reply | Handler] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        path = request.url.raw_path.decode().partition("?")[0].removeprefix("/api/")
        key = f"{request.method} {path}"
        found = self.replies.get(key)
        if found is None and path == "v1/config":
            found = httpx.Response(200, json={"defaults": {}, "overrides": {}, **self.config})
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        if callable(found):
            found = found(request)
        if isinstance(found, Exception):
            raise found
        return found if found is not None else httpx.Response(418, text=f"unexpected {key}")

    def catalog(self, **properties: str) -> RestCatalog:
        given = {"uri": URI, **properties}
        session = RestSession("c", given, in_place_of_network(self))
        return RestCatalog("c", given, session)

    def named(self, **properties: str) -> TableCatalog:
        return TableCatalog(self.catalog(**properties))

    def asked(self, method: str = "") -> list[str]:
        """What was asked besides the configuration: method, path and query."""
        return [
            f"{one.method} {one.url.raw_path.decode().removeprefix('/api/')}"
            for one in self.requests
            if method in one.method and "v1/config" not in str(one.url)
        ]


def body(request: httpx.Request) -> Any:
    return json.loads(request.content)
