"""A cache of recent plans: planning an equal scan again is free.

Dashboards repeat the same scans of a table, and so do the DataFrames derived from one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.io.allowed_places import Server, storage_server
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
        if context.start_snapshot_id is not None or not MANIFEST_CACHE.capacity:
            return None
        filter_text = repr(context.row_filter)
        if len(filter_text) > PLANNING.kept_filter_characters:
            return None
        server = storage_server(context.io, metadata.location)
        cleared = MANIFEST_CACHE.times_cleared
        return cls(metadata, context, filter_text, whole_files, residuals, server, cleared)

    def __hash__(self) -> int:
        return hash((id(self.metadata), self.row_filter, self.whole_files, self.residuals))

    def __eq__(self, other: object) -> bool:
        """Whether both have the same plan; their storage objects may differ."""
        return (
            isinstance(other, PlannedScan)
            and self.metadata is other.metadata
            and self.row_filter == other.row_filter
            and self.whole_files == other.whole_files
            and self.residuals == other.residuals
            and self.times_cleared == other.times_cleared
            and self.server == other.server
            and self.context == other.context
        )


def cached_plan(scan: PlannedScan | None, plan: Callable[[], ScanPlan]) -> ScanPlan:
    """Return a plan: made once while its key is cached, and at each call without a key."""
    if scan is None:
        return plan()

    def load() -> tuple[ScanPlan, int]:
        planned = plan()
        return planned, planned.files.nbytes + planned.deletes.files.nbytes

    planned: ScanPlan = PLAN_CACHE.get_or_load(scan, load)
    return planned


PLAN_CACHE = BoundedCache(PLANNING.kept_plan_bytes, entries=PLANNING.kept_plans)
"""The plans of this process, bounded in bytes of Arrow memory; none without cached manifests."""
