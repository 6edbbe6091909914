"""Reports to a server: sent in the background, once, bounded; no verb waits or fails."""

import json
import os
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from iceberg_spark.catalog.decoded_tables import REPORTS
from iceberg_spark.catalog.rest import reports
from iceberg_spark.catalog.rest.reports import Outbox
from iceberg_spark.commits.commit import commit_report
from iceberg_spark.spec.metadata_json import metadata_to_json
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.types import LongType, NestedField
from tests.unit.catalog.rest.fake_server import FakeServer, Handler, body

PATH = "v1/namespaces/db/tables/t"
DONE = httpx.Response(204)
METRICS = f"POST {PATH}/metrics"
BASE = new_metadata(Schema(NestedField(1, "id", LongType())), location="/w/t", now_ms=1)


@pytest.fixture(autouse=True)
def outbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outbox]:
    monkeypatch.setattr(reports, "_outbox", Outbox())
    yield reports._outbox
    assert reports.flush(10)


def served(metrics: Any = DONE, **config: Any) -> FakeServer:
    node = {"metadata-location": "/w/m.json", "metadata": json.loads(metadata_to_json(BASE))}
    return FakeServer({f"GET {PATH}": httpx.Response(200, json=node), METRICS: metrics}, config)


def take(server: FakeServer, report: dict[str, Any], **properties: str) -> None:
    reporter = server.catalog(**properties).load("db.t").reporter
    assert reporter is not None
    reporter.take(report)


def sent(server: FakeServer) -> list[Any]:
    assert reports.flush(10)
    return [body(one) for one in server.requests if one.url.path.endswith("/metrics")]


def test_a_report_goes_to_its_table_by_its_whole_name():
    server = served()
    take(server, {"report-type": "scan-report"})
    assert sent(server) == [{"table-name": "c.db.t", "report-type": "scan-report"}]
    assert METRICS in server.asked()


@pytest.mark.parametrize(
    ("properties", "config"),
    [
        ({"rest-metrics-reporting-enabled": "false"}, {}),
        ({}, {"overrides": {"rest-metrics-reporting-enabled": "False"}}),
        ({}, {"endpoints": ["GET /v1/{prefix}/namespaces/{namespace}/tables/{table}"]}),
    ],
)
def test_no_report_is_sent_if_user_or_server_disable_it(
    properties: dict[str, str], config: dict[str, Any]
):
    assert served(**config).catalog(**properties).load("db.t").reporter is None


@pytest.mark.parametrize(
    "answer",
    [
        httpx.ReadError("cut"),
        httpx.ConnectError("gone"),
        httpx.Response(500),
        httpx.Response(404, text="<html>"),
        httpx.Response(429, headers={"Retry-After": "60"}),
        ValueError("of our own"),
    ],
)
def test_what_becomes_of_a_report_is_nobodys_trouble(answer: httpx.Response | Exception):
    server = served(answer)
    take(server, {"n": 1})
    take(server, {"n": 2})
    assert [one["n"] for one in sent(server)] == [1, 2]  # once each


def held(until: threading.Event, arrived: threading.Event) -> Handler:
    def handler(_: httpx.Request) -> httpx.Response:
        arrived.set()
        until.wait(30)
        return httpx.Response(204)

    return handler


def test_a_server_that_does_not_answer_holds_nobody_up_and_fills_no_memory():
    until, arrived = threading.Event(), threading.Event()
    server = served(held(until, arrived))
    reporter = server.catalog().load("db.t").reporter
    assert reporter is not None
    reporter.take({"n": 0})
    assert arrived.wait(30)
    for number in range(1, 3 * REPORTS.waiting):
        reporter.take({"n": number})
    assert not reports.flush(0.01)
    until.set()
    assert [one["n"] for one in sent(server)] == list(range(REPORTS.waiting + 1))


def test_a_process_that_was_forked_sends_its_own():
    server = served()
    take(server, {"n": 1})
    assert len(sent(server)) == 1
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # the thread is not here
        take(server, {"n": 2})
        os.write(write, json.dumps(len(sent(server))).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 9) == b"2"


def test_a_table_that_goes_to_a_task_reports_nothing_there():
    reporter = served().catalog().load("db.t").reporter
    assert reporter is not None
    assert pickle.loads(pickle.dumps(reporter)) is None


def test_a_commit_report_has_the_counts_of_its_summary():
    summary = {
        "operation": "overwrite",
        "added-data-files": "2",
        "deleted-records": "7",
        "added-files-size": "100",
        "total-records": "many",
    }
    report = commit_report(Snapshot(9, 1, sequence_number=4, summary=summary), 0.5, 3)
    assert report["metrics"] == {
        "total-duration": {"count": 1, "time-unit": "nanoseconds", "total-duration": 500_000_000},
        "attempts": {"unit": "count", "value": 3},
        "added-data-files": {"unit": "count", "value": 2},
        "removed-records": {"unit": "count", "value": 7},
        "added-files-size-bytes": {"unit": "bytes", "value": 100},
    }
    assert (report["snapshot-id"], report["sequence-number"]) == (9, 4)
    assert report["operation"] == "overwrite"
