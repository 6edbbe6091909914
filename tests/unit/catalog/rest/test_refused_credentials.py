"""A store refuses vended credentials before their time: they are renewed once, never in a loop."""

import pickle
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.catalog.rest import vended_io
from iceberg_spark.catalog.rest.vended_io import VendedIO
from iceberg_spark.errors import StoragePermissionError
from iceberg_spark.formats.parquet_reader import open_parquet
from iceberg_spark.io.storage import open_storage
from tests.unit.catalog.rest.fake_server import URI, FakeServer
from tests.unit.catalog.rest.test_credentials import EXPIRES, in_ms

EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>"
REFUSALS = {"400": (400, EXPIRED), "403": (403, b"<Error><Code>AccessDenied</Code></Error>")}


class Store(ThreadingHTTPServer):
    """One bucket of S3 that refuses the key `old`, however good its client thinks it is."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, bytes] = {}
        self.refusal = REFUSALS["400"]
        self.refused_keys = ["old"]
        self.refusals = 0


class Handler(BaseHTTPRequestHandler):
    server: Store
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None: ...

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if length else b""
        signed = self.headers.get("Authorization", "")
        if any(f"Credential={key}/" in signed for key in self.server.refused_keys):
            self.server.refusals += 1
            self.answer(*self.server.refusal)
            return
        path = self.path.partition("?")[0]
        if self.command == "PUT":
            self.server.objects[path] = body
            self.answer(200, ETag='"1"')
        elif self.command == "DELETE":
            self.server.objects.pop(path, None)
            self.answer(204)
        elif path in self.server.objects:
            self.serve(self.server.objects[path])
        else:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def serve(self, data: bytes) -> None:
        stamp = {"ETag": '"1"', "Last_Modified": "Sun, 29 Nov 2026 00:00:00 GMT"}
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            self.answer(200, data, **stamp)
            return
        first, last = wanted.groups()
        start = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last) + 1, len(data)) if first and last else len(data)
        part = f"bytes {start}-{end - 1}/{len(data)}"
        self.answer(206, data[start:end], Content_Range=part, **stamp)

    do_GET = do_HEAD = do_PUT = do_DELETE = handle_any  # noqa: N815


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    """Gives the key `new`, which is good for an hour as `old` is."""
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    server = FakeServer()
    node = {"prefix": "s3://b", "config": {"s3.access-key-id": "new", EXPIRES: in_ms(3600)}}
    answer = httpx.Response(200, json={"storage-credentials": [node]})
    server.replies["GET v1/namespaces/db/tables/t/credentials"] = answer
    session = server.catalog()._session
    monkeypatch.setattr(vended_io, "session_of", lambda *_: session)
    return server


def storage(store: Store) -> VendedIO:
    properties = {
        "s3.endpoint": f"http://127.0.0.1:{store.server_port}", "s3.region": "r",
        "s3.access-key-id": "old", "s3.secret-access-key": "x", "s3.path-style-access": "true",
        EXPIRES: in_ms(3600),
    }  # fmt: skip
    return VendedIO("c", {"uri": URI}, "db.t", "s3://b/t", open_storage(properties))


@pytest.mark.parametrize("refusal", REFUSALS)
def test_refused_credentials_are_renewed_and_the_call_repeated(
    store: Store, catalog: FakeServer, refusal: str
) -> None:
    store.refusal = REFUSALS[refusal]
    store.objects["/b/t/f"] = b"0123456789"
    calls = {
        "read": lambda io: io.read_bytes("s3://b/t/f") == b"0123456789",
        "open": lambda io: io.open("s3://b/t/f").read() == b"0123456789",
        "exists": lambda io: io.exists("s3://b/t/f"),
        "size": lambda io: io.size("s3://b/t/f") == 10,
        "replace": lambda io: io.replace("s3://b/t/new", b"1") is None,
        "delete": lambda io: io.delete("s3://b/t/new") is None,
    }
    for name, call in calls.items():
        before = len(catalog.asked())
        assert call(storage(store)), name
        assert len(catalog.asked()) == before + 1, name


def test_arrows_readers_in_a_task_renew_refused_credentials(
    store: Store, catalog: FakeServer
) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [1, 2, 3]}), sink)
    store.objects["/b/t/f.parquet"] = sink.getvalue().to_pybytes()
    in_task = pickle.loads(pickle.dumps(storage(store)))
    reader = open_parquet(in_task, "s3://b/t/f.parquet")
    assert reader.file.read()["id"].to_pylist() == [1, 2, 3]
    reader.close()
    assert len(catalog.asked()) == 1


def test_credentials_that_are_refused_again_end_in_the_stores_error(
    store: Store, catalog: FakeServer
) -> None:
    store.refused_keys = ["old", "new"]
    io = storage(store)
    for _ in range(5):
        with pytest.raises(StoragePermissionError):
            io.read_bytes("s3://b/t/f")
    assert len(catalog.asked()) == 1
    assert store.refusals == 6


def test_a_server_without_other_credentials_leaves_the_stores_error(
    store: Store, catalog: FakeServer
) -> None:
    node = {"prefix": "s3://b", "config": {"s3.access-key-id": "old"}}
    answer = httpx.Response(200, json={"storage-credentials": [node]})
    catalog.replies["GET v1/namespaces/db/tables/t/credentials"] = answer
    with pytest.raises(StoragePermissionError, match="ExpiredToken"):
        storage(store).read_bytes("s3://b/t/f")
    assert store.refusals == 1
