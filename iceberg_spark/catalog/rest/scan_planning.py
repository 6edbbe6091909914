"""Scans that a server plans: submit, poll, fetch all pages, and cancel what is not needed.

Source: REST specification, planTableScan to fetchScanTasks; Java's `RESTTableScan`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from iceberg_spark.catalog.planned_io import PlannedPages, ServerPlannedIO
from iceberg_spark.catalog.rest import paths as p
from iceberg_spark.catalog.rest.answers import Answer, LostAnswerError
from iceberg_spark.catalog.rest.changes import change_request
from iceberg_spark.catalog.rest.credentials import plan_storage
from iceberg_spark.catalog.rest.session import RestSession, session_of
from iceberg_spark.catalog.rest.settings import PLANNING_MODE, PLANNING_TIMEOUT
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.catalog.rest.vended_io import properties_for_tasks, vended_io
from iceberg_spark.errors import (
    IcebergError,
    InvalidOptionError,
    ServiceUnavailableError,
    UnsupportedError,
)
from iceberg_spark.io.file_io import FileIO

CLIENT, SERVER = "client", "server"
_LOST = {404: ServiceUnavailableError}
"""Meaning of the statuses of a plan: one that the server forgot can be planned again."""


@dataclass(frozen=True, slots=True)
class ServerPlanningLimits:
    """How a plan is fetched from a server; times in seconds."""

    first_pause_s: float = 0.1
    """Between the first two questions whether a plan is there; each pause is twice the last."""
    longest_pause_s: float = 10.0
    page_readers: int = 8
    """Threads that fetch pages of a plan."""
    most_pages: int = 100_000
    """Pages of a plan: ten million files at a hundred. A hostile server always names another."""


SERVER_PLANNING = ServerPlanningLimits()


def is_planned_by_server(session: RestSession, config: Mapping[str, str], table: str) -> bool:
    """Return whether a server wants to plan the scans of a table.

    The table's configuration decides, else the catalog's, which is the server's or the user's.

    Raises:
        InvalidOptionError: the mode is neither 'client' nor 'server'.
        UnsupportedError: the mode is 'server', but the server has no endpoint for plans.
    """
    mode = config.get(PLANNING_MODE) or session.config.properties.get(PLANNING_MODE, CLIENT)
    if mode.lower() not in (CLIENT, SERVER):
        raise InvalidOptionError(
            f"The {PLANNING_MODE} of table {table} is '{mode}', and must be {CLIENT} or {SERVER}"
        )
    if mode.lower() == CLIENT:
        return False
    if not session.paths.has(p.PLAN_SCAN):
        raise UnsupportedError(
            f"The {PLANNING_MODE} of table {table} is '{SERVER}', but the server does not have the "
            f"endpoint {p.PLAN_SCAN}"
        )
    return True


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A table whose scans a server plans, as all processes know it.

    `catalog` are the catalog's properties, from which workers create its session. `own` is the
    server's configuration of the table's own token.
    """

    name: str
    catalog: Mapping[str, str] = field(repr=False)
    identifier: str
    location: str
    storage: FileIO = field(repr=False)
    own: Mapping[str, str] = field(repr=False)


class RestScanPlanner:
    """Plans scans of one table at a server (implements `ScanPlanner`)."""

    __slots__ = ("_session", "_table")

    def __init__(self, table: PlannedTable, session: RestSession | None = None) -> None:
        """`session` is the session that loaded the table; workers have their own."""
        self._table = table
        self._session = session

    def __reduce__(self) -> tuple[type[RestScanPlanner], tuple[PlannedTable]]:
        catalog = properties_for_tasks(self._table.catalog, self._connected())
        return RestScanPlanner, (replace(self._table, catalog=catalog),)

    @property
    def table(self) -> str:
        """The table's name, for people."""
        return f"{self._table.identifier} of catalog '{self._table.name}'"

    def plan(self, request: Mapping[str, Any]) -> PlannedPages:
        """Plan a scan; returns when all pages of the plan are fetched.

        Raises:
            NoSuchTableError: the table does not exist.
            ServiceUnavailableError: the server failed, or did not end in time.
            UnsupportedError: the server lacks an endpoint.
        """
        exchange = _Exchange(self._connected(), self._table.identifier, self.table)
        plan_id, result = exchange.result(request)
        with exchange.cancelling(plan_id):
            pages = (result, *exchange.pages(_tasks(result)))
        return PlannedPages(pages, self._planned_io(result, plan_id))

    def _connected(self) -> RestSession:
        table = self._table
        session = self._session or session_of(table.name, table.catalog)
        if table.own and not session.has_own(table.identifier):  # in a worker
            session.keep_own(table.identifier, table.own)
        return session

    def _planned_io(self, result: Mapping[str, Any], plan_id: str) -> FileIO | None:
        """Return storage with the plan's own credentials, which are renewed by the plan's id."""
        session, table = self._connected(), self._table
        credentials = result.get("storage-credentials")
        if not credentials:
            return None
        first = _first_path(result) or table.location
        io = plan_storage(table.storage, credentials, first, session.trust)
        made_from = table.name, table.catalog, table.identifier, first
        io = vended_io(session.paths, *made_from, io, table.own, plan_id=plan_id)
        return ServerPlannedIO(io, self)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """The requests of one plan."""

    session: RestSession
    identifier: str
    table: str

    def result(self, request: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Submit a scan; returns the plan's id ("" for none) and its completed result."""
        path = self.session.paths.table(self.identifier, "plan")
        node = self._sent(change_request(self.session, "POST", path, request))
        plan_id = str(node.get("plan-id") or "")
        match node.get("status"):
            case "submitted" if plan_id:
                with self.cancelling(plan_id):
                    return plan_id, self._polled(plan_id)
            case status:
                return plan_id, self._completed(node, status)

    def _polled(self, plan_id: str) -> Mapping[str, Any]:
        """Ask for the result until it is there: soon at first, then in longer pauses."""
        self.session.paths.need(p.FETCH_PLAN)
        limit_s = self.session.config.settings.planning_timeout_s
        end_s = time.monotonic() + limit_s
        pause_s = SERVER_PLANNING.first_pause_s
        request = Request("GET", self.session.paths.plan(self.identifier, plan_id))
        while True:
            node = self._sent(request)
            if node.get("status") != "submitted":
                return self._completed(node, node.get("status"))
            if time.monotonic() + pause_s > end_s:
                raise ServiceUnavailableError(
                    f"The catalog has not planned the scan of {self.table} within {limit_s:.0f} "
                    f"seconds ({PLANNING_TIMEOUT})"
                )
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, SERVER_PLANNING.longest_pause_s)

    def _completed(self, node: Mapping[str, Any], status: object) -> Mapping[str, Any]:
        match status:
            case "completed":
                return node
            case "failed":
                raise self._failure(node)
            case "cancelled":
                raise ServiceUnavailableError(
                    f"The catalog cancelled its plan of the scan of {self.table}: read again"
                )
            case _:
                raise LostAnswerError(
                    f"The catalog answered with a plan of unknown status {status!r}"
                )

    def _failure(self, node: Mapping[str, Any]) -> IcebergError:
        error = node.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        answer = Answer(code if isinstance(code, int) else 500, {}, json.dumps(node).encode())
        return self.session.error(answer, _LOST, f"plan the scan of table {self.table}")

    def pages(self, plan_tasks: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
        """Fetch the pages of plan tasks in parallel, and of the plan tasks that these name.

        A plan task is fetched once, although a server may name it again. Yields the pages in the
        order in which they were named.
        """
        if not plan_tasks:
            return
        self.session.paths.need(p.FETCH_SCAN_TASKS)
        numbers = {task: number for number, task in enumerate(dict.fromkeys(plan_tasks))}
        pages: dict[int, Mapping[str, Any]] = {}
        with ThreadPoolExecutor(SERVER_PLANNING.page_readers, "iceberg-plan") as pool:
            running = {pool.submit(self._page, task): number for task, number in numbers.items()}
            try:
                while running:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        pages[running.pop(future)] = page = future.result()
                        running |= self._following(pool, page, numbers)
            except BaseException:
                for future in running:
                    future.cancel()
                raise
        yield from (pages[number] for number in sorted(pages))

    def _following(
        self, pool: ThreadPoolExecutor, page: Mapping[str, Any], numbers: dict[str, int]
    ) -> dict[Future[Mapping[str, Any]], int]:
        """Start to fetch the plan tasks that a page names and that are not in `numbers` yet."""
        started = {}
        for task in _tasks(page):
            if task not in numbers:
                numbers[task] = len(numbers)
                started[pool.submit(self._page, task)] = numbers[task]
        if len(numbers) > SERVER_PLANNING.most_pages:
            raise UnsupportedError(
                f"The catalog's plan of the scan of {self.table} has more than "
                f"{SERVER_PLANNING.most_pages:,} pages"
            )
        return started

    def _page(self, plan_task: str) -> Mapping[str, Any]:
        path = self.session.paths.table(self.identifier, "tasks")
        return self._sent(change_request(self.session, "POST", path, {"plan-task": plan_task}))

    def _sent(self, request: Request) -> Mapping[str, Any]:
        """Send a request, again after failures that may pass: planning changes no table."""
        request = replace(request, of_table=self.identifier)
        return self.session.read(
            request, _LOST, f"plan the scan of table {self.table}", Answer.node
        )

    @contextmanager
    def cancelling(self, plan_id: str) -> Iterator[None]:
        """Cancel the plan if the block fails or is interrupted: the server holds state for it."""
        try:
            yield
        except BaseException:
            if plan_id and self.session.paths.has(p.CANCEL_PLAN):
                path = self.session.paths.plan(self.identifier, plan_id)
                request = Request("DELETE", path, of_table=self.identifier)
                with suppress(IcebergError):  # the plan may have ended; the first error counts
                    self.session.exchange(request)
            raise


def _tasks(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the plan tasks that a result or a page names."""
    named = node.get("plan-tasks")
    return tuple(map(str, named)) if isinstance(named, list) else ()


def _first_path(node: Mapping[str, Any]) -> str | None:
    for task in node.get("file-scan-tasks") or ():
        path = task.get("data-file", {}).get("file-path") if isinstance(task, dict) else None
        return path if isinstance(path, str) else None
    return None
