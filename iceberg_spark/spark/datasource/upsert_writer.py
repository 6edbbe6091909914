"""Upserts through the data source: each task writes its changes, the commit proves keys apart.

Spark lets a Python source ask for no distribution. So rows of one key may come in two tasks, and
both would be live: each task leaves the hashes of its keys, and the commit refuses shared ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.registry import resolve
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.row_level.upsert_rows import UpsertRows
from iceberg_spark.spark.adapt.options import WriteOptions
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.datasource.creation import check_creation_options
from iceberg_spark.spark.datasource.messages import ChangesWritten
from iceberg_spark.spark.datasource.writer import align_options, context_of
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spark.session.task import task_id
from iceberg_spark.transaction.commit import commit, removed_unless_committed
from iceberg_spark.write.cdc_rows import CdcReader
from iceberg_spark.write.cdc_writer import UpsertedFiles, write_upserts
from iceberg_spark.write.task_keys import KeyCollector, key_files, refuse_shared_keys
from iceberg_spark.write.uncommitted_files import remove_aborted, remove_strays
from iceberg_spark.write.upsert_context import UpsertContext, live_spec_ids, upsert_context


@dataclass(frozen=True, slots=True)
class UpsertTarget:
    """Where an upsert goes; travels to every task with the writer."""

    path: str
    storage: Mapping[str, str] = field(repr=False)


class UpsertWriter(DataSourceArrowWriter):
    """Writes the changes of each task and commits the files of those that succeeded."""

    def __init__(self, target: UpsertTarget, context: UpsertContext, options: WriteOptions) -> None:
        self.target = target
        self.context = context
        self.options = options

    @in_worker
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's changes; what an attempt wrote is removed when it fails."""
        io = FsspecIO(self.context.write.io_properties)
        task = task_id()
        collector = KeyCollector(self.context.write, io, task)
        try:
            files = write_upserts(self.context, io, iterator, task, collector=collector)
            return ChangesWritten(files, collector.finish())
        except BaseException:
            collector.abort()
            raise

    @in_worker
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Prove that no key came in two tasks, then commit all files at once."""
        done = [message for message in messages if isinstance(message, ChangesWritten)]
        files = joined(message.files for message in done)
        keys = [message.keys for message in done]
        catalog, identifier = resolve(self.target.path, self.target.storage)
        io = catalog.io(self.context.write.table_location)
        try:
            with removed_unless_committed(io, files.paths) as handover:
                refuse_shared_keys(io, keys, self.options.equality_fields)
                base = catalog.load(identifier)
                action = upsert_action(self.context, self.options, files)
                commit(catalog, identifier, action, base, handover=handover)
        finally:
            with suppress(Exception):  # the commit, or its own error, has been decided
                io.delete_many(key_files(keys))
        with suppress(Exception):  # the commit has landed: strays are left to orphan removal
            remove_strays(io, self.context.write, files.paths)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove every file of a write whose tasks did not all succeed (see `BatchWriter`)."""
        if messages and None not in messages:
            return
        remove_aborted(FsspecIO(self.context.write.io_properties), self.context.write)


def joined(parts: Iterator[UpsertedFiles]) -> UpsertedFiles:
    """Return the files of all tasks."""
    every = list(parts)
    return UpsertedFiles(
        tuple(file for part in every for file in part.data),
        tuple(file for part in every for file in part.deletes),
    )


def plan_upsert(options: WriteOptions, frame_type: StructType, *, overwrite: bool) -> UpsertWriter:
    """Plan an upsert: load the table, check keys, partitions and the frame's columns.

    Raises NoSuchTableError, InvalidSchemaError, UnsupportedError, InvalidInputError.
    """
    context, _, _ = upsert_target(options, overwrite=overwrite)
    CdcReader(context, to_arrow(from_spark(frame_type)))
    return UpsertWriter(UpsertTarget(options.path, dict(options.storage)), context, options)


def upsert_target(
    options: WriteOptions, *, overwrite: bool
) -> tuple[UpsertContext, Catalog, LoadedTable]:
    """Return the plan of an upsert with the table that it is planned on."""
    if overwrite:
        raise InvalidOptionError("write-mode=upsert goes with mode('append'), not with 'overwrite'")
    catalog, identifier = resolve(options.path, options.storage)
    loaded = catalog.load(identifier)
    check_creation_options(options, loaded.metadata)
    io = table_io(catalog, loaded)
    context = upsert_context(
        loaded.metadata,
        context_of(loaded.metadata, io, options),
        options.equality_fields,
        live_specs=live_spec_ids(loaded.metadata, io, options.branch),
        order_by=options.order_by,
        global_delete=options.global_delete,
        options=align_options(options),
    )
    return context, catalog, loaded


def upsert_action(
    context: UpsertContext, options: WriteOptions, files: UpsertedFiles
) -> UpsertRows:
    """Return the action that commits what the tasks wrote."""
    return UpsertRows(
        context,
        files.data,
        files.deletes,
        branch=options.branch,
        snapshot_properties=options.snapshot_properties,
    )
