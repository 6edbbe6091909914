"""A stream's batches through the data source: tasks write files, one process commits them.

Spark creates the writer again for the commit, in another process and without the query's id. So
tasks send the plan and the id together with the files that they wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.save.plan_save import SavePlan, TablePlace, UpsertPlan
from iceberg_spark.spark.datasource import deferred_writing as deferred
from iceberg_spark.spark.datasource.messages import ChangesWritten, FilesWritten
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spark.session.task import task_id, was_tried_before
from iceberg_spark.spec.snapshot import MAIN_BRANCH
from iceberg_spark.spec.txn import STREAM_KEYS, Token

_QUERY_ID = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True)
class BatchWritten(WriterCommitMessage):
    """What one task wrote of a stream's batch, by which plan, and for which query."""

    query_id: str
    plan: SavePlan | UpsertPlan
    written: WriterCommitMessage


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of a stream's batch and commits them under its query's id and number."""

    def __init__(
        self, target: TablePlace, plan: SavePlan | UpsertPlan, equality_fields: tuple[str, ...]
    ) -> None:
        self.target = target
        self.plan = plan
        self.equality_fields = equality_fields

    @in_worker
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows or changes; what an attempt wrote is removed when it fails."""
        plan = self.plan
        writer = (
            BatchWriter(self.target, plan)
            if isinstance(plan, SavePlan)
            else UpsertWriter(self.target, plan, self.equality_fields)
        )
        return BatchWritten(_query_id(), plan, writer.write(iterator))

    @in_worker
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """Commit the batch, unless it is committed; without rows there is nothing to commit.

        A batch of all rows without any empties the table.
        """
        parts = [message for message in messages if isinstance(message, BatchWritten)]
        if not parts:
            return
        plan, query_id = parts[0].plan, parts[0].query_id
        branch = plan.branch or MAIN_BRANCH
        plan = replace(plan, token=Token(query_id, batchId, branch, STREAM_KEYS))
        if isinstance(plan, SavePlan):
            self._commit_rows(plan, [part.written for part in parts])
        else:
            self._commit_changes(plan, [part.written for part in parts])

    def _commit_rows(self, plan: SavePlan, written: Sequence[object]) -> None:
        results = [result for result in written if isinstance(result, FilesWritten)]
        files = tuple(file for result in results for file in result.data_files)
        if not plan.changes_with(files):
            deferred.take_back(self.target, plan)
            return
        deferred.commit_save(self.target, plan, files)
        if any(result.tried_before for result in results):
            io, paths = plan.context.io, [file.file_path for file in files]
            with suppress(Exception):  # the commit has landed: strays are left to orphan removal
                deferred.remove_other_attempts(io, plan.context, paths, outlive=True)

    def _commit_changes(self, plan: UpsertPlan, written: Sequence[object]) -> None:
        results = [result for result in written if isinstance(result, ChangesWritten)]
        files, keys = (
            join_files([result.files for result in results]),
            [result.keys for result in results],
        )
        io = plan.context.write.io
        try:
            if files.paths:
                with deferred.CleanupOnFailure(io, files.paths):
                    deferred.refuse_shared_keys(io, keys, self.equality_fields)
                deferred.commit_upsert(self.target, plan, files)
        finally:
            with suppress(Exception):  # the commit, or its own error, has been decided
                io.delete_many(deferred.key_files(keys))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's
        """Remove what tasks wrote where others failed; where none told, it is an orphan.

        Spark also calls this when `commit` raised, which has removed what may be removed.
        """
        parts = [message for message in messages if isinstance(message, BatchWritten)]
        if not parts or None not in messages:
            return
        plan = parts[0].plan
        context = plan.context if isinstance(plan, SavePlan) else plan.context.write
        deferred.remove_aborted(context.io, context)
        if isinstance(plan, SavePlan):
            deferred.take_back(self.target, plan)


def _query_id() -> str:
    """Return the id of the query whose task this is; it stays the same over restarts."""
    task = TaskContext.get()
    query_id = None if task is None else task.getLocalProperty(_QUERY_ID)
    if not query_id:
        raise InvalidInputError(
            "A stream's task has no query id: the sink pyiceberg-lite writes streams, and is "
            "started by writeStream"
        )
    return str(query_id)


class BatchWriter(DataSourceArrowWriter):
    """Writes the batches of each task and commits the files of those that succeeded."""

    def __init__(self, target: TablePlace, plan: SavePlan) -> None:
        self.target = target
        self.plan = plan

    @in_worker
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows; what an attempt wrote is removed when it fails."""
        context = self.plan.context
        batches = deferred.align_batches(context.schema, iterator, self.plan.align)
        files = deferred.write_data_files(context, context.io, batches, task_id())
        return FilesWritten(files, was_tried_before())

    @in_worker
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit all files at once, then remove what failed or doubled attempts left behind."""
        written = [message for message in messages if isinstance(message, FilesWritten)]
        files = tuple(file for message in written for file in message.data_files)
        deferred.commit_save(self.target, self.plan, files)
        again = any(message.tried_before for message in written)
        paths = [file.file_path for file in files]
        with suppress(Exception):  # the commit has landed: strays are left to orphan removal
            io = self.plan.context.io
            deferred.remove_other_attempts(io, self.plan.context, paths, outlive=again)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove every file of a write whose tasks did not all succeed.

        Spark also calls this when `commit` raised, then with every task's message: the commit
        has removed what may be removed, and where it may have landed nothing may be.
        """
        if messages and None not in messages:
            return
        deferred.remove_aborted(self.plan.context.io, self.plan.context)
        deferred.take_back(self.target, self.plan)


# Upserts through the data source: each task writes its changes, the commit proves keys apart.
#
# Spark lets a Python source ask for no distribution. So rows of one key may come in two tasks,
# and both would be live: each task leaves the hashes of its keys, and the commit refuses shared
# ones.


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
        collector = deferred.KeyCollector(context.write, io, task)
        try:
            files = deferred.write_upserts(context, io, iterator, task, collector=collector)
            return ChangesWritten(files, collector.finish())
        except BaseException:
            collector.abort()
            raise

    @in_worker
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Prove that no key came in two tasks, then commit all files at once."""
        done = [message for message in messages if isinstance(message, ChangesWritten)]
        files = join_files([message.files for message in done])
        keys = [message.keys for message in done]
        io = self.plan.context.write.io
        try:
            with deferred.CleanupOnFailure(io, files.paths):
                deferred.refuse_shared_keys(io, keys, self.equality_fields)
            deferred.commit_upsert(self.target, self.plan, files)
        finally:
            with suppress(Exception):  # the commit, or its own error, has been decided
                io.delete_many(deferred.key_files(keys))
        with suppress(Exception):  # the commit has landed: strays are left to orphan removal
            deferred.remove_strays(io, self.plan.context.write, files.paths)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove every file of a write whose tasks did not all succeed (see `BatchWriter`)."""
        if messages and None not in messages:
            return
        context = self.plan.context.write
        deferred.remove_aborted(context.io, context)


def join_files(parts: Sequence[deferred.UpsertedFiles]) -> deferred.UpsertedFiles:
    """Return the files of all tasks."""
    return deferred.UpsertedFiles(
        tuple(file for part in parts for file in part.data),
        tuple(file for part in parts for file in part.deletes),
    )
