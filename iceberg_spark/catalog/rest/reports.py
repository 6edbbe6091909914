"""Reports of scans and commits to a server: sent from one background thread, or dropped.

No verb waits for a report, and none fails because of one. A report is queued and sent once, within
a few seconds. A full queue drops reports. An ending process waits a moment for the last ones.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from iceberg_spark.catalog.decoded_tables import REPORTS
from iceberg_spark.catalog.rest.paths import REPORT_METRICS
from iceberg_spark.catalog.rest.session import RestSession
from iceberg_spark.catalog.rest.transport import Request

_TABLE_NAME = "table-name"


@dataclass(frozen=True, slots=True)
class RestReporter:
    """Takes reports about one table (implements `Reporter`)."""

    session: RestSession
    catalog: str
    identifier: str

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """A task gets no reporter: the driver reports."""
        return _nobody, ()

    def take(self, report: Mapping[str, Any]) -> None:
        """Queue a report."""
        named = {_TABLE_NAME: f"{self.catalog}.{self.identifier}", **report}
        body = json.dumps(named, separators=(",", ":")).encode()
        path = self.session.paths.table(self.identifier, "metrics")
        headers = {"Content-Type": "application/json"}
        _outbox.put(
            self.session,
            Request(
                "POST",
                path,
                body=body,
                headers=headers,
                timeout_s=REPORTS.timeout_s,
                of_table=self.identifier,
            ),
        )


def _nobody() -> None:
    return None


def reporter(session: RestSession, catalog: str, identifier: str) -> RestReporter | None:
    """Return the reporter of a table; None if the server or the user disables reports."""
    config = session.config
    if not config.settings.reports or not config.paths.has(REPORT_METRICS):
        return None
    return RestReporter(session, catalog, identifier)


class Outbox:
    """Queued requests, and the thread that sends them; created again after a fork."""

    __slots__ = ("_lock", "_process", "_waiting")

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._waiting: queue.Queue[tuple[RestSession, Request]] | None = None

    def put(self, session: RestSession, request: Request) -> None:
        """Queue a request; drop it if the queue is full."""
        if self._process != os.getpid():  # the thread is the parent's
            self._begin()
        with self._lock:
            if self._waiting is None:
                self._waiting = queue.Queue(REPORTS.waiting)
                arguments = (self._waiting,)
                threading.Thread(
                    target=_send_all, args=arguments, name="iceberg-reports", daemon=True
                ).start()
        with suppress(queue.Full):
            self._waiting.put_nowait((session, request))

    def flush(self, within_s: float) -> bool:
        """Wait until all requests are sent; False on timeout."""
        waiting = self._waiting
        if waiting is None or self._process != os.getpid():
            return True
        ends = time.monotonic() + within_s
        with waiting.all_tasks_done:
            while waiting.unfinished_tasks:
                left = ends - time.monotonic()
                if left <= 0:
                    return False
                waiting.all_tasks_done.wait(left)
        return True


def _send_all(waiting: queue.Queue[tuple[RestSession, Request]]) -> None:
    while True:
        session, request = waiting.get()
        with suppress(Exception):  # a report never makes a commit or scan fail
            session.exchange(request)
        waiting.task_done()
        del session, request


def flush(within_s: float) -> bool:
    """Wait until all reports of this process are sent; False on timeout."""
    return _outbox.flush(within_s)


_outbox = Outbox()
atexit.register(flush, REPORTS.at_end_s)
