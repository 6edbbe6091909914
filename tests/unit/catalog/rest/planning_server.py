"""A server that plans scans, as tests write its answers down."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from iceberg_spark.catalog.rest import paths as p
from iceberg_spark.spec.metadata_json import metadata_to_json
from tests.builders import branch, metadata, schema, snapshot
from tests.unit.catalog.rest.fake_server import FakeServer, Reply, body

TABLE = "v1/namespaces/db/tables/t"
PLAN = f"POST {TABLE}/plan"
TASKS = f"POST {TABLE}/tasks"
EVERY = (*p.DEFAULT_ENDPOINTS, p.PLAN_SCAN, p.FETCH_PLAN, p.FETCH_SCAN_TASKS, p.CANCEL_PLAN)


def task(name: str, rows: int = 3, **rest: Any) -> dict[str, Any]:
    """A scan task of a file of an unpartitioned table."""
    file = {
        "content": "data", "file-path": f"/w/t/data/{name}.parquet", "file-format": "parquet",
        "spec-id": 0, "partition": [], "file-size-in-bytes": 100, "record-count": rows,
    }  # fmt: skip
    return {"data-file": {**file, **rest.pop("file", {})}, **rest}


def completed(*names: str, plan_id: str = "p1", **rest: Any) -> httpx.Response:
    """A completed plan with the tasks of some files."""
    tasks = [task(name) for name in names]
    node = {"status": "completed", "plan-id": plan_id, "file-scan-tasks": tasks, **rest}
    return httpx.Response(200, json=node)


def page(*names: str, then: tuple[str, ...] = ()) -> httpx.Response:
    """A page of a plan, and the plan tasks that it names."""
    tasks = [task(name) for name in names]
    return httpx.Response(200, json={"file-scan-tasks": tasks, "plan-tasks": list(then)})


def status(name: str, **rest: Any) -> httpx.Response:
    """A plan of some status."""
    return httpx.Response(200, json={"status": name, **rest})


@dataclass
class PlanningServer(FakeServer):
    """Serves one table, whose scans it plans; `pages` are the answers of its plan tasks."""

    pages: dict[str, Reply] = field(default_factory=dict)
    table_config: dict[str, str] = field(default_factory=lambda: {"scan-planning-mode": "server"})
    endpoints: tuple[str, ...] = EVERY
    cancelled: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.config = {"endpoints": list(self.endpoints), **self.config}
        self.replies.setdefault(f"GET {TABLE}", lambda _: self._table())
        self.replies.setdefault(TASKS, self._page)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "DELETE":
            self.requests.append(request)
            self.cancelled.append(request.url.path.rpartition("/")[2])
            return httpx.Response(204)
        return super().__call__(request)

    def _page(self, request: httpx.Request) -> Reply:
        return self.pages[body(request)["plan-task"]]

    def _table(self) -> httpx.Response:
        first = snapshot(1, 1, manifest_list="/w/t/no-such-list.avro", schema_id=0)
        made = replace(
            metadata(schema(("id", "long"), ("s", "string")), location="/w/t"),
            snapshots={1: first},
            refs={"main": branch(1)},
            current_snapshot_id=1,
            last_sequence_number=1,
            last_updated_ms=first.timestamp_ms,
        )
        node = json.loads(metadata_to_json(made))
        answer = {"metadata-location": "/w/t/m.json", "metadata": node, "config": self.table_config}
        return httpx.Response(200, json=answer)

    def asked_plan(self) -> Any:
        """The body of the last request of a plan."""
        last = [r for r in self.requests if r.url.path.endswith("/plan")][-1]
        return json.loads(last.content)
