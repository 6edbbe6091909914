"""Plans of whole snapshots that were made lately: planning one again costs nothing.

Only scans without a filter are kept, which take longest and are asked again most, by every frame
that is made of a table. Filters that mean different things may look equal (0.0 and -0.0).
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.io.servers import Server, stored_at
from iceberg_spark.manifest.cache import MANIFEST_CACHE
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True, eq=False)
class WholeScan:
    """A scan of all rows of a snapshot: of this very metadata, in files of this server.

    `times_cleared` is the manifest cache's: who clears it wants the files to be read again.
    """

    metadata: TableMetadata
    context: ScanContext
    server: Server
    times_cleared: int

    @classmethod
    def of(cls, metadata: TableMetadata, context: ScanContext) -> WholeScan | None:
        """Return what a scan asks for; None for a part of the rows, or if nothing is to be kept."""
        is_part = context.row_filter is not ALWAYS_TRUE or context.start_snapshot_id is not None
        if is_part or not MANIFEST_CACHE.max_bytes:
            return None
        server = stored_at(context.io, metadata.location)
        return cls(metadata, context, server, MANIFEST_CACHE.times_cleared)

    def asks_for(self, other: WholeScan) -> bool:
        """Whether both have the same plan; their storage objects may differ."""
        return (
            self.metadata is other.metadata
            and self.times_cleared == other.times_cleared
            and self.server == other.server
            and self.context == other.context
        )


class KeptPlans:
    """At most `most` plans that hold `most_bytes` of Arrow memory together; the oldest go first.

    Safe to use from several threads.
    """

    __slots__ = ("_kept", "_lock", "_most", "_most_bytes")

    def __init__(
        self, most: int = PLANNING.kept_plans, most_bytes: int = PLANNING.kept_plan_bytes
    ) -> None:
        self._most, self._most_bytes = most, most_bytes
        self.clear()

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        """Forget everything; in a forked process, whose lock another thread may have held."""
        self._lock = threading.Lock()
        self._kept: list[tuple[WholeScan, ScanPlan, int]] = []

    def get(self, asked: WholeScan) -> ScanPlan | None:
        """Return the plan that was kept of a scan, or None."""
        with self._lock:
            return next((plan for scan, plan, _ in self._kept if scan.asks_for(asked)), None)

    def put(self, asked: WholeScan, plan: ScanPlan) -> None:
        """Keep a plan, unless it is too large for all."""
        size = plan.files.nbytes + plan.deletes.files.nbytes
        if size > self._most_bytes:
            return
        with self._lock:
            others = [each for each in self._kept if not each[0].asks_for(asked)]
            self._kept = [(asked, plan, size), *others][: self._most]
            while sum(each[2] for each in self._kept) > self._most_bytes:
                self._kept.pop()


KEPT_PLANS = KeptPlans()
"""The plans of this process; none are kept where the cache of manifests is turned off."""
os.register_at_fork(after_in_child=KEPT_PLANS.clear)
