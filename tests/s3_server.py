"""A small S3 in this process: objects, listings, the conditional PUT, and answers that go wrong.

It speaks what obstore and s3fs ask for; `Answer` says what becomes of the PUT of a key.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_STAMP = "2026-01-01T00:00:00.000Z"
_HTTP_DATE = "Thu, 01 Jan 2026 00:00:00 GMT"


class Answer(Enum):
    """What becomes of a PUT."""

    RIGHT = "carried out and answered"
    LOST = "carried out, the line goes dead"
    ERROR_AFTER = "carried out, answered with 500"
    ERROR_BEFORE = "not carried out, answered with 500"
    CONFLICT = "not carried out, answered with 409"
    NOT_IMPLEMENTED = "not carried out, answered with 501"
    DENIED = "not carried out, answered with 403"
    DEAD = "not carried out, the line goes dead"


_REFUSALS = {
    Answer.ERROR_AFTER: (500, "InternalError"),
    Answer.ERROR_BEFORE: (500, "InternalError"),
    Answer.CONFLICT: (409, "ConditionalRequestConflict"),
    Answer.NOT_IMPLEMENTED: (501, "NotImplemented"),
    Answer.DENIED: (403, "AccessDenied"),
}


_REFUSED_BUCKETS = {"missing": (404, "NoSuchBucket"), "closed": (403, "AccessDenied")}
"""Buckets whose listing is refused."""


@dataclass
class Objects:
    """The objects by bucket and key, and what goes wrong with PUTs of keys that match."""

    port: int = 0
    stored: dict[str, bytes] = field(default_factory=dict)
    pattern: str = r"/v\d+\.metadata\.json$"
    client: str = ""  # `py-io-impl`
    has_odd_ranges: bool = False  # of nothing come the bytes 0 to -1, as of fake-gcs-server
    answers: list[Answer] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)  # "PUT bucket/key", ... as they came
    puts: list[str] = field(default_factory=list)  # the keys that match, each time they were sent
    meanwhile: Callable[[], None] = lambda: None  # happens before the first answer that goes wrong

    @property
    def properties(self) -> dict[str, str]:
        """Storage properties that lead here."""
        return {
            "s3.endpoint": f"http://127.0.0.1:{self.port}",
            "s3.access-key-id": "access",
            "s3.secret-access-key": "secret",
            "s3.region": "us-east-1",
            "s3.path-style-access": "true",
            "py-io-impl": self.client,
        }

    def next_answer(self, key: str) -> Answer:
        if not re.search(self.pattern, key):
            return Answer.RIGHT
        self.puts.append(key)
        return self.answers.pop(0) if self.answers else Answer.RIGHT


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer: the second of two waits for the client's delayed ACK
    disable_nagle_algorithm = True
    objects: Objects
    lock: threading.Lock

    def handle_expect_100(self) -> bool:
        go_on = super().handle_expect_100()
        self.wfile.flush()
        return go_on

    def parse_request(self) -> bool:
        sound = super().parse_request()
        if sound:
            self.objects.requests.append(f"{self.command} {self.key}")
        return sound

    def log_message(self, *_: object) -> None: ...

    @property
    def key(self) -> str:
        return unquote(urlsplit(self.path).path).lstrip("/")

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.objects.next_answer(self.key)
        with self.lock:
            there = self.key in self.objects.stored
            if answer in {Answer.RIGHT, Answer.LOST, Answer.ERROR_AFTER}:
                if there and self.headers.get("If-None-Match") == "*":
                    self._error(412, "PreconditionFailed", "<Condition>If-None-Match</Condition>")
                    return
                self.objects.stored[self.key] = data
        if answer is Answer.RIGHT:
            self._answer(200, b"", {"ETag": _etag(data)})
            return
        self.objects.meanwhile()
        if answer in _REFUSALS:
            self._error(*_REFUSALS[answer])
        else:
            self.close_connection = True

    def do_HEAD(self) -> None:
        self._get(with_body=False)

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if "list-type" in query:
            self._list(query)
        else:
            self._get(with_body=True)

    def do_DELETE(self) -> None:
        with self.lock:
            self.objects.stored.pop(self.key, None)
        self._answer(204, b"")

    def _get(self, *, with_body: bool) -> None:
        data = self.objects.stored.get(self.key)
        if data is None:
            self._error(404, "NoSuchKey", with_body=with_body)
            return
        headers = {"ETag": _etag(data), "Last-Modified": _HTTP_DATE}
        status = 200
        if asked := re.match(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")):
            start, end = _bounds(asked[1], asked[2], len(data))
            if asked[1] and start >= len(data):
                self._error(416, "InvalidRange", with_body=with_body)
                return
        if asked and (data or self.objects.has_odd_ranges):  # of nothing comes the whole
            headers["Content-Range"] = f"bytes {start}-{min(end, len(data) - 1)}/{len(data)}"
            data, status = data[start : end + 1], 206
        self._answer(status, data, headers, with_body=with_body)

    def _list(self, query: dict[str, list[str]]) -> None:
        bucket, prefix = self.key.strip("/"), query.get("prefix", [""])[0]
        if bucket in _REFUSED_BUCKETS:
            self._error(*_REFUSED_BUCKETS[bucket])
            return
        delimiter = query.get("delimiter", [""])[0]
        after = query.get("continuation-token", query.get("start-after", [""]))[0]
        most = int(query.get("max-keys", ["1000"])[0])
        items, folders, last = [], set(), ""
        for name, data in sorted(self.objects.stored.items()):
            key = name.removeprefix(f"{bucket}/")
            if key == name or not key.startswith(prefix) or key <= after:
                continue
            if len(items) + len(folders) == most:
                break
            last = key
            if delimiter and delimiter in key[len(prefix) :]:
                folders.add(prefix + key[len(prefix) :].split(delimiter)[0] + delimiter)
                continue
            items.append(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{_STAMP}</LastModified>"
                f"<ETag>{_etag(data)}</ETag><Size>{len(data)}</Size></Contents>"
            )
        else:
            last = ""
        is_cut = bool(last)
        common = "".join(
            f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>"
            for one in sorted(folders)
        )
        text = (
            f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>"
            f"<KeyCount>{len(items) + len(folders)}</KeyCount><MaxKeys>1000</MaxKeys>"
            f"<IsTruncated>{str(is_cut).lower()}</IsTruncated>"
            f"{f'<NextContinuationToken>{escape(last)}</NextContinuationToken>' * is_cut}"
            f"{''.join(items)}{common}</ListBucketResult>"
        )
        self._answer(200, text.encode(), {"Content-Type": "application/xml"})

    def _error(self, status: int, code: str, more: str = "", *, with_body: bool = True) -> None:
        text = f"<Error><Code>{code}</Code><Message>{code}</Message>{more}</Error>"
        self._answer(status, text.encode(), with_body=with_body)

    def _answer(
        self,
        status: int,
        data: bytes,
        headers: dict[str, str] | None = None,
        *,
        with_body: bool = True,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if with_body:
            self.wfile.write(data)


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    """Return the first and the last byte of `first-last`, `first-` or `-count`."""
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), int(last or size - 1)


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


@contextmanager
def s3_server() -> Iterator[Objects]:
    """Serve an S3 of its own while the block runs."""
    objects = Objects()
    kind = type("Handler", (_Handler,), {"objects": objects, "lock": threading.Lock()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    objects.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield objects
    finally:
        server.shutdown()
        server.server_close()
