"""Writing: tasks write data files, the driver's process commits them, or removes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from iceberg_spark.save.commit_save import commit_save, take_back
from iceberg_spark.save.plan_save import SavePlan, TablePlace
from iceberg_spark.spark.datasource.messages import FilesWritten
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spark.session.task import task_id, was_tried_before
from iceberg_spark.write.align_columns import aligned
from iceberg_spark.write.data_file_writer import write_data_files
from iceberg_spark.write.uncommitted_files import remove_aborted, remove_other_attempts


class BatchWriter(DataSourceArrowWriter):
    """Writes the batches of each task and commits the files of those that succeeded."""

    def __init__(self, target: TablePlace, plan: SavePlan) -> None:
        self.target = target
        self.plan = plan

    @in_worker
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows; what an attempt wrote is removed when it fails."""
        context = self.plan.context
        batches = aligned(context.schema, iterator, self.plan.align)
        files = write_data_files(context, context.io, batches, task_id())
        return FilesWritten(files, was_tried_before())

    @in_worker
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit all files at once, then remove what failed or doubled attempts left behind."""
        written = [message for message in messages if isinstance(message, FilesWritten)]
        files = tuple(file for message in written for file in message.data_files)
        commit_save(self.target, self.plan, files)
        again = any(message.tried_before for message in written)
        paths = [file.file_path for file in files]
        with suppress(Exception):  # the commit has landed: strays are left to orphan removal
            io = self.plan.context.io
            remove_other_attempts(io, self.plan.context, paths, outlive=again)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove every file of a write whose tasks did not all succeed.

        Spark also calls this when `commit` raised, then with every task's message: the commit
        has removed what may be removed, and where it may have landed nothing may be.
        """
        if messages and None not in messages:
            return
        remove_aborted(self.plan.context.io, self.plan.context)
        take_back(self.target, self.plan)
