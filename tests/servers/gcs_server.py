"""fake-gcs-server, which speaks Google's JSON API, and before it a door for the XML API's writes.

obstore writes by the XML API, which fake-gcs-server has for reading and listing only. The door
says the same by the JSON API; the condition (`x-goog-if-generation-match`) is the server's to keep.
What comes by the JSON API (Java's client) is handed on as it is.
"""

from __future__ import annotations

import http.client
import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlencode
from urllib.request import Request, urlopen

from tests.servers.go_program import go_program
from tests.servers.processes import HOST, accepts, free_port, running

_GENERATION = "x-goog-if-generation-match"
_HANDED_ON = (
    "Range", "Content-Type", "Content-Range", "Content-Encoding", "X-Upload-Content-Type",
    "X-Upload-Content-Length",
)  # fmt: skip
_BY_JSON = ("/storage/v1/", "/upload/storage/v1/", "/download/storage/v1/", "/batch/")


class _Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    port: int

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self._pass_on("GET", self.path)

    def do_HEAD(self) -> None:
        self._pass_on("HEAD", self.path)

    def do_POST(self) -> None:
        self._pass_on("POST", self.path)

    def do_PATCH(self) -> None:
        self._pass_on("PATCH", self.path)

    def do_PUT(self) -> None:
        if self.path.startswith(_BY_JSON):
            self._pass_on("PUT", self.path)
            return
        bucket, name = self._object()
        asked = {"uploadType": "media", "name": unquote(name)}
        if (generation := self.headers.get(_GENERATION)) is not None:
            asked["ifGenerationMatch"] = generation
        self._pass_on("POST", f"/upload/storage/v1/b/{bucket}/o?{urlencode(asked)}")

    def do_DELETE(self) -> None:
        if self.path.startswith(_BY_JSON):
            self._pass_on("DELETE", self.path)
            return
        bucket, name = self._object()
        self._pass_on("DELETE", f"/storage/v1/b/{bucket}/o/{quote(unquote(name), safe='')}")

    def _object(self) -> tuple[str, str]:
        bucket, _, name = self.path.partition("?")[0].lstrip("/").partition("/")
        return bucket, name

    def _pass_on(self, method: str, path: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = http.client.HTTPConnection(HOST, self.port, timeout=30)
        kept = {key: self.headers[key] for key in _HANDED_ON if key in self.headers}
        server.request(method, path, body, {**kept, "Host": f"{HOST}:{self.port}"})
        answer = server.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for key, value in answer.getheaders():
            if key.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(key, value)
        if method != self.command and method == "POST" and answer.status == http.client.OK:
            self.send_header("ETag", json.loads(data)["etag"])
        length = answer.headers["Content-Length"] if method == "HEAD" else str(len(data))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(data)
        server.close()


def program() -> Path:
    """fake-gcs-server's program."""
    return go_program("github.com/fsouza/fake-gcs-server", "v1.56.1")


@contextmanager
def gcs_server() -> Iterator[dict[str, str]]:
    """Serve Google's store with an empty bucket `bucket`; gives the storage properties."""
    port = free_port()
    url = f"http://{HOST}:{port}"
    command = [
        str(program()), "-backend", "memory", "-scheme", "http", "-host", HOST,
        "-port", str(port), "-public-host", f"{HOST}:{port}", "-external-url", url,
    ]  # fmt: skip
    with (
        tempfile.TemporaryDirectory(prefix="gcs-") as home,
        running(command, Path(home) / "log", lambda: accepts(port)),
        _door(port) as door,
    ):
        body = json.dumps({"name": "bucket"}).encode()
        asked = Request(f"{url}/storage/v1/b?project=p", body, method="POST")
        asked.add_header("Content-Type", "application/json")
        urlopen(asked, timeout=30).close()
        yield {"gcs.service.host": f"http://{HOST}:{door}", "gcs.oauth2.token": "any"}


@contextmanager
def _door(port: int) -> Iterator[int]:
    server = ThreadingHTTPServer((HOST, 0), type("Door", (_Door,), {"port": port}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
