"""Upserts through the data source: each task writes its changes, the commit proves keys apart.

Spark lets a Python source ask for no distribution. So rows of one key may come in two tasks, and
both would be live: each task leaves the hashes of its keys, and the commit refuses shared ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from iceberg_spark.commits.commit import CleanupOnFailure
from iceberg_spark.save.commit_save import commit_upsert
from iceberg_spark.save.plan_save import TablePlace, UpsertPlan
from iceberg_spark.spark.datasource.messages import ChangesWritten
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spark.session.task import task_id
from iceberg_spark.write.cdc_writer import UpsertedFiles, write_upserts
from iceberg_spark.write.task_keys import KeyCollector, key_files, refuse_shared_keys
from iceberg_spark.write.uncommitted_files import remove_aborted, remove_strays


class UpsertWriter(DataSourceArrowWriter):
    """Writes the changes of each task and commits the files of those that succeeded."""

    def __init__(
        self, target: TablePlace, plan: UpsertPlan, equality_fields: tuple[str, ...]
    ) -> None:
        self.target = target
        self.plan = plan
        self.equality_fields = equality_fields

    @in_worker
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's changes; what an attempt wrote is removed when it fails."""
        context = self.plan.context
        io = context.write.io
        task = task_id()
        collector = KeyCollector(context.write, io, task)
        try:
            files = write_upserts(context, io, iterator, task, collector=collector)
            return ChangesWritten(files, collector.finish())
        except BaseException:
            collector.abort()
            raise

    @in_worker
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Prove that no key came in two tasks, then commit all files at once."""
        done = [message for message in messages if isinstance(message, ChangesWritten)]
        files = joined([message.files for message in done])
        keys = [message.keys for message in done]
        io = self.plan.context.write.io
        try:
            with CleanupOnFailure(io, files.paths):
                refuse_shared_keys(io, keys, self.equality_fields)
            commit_upsert(self.target, self.plan, files)
        finally:
            with suppress(Exception):  # the commit, or its own error, has been decided
                io.delete_many(key_files(keys))
        with suppress(Exception):  # the commit has landed: strays are left to orphan removal
            remove_strays(io, self.plan.context.write, files.paths)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove every file of a write whose tasks did not all succeed (see `BatchWriter`)."""
        if messages and None not in messages:
            return
        context = self.plan.context.write
        remove_aborted(context.io, context)


def joined(parts: Sequence[UpsertedFiles]) -> UpsertedFiles:
    """Return the files of all tasks."""
    return UpsertedFiles(
        tuple(file for part in parts for file in part.data),
        tuple(file for part in parts for file in part.deletes),
    )
