"""Names that verbs and scans import when a method uses them first.

Loading and reading a table then imports no verb. `deferred.pyi` has the same imports for type
checkers; the tests compare the two.
"""

from __future__ import annotations

from iceberg_spark.lazy import LazyModule, LazyNames

__getattr__ = LazyNames(
    __name__,
    {
        LazyModule("iceberg_spark.api.apply_changes"): ("add_changes", "scd_type"),
        LazyModule("iceberg_spark.api.changes"): ("ChangeScan", "snapshot_of"),
        LazyModule("iceberg_spark.api.merge"): ("MergeBuilder", "MergeRequest"),
        LazyModule("iceberg_spark.api.schema_input"): ("SchemaInput",),
        LazyModule("iceberg_spark.api.staged_changes"): ("StagedChanges",),
        LazyModule("iceberg_spark.commits.add_files"): ("AddFiles",),
        LazyModule("iceberg_spark.commits.overwrite_files"): ("OverwriteFiles",),
        LazyModule("iceberg_spark.commits.metadata_changes"): ("SameSchema",),
        LazyModule("iceberg_spark.engines.apply_cdc"): ("CdcRequest",),
        LazyModule("iceberg_spark.engines.apply_cdc"): ("Condition", "cdc_input", "column_names"),
        LazyModule("iceberg_spark.engines.delete_change"): ("delete_change",),
        LazyModule("iceberg_spark.engines.write_rows"): ("write_changes",),
        LazyModule("iceberg_spark.engines.write_rows"): (
            "RowSource",
            "for_several_passes",
            "has_several_passes",
        ),
        LazyModule("iceberg_spark.read.changelog"): ("ChangeRequest",),
        LazyModule("iceberg_spark.streams.stream_request"): ("identifiers",),
        LazyModule("iceberg_spark.row_level.cdc_plan"): ("Choice",),
        LazyModule("iceberg_spark.row_level.row_level_change"): ("ChangedRows", "Names"),
        LazyModule("iceberg_spark.row_level.target_files"): ("TargetOptions",),
        LazyModule("iceberg_spark.save.added_files"): ("files_to_add", "import_options"),
        LazyModule("iceberg_spark.save.plan_save"): ("UpsertPlan",),
        LazyModule("iceberg_spark.scan.report"): ("explain",),
        LazyModule("iceberg_spark.scan.scan_report"): ("report_scan",),
        LazyModule("iceberg_spark.write.align_columns"): ("AlignOptions",),
        LazyModule("iceberg_spark.write.upsert_context"): ("live_spec_ids", "upsert_context"),
        LazyModule("iceberg_spark.write.upsert_result"): ("UpsertResult",),
    },
)
