"""A REST catalog in this process: it checks requirements and applies updates, over no network."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from iceberg_spark.api.catalog import TableCatalog
from iceberg_spark.catalog.rest.rest_catalog import RestCatalog
from iceberg_spark.catalog.rest.session import RestSession
from iceberg_spark.errors import CommitFailedException
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_json import metadata_to_json
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.partition_json import spec_from_dict
from iceberg_spark.spec.requirements import check
from iceberg_spark.spec.rest_json import requirement_from_json, update_from_json
from iceberg_spark.spec.schema_json import schema_from_dict
from tests.unit.catalog.rest.fake_server import URI, error, in_place_of_network

Answer = Callable[[], httpx.Response]


@dataclass
class SmallServer:
    """Tables by their paths; `meets` is asked of each request first, and may answer it itself."""

    folder: Path
    stages: bool = True
    """False: a staged creation is refused with 400, as S3 Tables does."""
    ignores_stage: bool = False
    """A staged creation makes the table, and says so."""
    ignores_version: bool = False
    """Tables are of format version 2, whatever was asked for."""
    config: dict[str, str] = field(default_factory=dict)
    """What comes with each table."""
    tables: dict[str, tuple[TableMetadata, str]] = field(default_factory=dict)
    asked: list[httpx.Request] = field(default_factory=list)
    meets: Callable[[httpx.Request, Answer], httpx.Response] = lambda _, answer: answer()

    def catalog(self, name: str = "c", **properties: str) -> RestCatalog:
        given = {"uri": URI, **properties}
        return RestCatalog(name, given, RestSession(name, given, in_place_of_network(self)))

    def named(self, **properties: str) -> TableCatalog:
        return TableCatalog(self.catalog(**properties))

    @property
    def lines(self) -> list[str]:
        """What was asked besides the configuration: method and the end of the path."""
        found = [f"{one.method} {one.url.path.rpartition('/')[2]}" for one in self.asked]
        return [one for one in found if "config" not in one]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self.meets(request, lambda: self.answered(request))

    def answered(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/")
        match request.method, path:
            case _, "v1/config":
                return httpx.Response(200, json={"defaults": {}, "overrides": {}})
            case _, other if other.endswith("/metrics"):
                return httpx.Response(204)
            case "POST", "v1/transactions/commit":
                return self._commit_all(json.loads(request.content)["table-changes"])
            case "POST", listed if listed.endswith("/tables"):
                return self._create(listed, json.loads(request.content))
            case "POST", at:
                return self._commit(at, json.loads(request.content))
            case "DELETE", at:
                return httpx.Response(204) if self.tables.pop(at, None) else _missing()
            case _, at:
                return self._given(at) if at in self.tables else _missing()

    def _create(self, listed: str, node: dict[str, Any]) -> httpx.Response:
        at, staged = f"{listed}/{node['name']}", bool(node.get("stage-create"))
        if at in self.tables:
            return error(409, "AlreadyExistsException")
        if staged and not self.stages:
            return error(400, "BadRequestException", "stage-create is not supported")
        spec = node.get("partition-spec")
        made = new_metadata(
            schema_from_dict(node["schema"]),
            *(() if spec is None else (spec_from_dict(spec),)),
            location=node.get("location") or str(self.folder / node["name"]),
            now_ms=int(time.time() * 1000),
            properties={
                key: value
                for key, value in node["properties"].items()
                if not (self.ignores_version and key == "format-version")
            },
        )
        if staged and not self.ignores_stage:
            return self._node(made, None)
        self._keep(at, made)
        return self._given(at)

    def _commit(self, at: str, node: dict[str, Any]) -> httpx.Response:
        base = self.tables[at][0] if at in self.tables else None
        updates = [update_from_json(one) for one in node["updates"]]
        try:
            check(base, [requirement_from_json(one) for one in node["requirements"]])
        except CommitFailedException as refused:
            return error(409, "CommitFailedException", str(refused))
        now_ms = max(int(time.time() * 1000), base.last_updated_ms if base else 0)
        self._keep(at, apply(base, updates, now_ms=now_ms))
        return self._given(at)

    def _commit_all(self, changes: list[dict[str, Any]]) -> httpx.Response:
        before = dict(self.tables)
        for node in changes:
            name = node["identifier"]
            at = f"v1/namespaces/{'.'.join(name['namespace'])}/tables/{name['name']}"
            answer = self._commit(at, node)
            if answer.is_error:
                self.tables = before
                return answer
        return httpx.Response(204)

    def _keep(self, at: str, metadata: TableMetadata) -> None:
        file = f"{metadata.location}/metadata/{len(self.asked):05d}.metadata.json"
        self.tables[at] = metadata, file

    def _given(self, at: str) -> httpx.Response:
        return self._node(*self.tables[at])

    def _node(self, metadata: TableMetadata, file: str | None) -> httpx.Response:
        found = json.loads(metadata_to_json(metadata))
        node = {"metadata-location": file, "metadata": found, "config": self.config}
        tag = {"ETag": file} if file else {}
        return httpx.Response(200, json=node, headers=tag)


@contextmanager
def on_network(server: SmallServer) -> Iterator[str]:
    """Serve it on a port of this machine, from threads of this process; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            at = URI.removesuffix("/api") + self.path
            content = self.rfile.read(length)
            asked = httpx.Request(self.command, at, headers=dict(self.headers), content=content)
            found = server.meets(asked, lambda: server.answered(asked))
            self.send_response_only(found.status_code)
            for name, value in found.headers.items():
                if name not in ("content-length", "transfer-encoding"):
                    self.send_header(name, value)
            if found.status_code != httpx.codes.NO_CONTENT:
                self.send_header("Content-Length", str(len(found.content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(found.content)

        do_GET = do_HEAD = do_POST = do_DELETE = handle_any  # noqa: N815 (http.server's names)

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    listening.handle_error = lambda *_: None  # type: ignore[method-assign] (broken lines)
    threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/api"
    finally:
        listening.shutdown()
        listening.server_close()


def _missing() -> httpx.Response:
    return error(404, "NoSuchTableException")
