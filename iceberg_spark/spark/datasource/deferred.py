"""Names that the data source imports when a method uses them first.

Spark calls `schema`, `reader`, `partitions`, `writer` and `commit` in processes of their own, and
each of these then imports its own part of the library. `deferred.pyi` has the same imports for type
checkers; the tests compare the two.
"""

from __future__ import annotations

from iceberg_spark.lazy import LazyModule, LazyNames

__getattr__ = LazyNames(
    __name__,
    {
        LazyModule("iceberg_spark.catalog.catalog"): ("LoadedTable",),
        LazyModule("iceberg_spark.catalog.pinned"): ("PinnedTable", "load", "split_name"),
        LazyModule("iceberg_spark.spark.session.send_catalog"): ("with_sent_settings",),
        LazyModule("iceberg_spark.inspect.pinned_inspection"): (
            "PinnedInspection",
            "pin_inspection",
        ),
        LazyModule("iceberg_spark.read.changes_table"): ("ChangesTable", "changes_table"),
        LazyModule("iceberg_spark.save.plan_save"): ("plan_save", "plan_upsert"),
        LazyModule("iceberg_spark.save.plan_save"): ("TablePlace",),
        LazyModule("iceberg_spark.save.write_options"): ("written_stream_options",),
        LazyModule("iceberg_spark.save.write_options"): ("check_is_written", "write_options"),
        LazyModule("iceberg_spark.scan.incremental"): (
            "CHANGE_TIMES",
            "bounds_of",
            "is_changes",
            "refuse_change_times",
        ),
        LazyModule("iceberg_spark.scan.context"): ("ScanContext",),
        LazyModule("iceberg_spark.scan.read_options"): ("ReadOptions", "read_options"),
        LazyModule("iceberg_spark.scan.request"): ("scan_context",),
        LazyModule("iceberg_spark.spark.adapt.types"): ("from_spark", "to_spark"),
        LazyModule("iceberg_spark.spark.datasource.stream_reader"): ("ChangesReader",),
        LazyModule("iceberg_spark.spark.datasource.inspect_reader"): ("InspectReader",),
        LazyModule("iceberg_spark.spark.datasource.reader"): ("BatchReader", "PushdownReader"),
        LazyModule("iceberg_spark.spark.datasource.stream_reader"): (
            "AppendStreamReader",
            "ChangeStreamReader",
        ),
        LazyModule("iceberg_spark.spark.datasource.stream_writer"): ("StreamWriter",),
        LazyModule("iceberg_spark.spark.datasource.stream_writer"): ("UpsertWriter",),
        LazyModule("iceberg_spark.spark.datasource.stream_writer"): ("BatchWriter",),
        LazyModule("iceberg_spark.spec.schema"): ("Schema",),
        LazyModule("iceberg_spark.streams.stream_options"): (
            "STREAM_OPTIONS",
            "refuse_stream_options",
            "stream_options",
        ),
        LazyModule("iceberg_spark.streams.stream_request"): (
            "ChangesRequest",
            "stream_of_changes",
            "stream_of_rows",
        ),
    },
)
