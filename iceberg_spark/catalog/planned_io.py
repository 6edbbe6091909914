"""Storage of a table whose catalog plans its scans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io.delegated_io import DelegatedIO, T
from iceberg_spark.io.file_io import FileInfo, FileIO

_HIDDEN = (
    "Its plans may leave out rows and files that you may not see, which this work would lose. You "
    "can read the table and append to it; run other work where the catalog lets the client plan"
)


@dataclass(frozen=True, slots=True)
class PlannedPages:
    """The catalog's plan of a scan.

    `pages` are objects with `file-scan-tasks` and the `delete-files` that these refer to (REST
    specification, ScanTasks). `io` opens the planned files by credentials of this plan, None by
    those of the table.
    """

    pages: tuple[Mapping[str, Any], ...]
    io: FileIO | None = field(default=None, repr=False)


class ScanPlanner(Protocol):
    """Lets a catalog plan scans of one table; picklable, so that workers can plan."""

    @property
    def table(self) -> str:
        """The table's name, for people."""
        ...

    def plan(self, request: Mapping[str, Any]) -> PlannedPages:
        """Plan a scan (REST specification, PlanTableScanRequest).

        Raises:
            NoSuchTableError: the table does not exist.
            ServiceUnavailableError: the catalog failed, or did not end in time.
            UnsupportedError: the catalog lacks an endpoint.
        """
        ...


class ServerPlannedIO(DelegatedIO):
    """A `FileIO` whose table is planned by its catalog; it delegates to the table's storage.

    Planner and actions take `(TableMetadata, FileIO)`, so the storage tells them who plans.
    """

    __slots__ = ("planner", "storage")

    def __init__(self, storage: FileIO, planner: ScanPlanner) -> None:
        self.storage = storage
        self.planner = planner

    def __reduce__(self) -> tuple[type[ServerPlannedIO], tuple[FileIO, ScanPlanner]]:
        return ServerPlannedIO, (self.storage, self.planner)

    def __repr__(self) -> str:
        return f"ServerPlannedIO({self.storage!r})"

    @property
    def properties(self) -> Mapping[str, str]:
        """The storage properties (never print them)."""
        return self.storage.properties

    def _tried(self, work: Callable[[FileIO], T]) -> T:
        return work(self.storage)

    def list(self, prefix: str) -> Iterator[FileInfo]:
        """Yield all files below a folder, recursively, as the storage lists them."""
        return self.storage.list(prefix)

    def list_folders(self, prefix: str) -> Iterator[str]:
        """Yield the folders directly in a folder, as the storage lists them."""
        return self.storage.list_folders(prefix)


def planner_of(io: FileIO) -> ScanPlanner | None:
    """Return what plans the scans of a storage's table, None if the client does."""
    return io.planner if isinstance(io, ServerPlannedIO) else None


def refuse_server_planning(io: FileIO, what: str, why: str = _HIDDEN) -> None:
    """Refuse work that needs all files and rows of a table, if the catalog plans its scans.

    `what` names the work, `why` says what the catalog's plan lacks for it. Raises UnsupportedError.
    """
    planner = planner_of(io)
    if planner is not None:
        raise UnsupportedError(
            f"Can't {what} of table {planner.table}: its catalog plans its scans (scan-planning-"
            f"mode is 'server'). {why}"
        )
