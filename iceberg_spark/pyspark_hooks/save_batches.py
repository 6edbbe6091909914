"""`df.writeStream.format("pyiceberg-lite")` of an enabled session: each batch is one save."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from iceberg_spark.engines.write_rows import RowSource, write_changes, write_rows
from iceberg_spark.save.commit_save import (
    commit_save,
    commit_upsert,
    not_in_vain,
    take_back,
)
from iceberg_spark.save.plan_save import TablePlace, plan_save, plan_upsert
from iceberg_spark.save.write_options import WriteOptions
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.session.classic_session import local_property
from iceberg_spark.spark.streams.small_batch_sink import rows_brought, run_through, small_batch
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import MAIN_BRANCH
from iceberg_spark.spec.txn import STREAM_KEYS, Token

QUERY_ID = "sql.streaming.queryId"


@dataclass(slots=True)
class BatchSaver:
    """What Spark calls with each batch of a query; a batch is saved once, however often it calls.

    Small batches are brought to the driver and written here, others by Spark's tasks: after a
    large one without trying first.
    """

    options: WriteOptions
    overwrite: bool
    last_was_large: bool = False

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Save a batch under its query's id and its number."""
        query_id = local_property(frame.sparkSession, QUERY_ID)
        branch = self.options.branch or MAIN_BRANCH
        options = replace(self.options, token=Token(query_id, batch_id, branch, STREAM_KEYS))
        schema = from_spark(frame.schema)
        if options.write_mode == "upsert":
            self._upsert(frame, options, schema)
        else:
            self._save(frame, options, schema)

    def _save(self, frame: DataFrame, options: WriteOptions, schema: Schema) -> None:
        plan = plan_save(options, schema, overwrite=self.overwrite)
        if plan.is_committed:
            run_through(frame)
            return
        table = TablePlace(options.path, options.storage)
        with not_in_vain(table, plan):
            files = write_rows(
                self._rows(frame),
                plan.context,
                plan.context.io,
                plan.align,
                engine=options.engine,
                distribution_mode=options.distribution_mode,
            )
        self._learn(frame, sum(file.record_count for file in files))
        if plan.changes_with(files):
            commit_save(table, plan, files)
        else:
            take_back(table, plan)

    def _upsert(self, frame: DataFrame, options: WriteOptions, schema: Schema) -> None:
        plan = plan_upsert(options, schema, overwrite=self.overwrite)
        if plan.is_committed:
            run_through(frame)
            return
        files = write_changes(self._rows(frame), plan.context, plan.context.write.io)
        self._learn(frame, sum(file.record_count for file in (*files.data, *files.deletes)))
        if files.paths:
            commit_upsert(TablePlace(options.path, options.storage), plan, files)

    def _rows(self, frame: DataFrame) -> RowSource:
        """Return the rows if the driver should write them, otherwise the DataFrame."""
        is_chosen = self.options.engine is not None or self.options.distribution_mode is not None
        in_order = self.options.write_mode == "upsert" and not self.options.order_by
        if is_chosen or in_order or self.last_was_large:
            return frame
        rows = small_batch(frame)
        return frame if rows is None else rows

    def _learn(self, frame: DataFrame, written: int) -> None:
        self.last_was_large = written > rows_brought(frame.schema)
