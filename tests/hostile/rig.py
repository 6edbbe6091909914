"""A hostile catalog server, a hostile store and a hostile table, all on 127.0.0.1.

Which test shows what `docs/security.md` promises; `test_rig.py` proves that each is there:

| Item | Promise | Tests |
| --- | --- | --- |
| 1 | bearer secrets go to hosts that the user named | test_a_catalogs_secrets_reach_no_host_that_its_server_names, test_secrets_go_to_no_host_that_a_server_names, test_a_store_that_a_server_names_gets_the_servers_own_secrets_only, test_a_path_names_no_host_that_gets_azure_credentials |
| 2 | a server sets nothing that only the user may set | test_a_server_that_sets_what_only_the_user_may_is_refused_by_name, test_only_the_user_may_set_it, test_what_real_servers_send_counts, test_each_property_that_the_code_reads_has_a_ruling |
| 3 | a catalog elsewhere names no local file | test_a_catalog_elsewhere_opens_and_deletes_no_local_file, test_a_catalog_on_another_machine_names_no_local_path |
| 4 | a table's own words do not widen it | test_a_tables_own_words_have_no_other_file_deleted, test_metadata_in_a_catalogs_folder_makes_no_other_folder_its_own, test_a_tables_own_words_widen_nothing, test_nothing_is_written_to_another_bucket, test_the_user_allows_a_bucket_or_all_of_a_store, test_a_view_stays_in_its_bucket_until_the_user_moves_it, test_a_path_that_leads_out_of_its_folder_is_refused |
| 5 | a stored view runs no code | test_a_view_that_would_run_code_is_refused_by_name, test_a_plain_query_is_not |
| 6 | a file of the current folder gets no secret | test_a_file_of_the_current_folder_gets_no_secret_of_the_environment |
| 7 | tasks carry what they need | test_a_task_gets_no_secret_of_another_store, test_a_task_renews_by_the_catalogs_token_and_gets_no_secret_of_the_client |
| 8 | what is read has bounds | test_a_sparse_file_of_gigabytes_is_not_read_whatever_it_is, test_an_answer_of_more_bytes_than_any_server_means_is_not_read, test_a_list_that_does_not_end_is_an_error, test_views_that_double_at_each_level_have_a_bound |
| 9 | a neighbour on the machine gains nothing | test_a_lock_follows_no_link_and_empties_no_file, test_a_name_leads_out_of_no_warehouse |
| 10 | messages and logs hold no secret | test_a_session_token_that_a_store_repeats_is_in_no_error, test_a_session_token_that_a_store_repeats_is_in_no_chained_cause, test_a_signature_is_not_logged |
| 11 | a store redirects to no other host | test_a_redirect_to_another_host_gets_nothing, test_what_the_client_sends_to_another_host_without_the_pin |
| 12 | dependencies have no known holes | test_floors_are_versions_without_known_holes, test_an_audit_that_nobody_answers_fails_in_one_sentence |
"""  # noqa: E501 (rows of a table)

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fastavro

import iceberg_spark as ice
from iceberg_spark import Table, TableCatalog
from iceberg_spark.spec.metadata_json import metadata_to_json
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.schema import Schema
from tests.unit.api.tables import make


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent; names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answers."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, node: Any, status: int = 200) -> Reply:
        return cls(status, json.dumps(node).encode(), {"Content-Type": "application/json"})


Answer = Callable[[Request], Reply]


class Server(ThreadingHTTPServer):
    """Keeps each request, and answers as a test says."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[Request] = []

    def at(self, host: str = "127.0.0.1") -> str:
        """The server's address by one of the names of this machine."""
        return f"http://{host}:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None: ...

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, self.rfile.read(length))
        self.server.requests.append(request)
        reply = self.server.answer(request)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815 (http.server's)


@contextmanager
def serving(answer: Answer) -> Iterator[Server]:
    """Run a server until the end of the block."""
    server = Server(answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def nothing(_: Request) -> Reply:
    """The answer of a host that nobody ought to ask."""
    return Reply(404)


@dataclass
class HostileCatalog:
    """A REST catalog with the table `db.t`, whose server says what a test has it say."""

    config: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    location: str = "s3://bucket/db/t"
    table_config: Mapping[str, str] = field(default_factory=dict)
    replies: Mapping[str, Reply] = field(default_factory=dict)  # by "GET path"

    def __call__(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        found = self.replies.get(f"{request.method} {path}")
        if found is not None:
            return found
        if path == "/v1/config":
            return Reply.of({"defaults": {}, "overrides": {}, **self.config})
        if path == "/v1/oauth/tokens":
            return Reply.of({"access_token": "catalogs-token", "token_type": "bearer"})
        if path.endswith("/tables/t"):
            return Reply.of(self._table())
        return Reply(404)

    def _table(self) -> dict[str, Any]:
        metadata = new_metadata(Schema(), location=self.location, now_ms=1)
        return {
            "metadata-location": f"{self.location}/metadata/00000-a.metadata.json",
            "metadata": json.loads(metadata_to_json(metadata)),
            "config": dict(self.table_config),
        }


def catalog_at(server: Server, **properties: str) -> TableCatalog:
    """The catalog of a server, as a user loads it."""
    given = {"type": "rest", "uri": server.at(), "rest.client.max-retries": "0", **properties}
    return ice.load_catalog("hostile", **given)


class HostileTable:
    """A table that is a folder, and whose newest metadata says what a test has it say."""

    def __init__(self, folder: Path, **properties: str) -> None:
        self.folder = folder
        make(folder, **properties)

    def load(self) -> Table:
        return ice.load_table(str(self.folder))

    @property
    def newest(self) -> Path:
        """The newest metadata file."""
        return max(
            (self.folder / "metadata").glob("v*.json"), key=lambda path: (len(path.name), path.name)
        )

    def says(self, properties: Mapping[str, str] | None = None, **fields: Any) -> None:
        """Change fields of the metadata, and properties of the table."""
        node = json.loads(self.newest.read_text()) | fields
        node["properties"] |= properties or {}
        self.newest.write_text(json.dumps(node))

    def names(self, what: str, path: str) -> None:
        """Let the newest version name another manifest list ("list"), "manifest" or "data" file."""
        node = json.loads(self.newest.read_text())
        if what == "list":
            node["snapshots"][0]["manifest-list"] = path
            self.newest.write_text(json.dumps(node))
            return
        file = Path(node["snapshots"][0]["manifest-list"].removeprefix("file:"))
        if what == "data":
            file = next((self.folder / "metadata").glob("*-m0.avro"))
        with file.open("rb") as source:
            reader = fastavro.reader(source)
            records, metadata = list(reader), reader.metadata
        schema = json.loads(metadata["avro.schema"])
        for record in records:
            if what == "data":
                record["data_file"]["file_path"] = path
            else:
                record["manifest_path"] = path
        kept = {key: value for key, value in metadata.items() if not key.startswith("avro.")}
        with file.open("wb") as out:
            fastavro.writer(out, schema, records, metadata=kept)


def shown(error: BaseException) -> str:
    """Everything that a report may show of an error: its traceback and all that led to it."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return "".join([*traceback.format_exception(error), *(f"{one!r} {one}" for one in links)])


def make_sparse(path: Path, size: int = 8 << 30) -> Path:
    """Make a file that takes no space and claims gigabytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        out.truncate(size)
    return path
