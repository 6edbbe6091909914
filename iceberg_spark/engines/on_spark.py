"""The port to Spark: the functions that the API uses of it, imported at first use.

The API works without PySpark unless it needs a DataFrame. So `on_spark.pyi` has the imports, for
type checkers, and this module has the same names with their modules; the tests compare both.
"""

from __future__ import annotations

from iceberg_spark.errors import no_pyspark
from iceberg_spark.lazy import LazyModule, LazyNames

_imported = LazyNames(
    __name__,
    {
        LazyModule("pyspark.sql"): ("DataFrame", "SparkSession"),
        LazyModule("pyspark.sql.types"): ("DataType", "StructField", "StructType"),
        LazyModule("iceberg_spark.spark.adapt.types"): ("from_spark",),
        LazyModule("iceberg_spark.spark.procedures.column_sketches"): ("sketch_runner",),
        LazyModule("iceberg_spark.spark.procedures.unreachable_files"): ("listed_files",),
        LazyModule("iceberg_spark.spark.procedures.compaction"): ("compactor",),
        LazyModule("iceberg_spark.spark.procedures.rewritten_deletes"): ("runner",),
        LazyModule("iceberg_spark.spark.procedures.source_table"): (
            "SourceTable",
            "folder_schema",
            "source_table",
            "taken_schema",
        ),
        LazyModule("iceberg_spark.spark.procedures.unreachable_files"): ("where_it_pays",),
        LazyModule("iceberg_spark.spark.reading.metadata_frame"): ("change_frame",),
        LazyModule("iceberg_spark.spark.reading.plan_frame"): ("reading_lines",),
        LazyModule("iceberg_spark.spark.reading.planning_tasks"): ("SparkPlanningTasks",),
        LazyModule("iceberg_spark.spark.reading.queried_scan"): ("scan_frame",),
        LazyModule("iceberg_spark.spark.row_level.apply_changes"): ("apply_on_spark",),
        LazyModule("iceberg_spark.spark.row_level.apply_changes"): (
            "CdcRows",
            "cdc_rows",
            "truncated_at",
        ),
        LazyModule("iceberg_spark.spark.row_level.delete"): (
            "delete_on_spark",
            "rewritten_on_spark",
        ),
        LazyModule("iceberg_spark.spark.row_level.envelopes"): (
            "message_sample",
            "new_fields_of",
            "unwrapped_frame",
        ),
        LazyModule("iceberg_spark.spark.row_level.kept_rows"): ("kept_rows",),
        LazyModule("iceberg_spark.spark.row_level.merge_modes"): ("merge_on_spark",),
        LazyModule("iceberg_spark.spark.row_level.update"): ("update_on_spark",),
        LazyModule("iceberg_spark.spark.row_level.upsert"): ("plan_upsert", "run_upsert"),
        LazyModule("iceberg_spark.spark.session.active_session"): (
            "active_session",
            "in_session",
            "is_case_sensitive",
            "needed_session",
            "session_time_zone",
        ),
        LazyModule("iceberg_spark.spark.session.option_defaults"): ("session_write_defaults",),
        LazyModule("iceberg_spark.spark.session.session_catalogs"): ("session_catalog",),
        LazyModule("iceberg_spark.spark.session.session_dialect"): ("session_dialect",),
        LazyModule("iceberg_spark.spark.sql.new_view"): ("analysed_view", "text_for_trino"),
        LazyModule("iceberg_spark.spark.writing.distribution"): ("distribution", "is_sortable"),
        LazyModule("iceberg_spark.spark.writing.write_files"): ("write_frame",),
    },
)


def __getattr__(name: str) -> object:
    try:
        return _imported(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise no_pyspark() from error
