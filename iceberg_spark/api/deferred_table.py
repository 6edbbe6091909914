"""Names that `Table` imports when a method uses them first; see `deferred`."""

from __future__ import annotations

from iceberg_spark.lazy import LazyModule, LazyNames

__getattr__ = LazyNames(
    __name__,
    {
        LazyModule("iceberg_spark.api.inspect"): ("Inspect",),
        LazyModule("iceberg_spark.api.maintenance"): ("Maintenance",),
        LazyModule("iceberg_spark.api.manage_snapshots"): ("ManageSnapshots",),
        LazyModule("iceberg_spark.api.staged_changes"): ("StagedChanges",),
        LazyModule("iceberg_spark.api.transaction"): ("TableTransaction",),
        LazyModule("iceberg_spark.api.update_properties"): ("UpdateProperties",),
        LazyModule("iceberg_spark.api.update_schema"): ("UpdateSchema",),
        LazyModule("iceberg_spark.api.update_spec"): ("UpdateSortOrder",),
        LazyModule("iceberg_spark.api.update_spec"): ("UpdateSpec",),
        LazyModule("iceberg_spark.api.staged_changes"): ("newest", "verb"),
        LazyModule("iceberg_spark.commits.action"): ("Action",),
        LazyModule("iceberg_spark.commits.commit"): ("CommitState", "commit"),
        LazyModule("iceberg_spark.engines.write_rows"): ("write_plan",),
        LazyModule("iceberg_spark.report.table_report"): ("TableReport", "table_report"),
        LazyModule("iceberg_spark.row_level.row_level_change"): ("ChangedRows",),
        LazyModule("iceberg_spark.save.write_options"): ("WriteOptions",),
    },
)
