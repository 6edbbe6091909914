"""Names that writers of the data source import when tasks write, or when the driver commits.

`deferred_writing.pyi` has the same imports for type checkers; the tests compare the two.
"""

from __future__ import annotations

from iceberg_spark.lazy import LazyModule, LazyNames

__getattr__ = LazyNames(
    __name__,
    {
        LazyModule("iceberg_spark.commits.commit"): ("CleanupOnFailure",),
        LazyModule("iceberg_spark.save.commit_save"): ("commit_save", "commit_upsert", "take_back"),
        LazyModule("iceberg_spark.write.align_columns"): ("align_batches",),
        LazyModule("iceberg_spark.write.cdc_writer"): ("UpsertedFiles", "write_upserts"),
        LazyModule("iceberg_spark.write.data_file_writer"): ("write_data_files",),
        LazyModule("iceberg_spark.write.task_keys"): (
            "KeyCollector",
            "TaskKeys",
            "key_files",
            "refuse_shared_keys",
        ),
        LazyModule("iceberg_spark.write.uncommitted_files"): (
            "remove_aborted",
            "remove_other_attempts",
            "remove_strays",
        ),
    },
)
