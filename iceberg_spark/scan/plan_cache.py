"""A cache of recent plans: planning an equal scan again is free.

Dashboards repeat the same scans of a table, and so do the DataFrames derived from one.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from iceberg_spark.io.allowed_places import Server, stored_at
from iceberg_spark.manifest.reader import MANIFEST_CACHE
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True, eq=False)
class PlannedScan:
    """The cache key of a plan: a scan of this very metadata, in files of this server.

    `row_filter` is the text of the filter, which distinguishes filters that compare equal but
    mean different things (0.0 and -0.0). `times_cleared` is the manifest cache's: clearing it
    invalidates plans.
    """

    metadata: TableMetadata
    context: ScanContext
    row_filter: str
    whole_files: bool
    residuals: bool
    server: Server
    times_cleared: int

    @classmethod
    def of(
        cls, metadata: TableMetadata, context: ScanContext, *, whole_files: bool, residuals: bool
    ) -> PlannedScan | None:
        """Return the key of a scan; None for an incremental one, or if caching is off."""
        if context.start_snapshot_id is not None or not MANIFEST_CACHE.max_bytes:
            return None
        filter_text = repr(context.row_filter)
        if len(filter_text) > PLANNING.kept_filter_characters:
            return None
        server = stored_at(context.io, metadata.location)
        cleared = MANIFEST_CACHE.times_cleared
        return cls(metadata, context, filter_text, whole_files, residuals, server, cleared)

    def asks_for(self, other: PlannedScan) -> bool:
        """Whether both have the same plan; their storage objects may differ."""
        return (
            self.metadata is other.metadata
            and self.row_filter == other.row_filter
            and self.whole_files == other.whole_files
            and self.residuals == other.residuals
            and self.times_cleared == other.times_cleared
            and self.server == other.server
            and self.context == other.context
        )


class PlanCache:
    """At most `most` plans, `most_bytes` of Arrow memory together; the oldest are evicted first.

    Thread-safe.
    """

    __slots__ = ("_entries", "_lock", "_most", "_most_bytes")

    def __init__(
        self, most: int = PLANNING.kept_plans, most_bytes: int = PLANNING.kept_plan_bytes
    ) -> None:
        self._most, self._most_bytes = most, most_bytes
        self.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        """Forget everything; in a forked process, whose lock another thread may have held."""
        self._lock = threading.Lock()
        self._entries: list[tuple[PlannedScan, ScanPlan, int]] = []

    def get(self, request: PlannedScan) -> ScanPlan | None:
        """Return the cached plan of a scan, or None."""
        with self._lock:
            return next(
                (plan for cached, plan, _ in self._entries if cached.asks_for(request)), None
            )

    def put(self, scan: PlannedScan, plan: ScanPlan) -> None:
        """Cache a plan, unless it exceeds the total size."""
        size = plan.files.nbytes + plan.deletes.files.nbytes
        if size > self._most_bytes:
            return
        with self._lock:
            others = [entry for entry in self._entries if not entry[0].asks_for(scan)]
            self._entries = [(scan, plan, size), *others][: self._most]
            while sum(entry[2] for entry in self._entries) > self._most_bytes:
                self._entries.pop()


PLAN_CACHE = PlanCache()
"""The plans of this process; none if the cache of manifests is turned off."""
os.register_at_fork(after_in_child=PLAN_CACHE.clear)
