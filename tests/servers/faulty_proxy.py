"""A proxy before a store: it counts requests, and what is answered to some can go wrong."""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from tests.servers.processes import HOST


class Fault(Enum):
    """What becomes of a request."""

    LOST = "carried out, the answer is dropped"
    DROPPED = "not carried out, the line goes dead"
    TWICE = "carried out twice, the second answer is given"
    ERROR_AFTER = "carried out, answered with 500"
    UNAVAILABLE = "not carried out, answered with 503"
    LATE = "the line goes dead, and it is carried out just before the next one"


@dataclass
class FaultyProxy:
    """The faults of the next PUTs whose path matches, and all requests as they came."""

    server: int
    port: int = 0
    pattern: str = r"/v\d+\.metadata\.json$"
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    late: list[Callable[[], object]] = field(default_factory=list)

    def next_fault(self, method: str, path: str) -> Fault | None:
        self.requests.append(f"{method} {path}")
        if method != "PUT" or not re.search(self.pattern, unquote(path)):
            return None
        while self.late:
            self.late.pop()()
        return self.faults.pop(0) if self.faults else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    proxy: FaultyProxy

    def log_message(self, *_: object) -> None: ...

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        match self.proxy.next_fault(self.command, self.path):
            case Fault.DROPPED:
                self.close_connection = True
            case Fault.LATE:
                self.close_connection = True
                self.proxy.late.append(partial(self._forward, body))
            case Fault.UNAVAILABLE:
                self._answer(503, {}, b"")
            case Fault.LOST:
                self._forward(body)
                self.close_connection = True
            case Fault.ERROR_AFTER:
                self._forward(body)
                self._answer(500, {}, b"")
            case Fault.TWICE:
                self._forward(body)
                self._answer(*self._forward(body))
            case None:
                self._answer(*self._forward(body))

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815 (http.server's names)

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        server = http.client.HTTPConnection(HOST, self.proxy.server, timeout=30)
        server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for key, value in self.headers.items():  # the host as it was signed
            server.putheader(key, value)
        server.endheaders(body or None)
        answer = server.getresponse()
        data = answer.read()
        server.close()
        return answer.status, dict(answer.getheaders()), data

    def _answer(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response_only(status)
        length = str(len(data))
        for key, value in headers.items():
            match key.lower():
                case "content-length" if self.command == "HEAD":
                    length = value
                case "content-length" | "transfer-encoding" | "connection":
                    continue
                case _:
                    self.send_header(key, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def faulty_proxy(server: int) -> Iterator[FaultyProxy]:
    """Stand before the server of a port while the block runs."""
    proxy = FaultyProxy(server)
    listening = ThreadingHTTPServer((HOST, 0), type("Handler", (_Handler,), {"proxy": proxy}))
    listening.daemon_threads = True
    proxy.port = listening.server_port
    threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield proxy
    finally:
        listening.shutdown()
        listening.server_close()
