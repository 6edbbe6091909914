"""Writing: tasks write data files, the driver's process commits them, or removes them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.foreign_folder import check_free
from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.catalog.registry import resolve
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.errors import NoSuchTableError
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spark.adapt.options import WriteOptions
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.datasource.creation import check_creation_options
from iceberg_spark.spark.datasource.messages import FilesWritten
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spark.session.task import task_id, was_tried_before
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.known_properties import misspelt
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_sort_order
from iceberg_spark.spec.union_by_name import union_by_name
from iceberg_spark.spec.updates import AddSchema, SetCurrentSchema, TableUpdate
from iceberg_spark.transaction.action import Action
from iceberg_spark.transaction.append import AppendFiles
from iceberg_spark.transaction.commit import commit, removed_unless_committed
from iceberg_spark.transaction.overwrite_files import OverwriteFiles
from iceberg_spark.transaction.replace_partitions import ReplacePartitions
from iceberg_spark.transaction.set_schema import SetSchema
from iceberg_spark.write.align_batches import AlignOptions, aligned, check_columns
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.data_file_writer import write_data_files
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.uncommitted_files import remove_aborted, remove_other_attempts


@dataclass(frozen=True, slots=True)
class Target:
    """Where a write goes; `creation` holds the updates that create the table, else it is there.

    It travels to every task with the writer, so it holds no metadata: the commit loads it.
    """

    path: str
    creation: tuple[TableUpdate, ...]
    merged_on: str | None  # where the metadata is whose schema this write extends
    storage: Mapping[str, str] = field(repr=False)


class BatchWriter(DataSourceArrowWriter):
    """Writes the batches of each task and commits the files of those that succeeded."""

    def __init__(
        self, target: Target, context: WriteContext, options: WriteOptions, overwrite: bool
    ) -> None:
        self.target = target
        self.context = context
        self.options = options
        self.overwrite = overwrite

    @in_worker
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows; what an attempt wrote is removed when it fails."""
        io = FsspecIO(self.context.io_properties)
        batches = aligned(self.context.schema, iterator, align_options(self.options))
        files = write_data_files(self.context, io, batches, task_id())
        return FilesWritten(files, was_tried_before())

    @in_worker
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit all files at once, then remove what failed or doubled attempts left behind."""
        files = _files(messages)
        catalog, identifier = resolve(self.target.path, self.target.storage)
        io = catalog.io(self.context.table_location)
        paths = [file.file_path for file in files]
        with removed_unless_committed(io, paths) as handover:
            base = None if self.target.creation else catalog.load(identifier)
            actions: list[Action] = [self._action(files)]
            if self.target.merged_on is not None:
                planned_on = read_metadata(io, self.target.merged_on)
                actions.insert(0, SetSchema(self.context.schema, planned_on))
            commit(
                catalog,
                identifier,
                actions,
                base,
                creation=self.target.creation,
                handover=handover,
            )
        again = any(isinstance(each, FilesWritten) and each.tried_before for each in messages)
        with suppress(Exception):  # the commit has landed: strays are left to orphan removal
            remove_other_attempts(io, self.context, paths, outlive=again)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove every file of a write whose tasks did not all succeed.

        Spark also calls this when `commit` raised, then with every task's message: the commit
        has removed what may be removed, and where it may have landed nothing may be.
        """
        if messages and None not in messages:
            return
        io = FsspecIO(self.context.io_properties)
        remove_aborted(io, self.context)

    def _action(self, files: tuple[DataFile, ...]) -> Action:
        branch, properties = self.options.branch, self.options.snapshot_properties
        if not self.overwrite or self.target.creation:
            return AppendFiles(files, branch=branch, snapshot_properties=properties)
        if self.options.overwrite_mode == "dynamic":
            return ReplacePartitions(files, branch=branch, snapshot_properties=properties)
        return OverwriteFiles(
            files, row_filter=ALWAYS_TRUE, branch=branch, snapshot_properties=properties
        )


def plan_write(options: WriteOptions, frame_type: StructType, *, overwrite: bool) -> BatchWriter:
    """Plan a save: load the table, or prepare its creation, and check the frame's columns.

    Raises InvalidSchemaError naming columns that don't fit, UnsupportedError, InvalidOptionError.
    """
    catalog, identifier = resolve(options.path, options.storage)
    given = from_spark(frame_type)
    creation: tuple[TableUpdate, ...] = ()
    merged_on = None
    try:
        loaded = catalog.load(identifier)
        metadata = loaded.metadata
        check_creation_options(options, metadata)
        if options.merge_schema:
            metadata = _merged(metadata, given)
            merged_on = None if metadata is loaded.metadata else loaded.metadata_location
    except NoSuchTableError:
        location = catalog.location_of(identifier)
        check_free(catalog.io(location), location, asked=False)
        for told in misspelt(options.table_properties):
            warnings.warn(told, stacklevel=2)
        creation = new_table_updates(
            given,
            parse_partition_spec(options.partition_by, given, case_sensitive=False),
            parse_sort_order(options.sort_order, given, case_sensitive=False),
            location=location,
            properties=_table_properties(options, given),
            format_version=options.format_version,
        )
        metadata = apply(None, creation, now_ms=int(time.time() * 1000))
    io = table_io(catalog, LoadedTable(identifier, metadata, metadata.location))
    context = context_of(metadata, io, options)
    check_columns(context.schema, to_arrow(given), align_options(options))
    target = Target(options.path, creation, merged_on, dict(options.storage))
    return BatchWriter(target, context, options, overwrite)


def context_of(metadata: TableMetadata, io: FileIO, options: WriteOptions) -> WriteContext:
    """Return what the tasks of a save share. Raises UnsupportedError, InvalidOptionError."""
    return write_context(
        metadata,
        write_format=options.write_format,
        target_file_size_bytes=options.target_file_size_bytes,
        compression_codec=options.compression_codec,
        compression_level=options.compression_level,
        fanout=options.fanout_enabled,
        io_properties=io.properties,
    )


def _merged(metadata: TableMetadata, given: Schema) -> TableMetadata:
    """Return the metadata as it will be with the frame's new columns and wider types."""
    schema = union_by_name(
        metadata.schema,
        given,
        last_column_id=metadata.last_column_id,
        format_version=metadata.format_version,
        case_sensitive=False,
    )
    if schema is metadata.schema:
        return metadata
    now_ms = max(int(time.time() * 1000), metadata.last_updated_ms)
    return apply(metadata, (AddSchema(schema), SetCurrentSchema()), now_ms=now_ms)


def align_options(options: WriteOptions) -> AlignOptions:
    """Return how a frame's columns are matched; names without case, as Spark resolves them."""
    return AlignOptions(
        check_nullability=options.check_nullability,
        check_ordering=options.check_ordering,
        case_sensitive=False,
    )


def _table_properties(options: WriteOptions, schema: Schema) -> dict[str, str]:
    """Spark hands over option keys in lower case: give column names their own spelling again."""
    spelling = {name.lower(): name for name in schema.column_names}
    properties = {}
    for key, value in options.table_properties.items():
        prefix, dot, column = key.partition(".column.")
        properties[f"{prefix}{dot}{spelling.get(column, column)}"] = value
    return properties


def _files(messages: list[WriterCommitMessage | None]) -> tuple[DataFile, ...]:
    written = [message for message in messages if isinstance(message, FilesWritten)]
    return tuple(file for message in written for file in message.data_files)
