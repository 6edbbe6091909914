"""Names that a save imports when it uses them first.

Spark plans a save, writes its files and commits them in a process each, which unpickles the plan.
`deferred.pyi` has the same imports for type checkers; the tests compare the two.
"""

from __future__ import annotations

from iceberg_spark.lazy import LazyModule, LazyNames

__getattr__ = LazyNames(
    __name__,
    {
        LazyModule("iceberg_spark.commits.append"): ("AppendFiles",),
        LazyModule("iceberg_spark.commits.batch_token"): (
            "NoteToken",
            "committed_version",
            "once",
        ),
        LazyModule("iceberg_spark.commits.conflicts"): ("Planned",),
        LazyModule("iceberg_spark.commits.create_table"): ("DropOnFailure",),
        LazyModule("iceberg_spark.commits.overwrite_files"): (
            "OverwriteFiles",
            "ReplacePartitions",
        ),
        LazyModule("iceberg_spark.commits.required_columns"): ("RequireNoOtherColumns",),
        LazyModule("iceberg_spark.commits.set_schema"): ("SetSchema",),
        LazyModule("iceberg_spark.row_level.upsert_rows"): ("UpsertRows",),
        LazyModule("iceberg_spark.spec.apply_updates"): ("apply",),
        LazyModule("iceberg_spark.spec.union_by_name"): ("union_by_name",),
        LazyModule("iceberg_spark.write.cdc_rows"): (
            "OPERATION",
            "CdcReader",
        ),
        LazyModule("iceberg_spark.write.cdc_writer"): ("UpsertedFiles",),
        LazyModule("iceberg_spark.write.upsert_context"): (
            "UpsertContext",
            "live_spec_ids",
            "upsert_context",
        ),
    },
)
