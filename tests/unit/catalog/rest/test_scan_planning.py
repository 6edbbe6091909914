"""Scans that a server plans: who plans, polling, pages, failures, and what is cancelled."""

import pickle
import threading
from typing import Any

import httpx
import pytest

from iceberg_spark import Table
from iceberg_spark.catalog.planned_io import ServerPlannedIO, planner_of
from iceberg_spark.catalog.rest import paths as p
from iceberg_spark.catalog.rest import scan_planning
from iceberg_spark.catalog.rest.vended_io import VendedIO
from iceberg_spark.errors import (
    ForbiddenError,
    InvalidOptionError,
    NoSuchTableError,
    ServiceUnavailableError,
    UnsupportedError,
)
from tests.unit.catalog.rest.fake_server import URI, error
from tests.unit.catalog.rest.planning_server import (
    EVERY,
    PLAN,
    TABLE,
    PlanningServer,
    completed,
    page,
    status,
)
from tests.unit.catalog.rest.test_credentials import EXPIRES, in_ms

SUBMITTED = status("submitted", **{"plan-id": "p1"})
RESULT = f"GET {TABLE}/plan/p1"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", pauses.append)
    monkeypatch.setattr(scan_planning.time, "sleep", pauses.append)
    return pauses


def table(server: PlanningServer, **properties: str) -> Table:
    return server.named(**properties).load_table("db.t")


def files(planned: Any) -> list[str]:
    return [one.file_path.rpartition("/")[2].removesuffix(".parquet") for one in planned]


def test_the_tables_configuration_decides_who_plans():
    server = PlanningServer({PLAN: completed("a")})
    assert isinstance(table(server).io, ServerPlannedIO)
    server.table_config = {"scan-planning-mode": "CLIENT"}
    assert planner_of(table(server, **{"scan-planning-mode": "server"}).io) is None
    server.table_config = {}
    assert planner_of(table(server).io) is None
    assert planner_of(table(server, **{"scan-planning-mode": "server"}).io) is not None


def test_the_catalogs_configuration_stands_in_for_the_tables():
    server = PlanningServer(
        {PLAN: completed("a")},
        config={"overrides": {"scan-planning-mode": "server"}},
        table_config={},
    )
    assert files(table(server).scan().plan_files()) == ["a"]


def test_a_mode_without_an_endpoint_or_without_meaning_is_refused():
    with pytest.raises(UnsupportedError, match=r"of table db\.t is 'server', but the server does"):
        table(PlanningServer(endpoints=p_without(p.PLAN_SCAN)))
    with pytest.raises(InvalidOptionError, match="is 'both', and must be client or server"):
        table(PlanningServer(table_config={"scan-planning-mode": "both"}))


def p_without(endpoint: str) -> tuple[str, ...]:
    return tuple(one for one in EVERY if one != endpoint)


def test_a_plan_that_is_complete_needs_one_request():
    server = PlanningServer({PLAN: completed("a", "b")})
    scan = table(server).scan("id > 5", selected_fields=("s",))
    assert files(scan.plan_files()) == ["a", "b"]
    assert server.asked_plan() == {
        "snapshot-id": 1, "use-snapshot-schema": True, "case-sensitive": True,
        "select": ["s", "id"], "filter": {"type": "gt", "term": "id", "value": 5},
    }  # fmt: skip
    assert server.cancelled == []


def test_a_submitted_plan_is_polled_in_growing_pauses(no_pauses):
    server = PlanningServer({PLAN: SUBMITTED, RESULT: [SUBMITTED] * 3 + [completed("a")]})
    assert files(table(server).scan().plan_files()) == ["a"]
    assert no_pauses == [0.1, 0.2, 0.4]
    assert server.cancelled == []


def test_a_plan_that_takes_too_long_is_cancelled():
    server = PlanningServer({PLAN: SUBMITTED, RESULT: SUBMITTED})
    with pytest.raises(ServiceUnavailableError, match="within 0 seconds"):
        table(server, **{"rest-scan-planning.poll-timeout-ms": "0"}).scan().to_arrow()
    assert server.cancelled == ["p1"]


def test_an_interrupt_cancels_the_plan(monkeypatch):
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scan_planning.time, "sleep", interrupted)
    server = PlanningServer({PLAN: SUBMITTED, RESULT: SUBMITTED})
    with pytest.raises(KeyboardInterrupt):
        table(server).scan().plan_files()
    assert server.cancelled == ["p1"]


def test_pages_and_those_that_they_name_are_fetched_once():
    server = PlanningServer(
        {PLAN: completed("a", **{"plan-tasks": ["t1", "t2", "t1"]})},
        pages={
            "t1": page("b", then=("t3",)), "t2": page("c"), "t3": page("d", then=("t1", "t3")),
        },
    )  # fmt: skip
    assert files(table(server).scan().plan_files()) == ["a", "b", "c", "d"]
    assert len([line for line in server.asked("POST") if line.endswith("tasks")]) == 3
    assert server.cancelled == []


def test_pages_are_fetched_in_parallel():
    together = threading.Barrier(3, timeout=30)

    class Waiting(PlanningServer):
        def _page(self, request: httpx.Request) -> Any:
            together.wait()
            return super()._page(request)

    server = Waiting(
        {PLAN: completed(**{"plan-tasks": ["t1", "t2", "t3"]})},
        pages={name: page(name) for name in ("t1", "t2", "t3")},
    )
    assert files(table(server).scan().plan_files()) == ["t1", "t2", "t3"]


def test_a_page_that_fails_for_good_cancels_the_plan():
    lost = error(404, "NoSuchPlanTaskException", "it is gone")
    server = PlanningServer(
        {PLAN: completed("a", **{"plan-tasks": ["t1", "t2"]})},
        pages={"t1": page("b"), "t2": lost},
    )
    with pytest.raises(ServiceUnavailableError, match=r"plan the scan of table db\.t.*it is gone"):
        table(server).scan().plan_files()
    assert server.cancelled == ["p1"]


def test_requests_are_repeated_after_failures_that_may_pass():
    busy = error(503, "ServiceUnavailableException")
    server = PlanningServer(
        {PLAN: [busy, httpx.ReadTimeout("late"), SUBMITTED],
         RESULT: [busy, completed("a", **{"plan-tasks": ["t1"]})]},
        pages={"t1": page("b")},
    )  # fmt: skip
    assert files(table(server).scan().plan_files()) == ["a", "b"]


@pytest.mark.parametrize("where", ["at once", "later"])
def test_a_failed_plan_raises_the_servers_error(where):
    failed = status("failed", error={"message": "no!", "type": "ForbiddenException", "code": 403})
    replies = {PLAN: failed} if where == "at once" else {PLAN: SUBMITTED, RESULT: failed}
    with pytest.raises(ForbiddenError, match=r"Can't plan the scan of table db\.t.*no!"):
        table(PlanningServer(replies)).scan().plan_files()


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (status("cancelled"), ServiceUnavailableError, "cancelled its plan"),
        (status("failed"), ServiceUnavailableError, "answered 500"),
        (status("thinking"), ServiceUnavailableError, "unknown status 'thinking'"),
        (status("submitted"), ServiceUnavailableError, "unknown status 'submitted'"),
        (error(404, "NoSuchTableException"), NoSuchTableError, "plan the scan"),
        (error(404, "NoSuchPlanIdException"), ServiceUnavailableError, "plan the scan"),
    ],
)
def test_other_answers_are_errors(reply, kind, words):
    with pytest.raises(kind, match=words):
        table(PlanningServer({PLAN: reply})).scan().plan_files()


def test_a_server_without_the_other_endpoints_is_refused_when_they_are_needed():
    endpoints = p_without(p.FETCH_SCAN_TASKS)
    server = PlanningServer({PLAN: completed("a")}, endpoints=endpoints)
    assert files(table(server).scan().plan_files()) == ["a"]
    server = PlanningServer({PLAN: completed(**{"plan-tasks": ["t"]})}, endpoints=endpoints)
    with pytest.raises(UnsupportedError, match=r"tables/{table}/tasks"):
        table(server).scan().plan_files()
    server = PlanningServer({PLAN: SUBMITTED}, endpoints=p_without(p.FETCH_PLAN))
    with pytest.raises(UnsupportedError, match=r"GET .*plan-id"):
        table(server).scan().plan_files()


def test_a_plan_has_no_end_of_pages(monkeypatch):
    limits = scan_planning.SERVER_PLANNING
    monkeypatch.setattr(
        scan_planning, "SERVER_PLANNING", type(limits)(most_pages=20, page_readers=2)
    )

    class Endless(PlanningServer):
        def _page(self, _: httpx.Request) -> Any:
            return page(then=(f"t{len(self.requests)}",))

    server = Endless({PLAN: completed(**{"plan-tasks": ["t0"]})})
    with pytest.raises(UnsupportedError, match="more than 20 pages"):
        table(server).scan().plan_files()
    assert server.cancelled == ["p1"]


def test_keys_make_repeated_requests_one():
    server = PlanningServer(
        {PLAN: [httpx.ReadTimeout("late"), completed("a")]},
        config={"idempotency-key-lifetime": "PT30M"},
    )
    table(server).scan().plan_files()
    keys = {
        one.headers["Idempotency-Key"] for one in server.requests if one.url.path[-5:] == "/plan"
    }
    assert len(keys) == 1


def test_credentials_of_a_plan_open_its_files():
    config = {"s3.access-key-id": "of-plan", "s3.secret-access-key": "x"}
    credentials = [{"prefix": "/w", "config": config}]
    server = PlanningServer(
        {PLAN: completed("a", **{"storage-credentials": credentials})},
        table_config={
            "scan-planning-mode": "server", "s3.access-key-id": "of-table",
            "s3.session-token": "of-table", "s3.region": "eu",
        },
    )  # fmt: skip
    loaded = table(server)
    planned = loaded.scan().plan_files()
    properties = planned.context.io.properties
    assert properties["s3.access-key-id"] == "of-plan" and properties["s3.region"] == "eu"
    assert "s3.session-token" not in properties
    assert loaded.io.properties["s3.access-key-id"] == "of-table"
    assert planned.is_by_catalog


def test_credentials_of_a_plan_are_renewed_by_its_id():
    config = {"s3.access-key-id": "old", EXPIRES: in_ms(-1_000)}
    renewed = {"s3.access-key-id": "new", EXPIRES: in_ms(3_600_000)}
    node = {"storage-credentials": [{"prefix": "/w", "config": renewed}]}
    server = PlanningServer(
        {
            PLAN: completed("a", **{"storage-credentials": [{"prefix": "/w", "config": config}]}),
            f"GET {TABLE}/credentials": httpx.Response(200, json=node),
        },
        endpoints=(*EVERY, p.CREDENTIALS),
    )
    planned = table(server).scan().plan_files()
    storage = planned.context.io.storage
    assert isinstance(storage, VendedIO)
    session = server.catalog()._session
    assert storage._requested(session) == renewed
    assert server.asked("GET")[-1] == f"GET {TABLE}/credentials?planId=p1"


def test_a_worker_gets_a_planner_without_the_clients_secret():
    server = PlanningServer({PLAN: completed("a")})
    properties = {"credential": "me:hidden-word", "token": "a-token"}
    planner = planner_of(table(server, **properties).io)
    sent = pickle.dumps(planner)
    assert b"hidden-word" not in sent and b"a-token" in sent and URI.encode() in sent
    assert pickle.loads(sent).table == "db.t of catalog 'c'"


def test_row_changes_are_refused_with_a_reason():
    loaded = table(PlanningServer({PLAN: completed("a")}))
    with pytest.raises(UnsupportedError, match=r"change or rewrite rows of table db\.t of"):
        loaded.delete("id = 5")
    with pytest.raises(UnsupportedError, match="scan-planning-mode is 'server'"):
        loaded.maintenance.rewrite_data_files()
