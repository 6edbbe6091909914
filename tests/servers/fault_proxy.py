"""A server before a REST catalog in this process, which hands requests on, or does worse."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_JSON = {"Content-Type": "application/json"}
_HTML = b"<html><body>Bad gateway</body></html>"
_HANGS_S = 30


class Fault(StrEnum):
    """What becomes of a request; `_after` is what becomes of one that the server has done."""

    DROPPED = "dropped"
    DROPPED_AFTER = "dropped after"
    TWICE = "done twice"
    LATE = "done when the client has given up"
    HANGING = "hanging"
    HANGING_AFTER = "hanging after"
    FAILED = "500"
    FAILED_AFTER = "500 after"
    GATEWAY = "502 page"
    GATEWAY_AFTER = "504 page after"
    PAGE_AFTER = "200 page after"
    TRUNCATED_AFTER = "truncated after"
    TOO_MANY = "429 with Retry-After"
    UNAVAILABLE = "503"
    UNAVAILABLE_AFTER = "503 after"
    ASKED_BACK = "503 with Retry-After"
    REDIRECT = "redirect"


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes


_SAYS = {
    Fault.FAILED: Reply(500, _JSON, b'{"error": {"message": "", "type": "Oops", "code": 500}}'),
    Fault.GATEWAY: Reply(502, {"Content-Type": "text/html"}, _HTML),
    Fault.GATEWAY_AFTER: Reply(504, {"Content-Type": "text/html"}, _HTML),
    Fault.PAGE_AFTER: Reply(200, {"Content-Type": "text/html"}, _HTML),
    Fault.TOO_MANY: Reply(429, {**_JSON, "Retry-After": "0"}, b"{}"),
    Fault.UNAVAILABLE: Reply(503, {"Content-Type": "text/plain"}, b"down"),
    Fault.ASKED_BACK: Reply(503, {**_JSON, "Retry-After": "0"}, b"{}"),
    Fault.REDIRECT: Reply(307, {"Location": "http://127.0.0.1:1/elsewhere"}, b""),
}
_SAYS[Fault.FAILED_AFTER] = _SAYS[Fault.FAILED]
_SAYS[Fault.UNAVAILABLE_AFTER] = _SAYS[Fault.UNAVAILABLE]
_DOES = {fault for fault in Fault if fault.endswith("after")} | {Fault.TWICE}


@dataclass
class Proxy:
    """What happens to requests: `faults` says it of one by its method and path, None: nothing."""

    target: str
    uri: str = ""
    faults: Callable[[str, str], Fault | None] = lambda _method, _path: None
    asked: list[str] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    """Reports of metrics that came."""
    came: threading.Condition = field(default_factory=threading.Condition)

    def reported(self, count: int, within_s: float = 60) -> list[dict[str, Any]]:
        """The reports, once so many have come; they are forgotten."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.reports) >= count, within_s), self.reports
            found = list(self.reports)
            self.reports.clear()
        return found

    def once(self, fault: Fault, method: str, path: str = "") -> None:
        """Have the fault happen to the first request of a method whose path has a text."""
        lock, left = threading.Lock(), [fault]

        def found(got: str, at: str) -> Fault | None:
            with lock:
                return left.pop() if got == method and path in at and left else None

        self.faults = found

    def always(self, faults: dict[str, Fault]) -> None:
        """Have faults happen to each request of their methods."""
        self.faults = lambda method, _: faults.get(method)

    def forwarded(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """The server's answer."""
        connection = HTTPConnection(urlsplit(self.target).netloc, timeout=_HANGS_S)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.proxy.asked.append(f"{self.command} {self.path}")
        if self.path.endswith("/metrics"):
            with self.proxy.came:
                self.proxy.reports.append(json.loads(body))
                self.proxy.came.notify_all()
        fault = self.proxy.faults(self.command, self.path)

        def ask() -> Reply:
            headers = {k: v for k, v in self.headers.items() if k.lower() != "host"}
            return self.proxy.forwarded(self.command, self.path, headers, body)

        if fault is Fault.LATE:
            self.wait_for_end()
            ask()
            return
        reply = ask() if fault is None or fault in _DOES else None
        reply = ask() if fault is Fault.TWICE else reply
        self.answer(fault, reply)

    do_GET = do_HEAD = do_POST = do_DELETE = handle_any  # noqa: N815 (http.server's names)

    def answer(self, fault: Fault | None, reply: Reply | None) -> None:
        if fault in _SAYS:
            reply = _SAYS[fault]
        match fault:
            case Fault.DROPPED | Fault.DROPPED_AFTER:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            case Fault.HANGING | Fault.HANGING_AFTER:
                self.wait_for_end()
                return
        assert reply is not None
        self.send_response_only(reply.status)
        left_out = {"content-length", "transfer-encoding", "connection"}
        for name, value in reply.headers.items():
            if name.lower() not in left_out:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault is Fault.TRUNCATED_AFTER:
            self.wfile.write(reply.body[: len(reply.body) // 2])
            self.close_connection = True
            return
        self.wfile.write(reply.body)

    def wait_for_end(self) -> None:
        """Wait until the client has closed its connection."""
        select.select([self.connection], [], [], _HANGS_S)
        self.close_connection = True


@contextmanager
def fault_proxy(target: str) -> Iterator[Proxy]:
    """Run a proxy before the server at `target` while the block runs."""
    proxy = Proxy(target)
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign] (clients that give up)
    proxy.uri = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
