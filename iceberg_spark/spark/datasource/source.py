"""The Python data source `pyiceberg-lite`.

Spark makes it anew in short-lived worker processes for `schema`, `reader` and `writer`, and
pickles it between them: it has no SparkSession and keeps what has to agree in `_pinned`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.pinned import PinnedTable, load, split_name
from iceberg_spark.catalog.sent_settings import with_sent_settings
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.inspect.pinned_inspection import PinnedInspection, pin_inspection
from iceberg_spark.read.changes_table import ChangesTable, changes_table
from iceberg_spark.save.plan_save import plan_save, plan_upsert
from iceberg_spark.save.save_plan import TablePlace
from iceberg_spark.save.stream_options import written_stream_options
from iceberg_spark.save.write_options import check_is_written, write_options
from iceberg_spark.scan.change_bounds import (
    CHANGE_TIMES,
    bounds_of,
    is_changes,
    refuse_change_times,
)
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.read_options import ReadOptions, read_options
from iceberg_spark.scan.request import scan_context
from iceberg_spark.spark.adapt.asked import FORMAT_NAME
from iceberg_spark.spark.adapt.types import from_spark, to_spark
from iceberg_spark.spark.datasource.changes_reader import ChangesReader
from iceberg_spark.spark.datasource.inspect_reader import InspectReader
from iceberg_spark.spark.datasource.reader import BatchReader, PushdownReader
from iceberg_spark.spark.datasource.stream_reader import AppendStreamReader, ChangeStreamReader
from iceberg_spark.spark.datasource.stream_writer import StreamWriter
from iceberg_spark.spark.datasource.upsert_writer import UpsertWriter
from iceberg_spark.spark.datasource.writer import BatchWriter
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spec.schema import Schema
from iceberg_spark.streams.stream_options import (
    STREAM_OPTIONS,
    refuse_stream_options,
    stream_options,
)
from iceberg_spark.streams.stream_request import (
    ChangesRequest,
    stream_of_changes,
    stream_of_rows,
)


class PyIcebergLiteSource(DataSource):
    """Reads and writes Iceberg tables: `spark.read.format("pyiceberg-lite").load(location)`."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._pinned: tuple[PinnedTable, ScanContext] | None = None
        self._inspected: tuple[PinnedInspection, StructType] | None = None
        self._streamed: ChangesRequest | None = None
        self._changed: tuple[PinnedTable, ChangesTable] | None = None
        self._table_uuid = ""

    @classmethod
    def name(cls) -> str:
        """Return the short name for `format(...)`."""
        return FORMAT_NAME

    @in_worker
    def schema(self) -> StructType:
        """Return the frame's type, and pin the snapshot that the plan will use.

        Whether it is a batch's or a stream's isn't known yet.
        """
        options = self._read_options((*STREAM_OPTIONS, *CHANGE_TIMES))
        if _is_changes(options):
            return to_spark(self._pin_changes(options))
        refuse_change_times(self.options)
        inspected = self._inspect(options)
        if inspected is not None:
            return inspected[1]
        return to_spark(self._pin(options)[1].read_schema)

    @in_worker
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the pinned snapshot."""
        refuse_stream_options(self.options)
        options = self._read_options(CHANGE_TIMES)
        if _is_changes(options):
            pinned, changes = self._changed_rows(options)
            planned = to_spark(changes.request.schema)
            return ChangesReader(pinned, changes, _user_type(schema, planned))
        inspected = self._inspect(options)
        if inspected is not None:
            return InspectReader(inspected[0], _user_type(schema, inspected[1]))
        table, context = self._pin(options)
        kind = PushdownReader if options.pushdown else BatchReader
        return kind(table, context, options, _user_type(schema, to_spark(context.read_schema)))

    @in_worker
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """Return the reader of a stream, with the columns of the load."""
        options = self._read_options(STREAM_OPTIONS)
        if _is_changes(options):
            changes = self._changes(options)
            return ChangeStreamReader(changes, _user_type(schema, to_spark(changes.schema)))
        if split_name(options.path)[1] is not None:
            raise UnsupportedError(f"'{options.path}' is a metadata table: it can't be streamed")
        stream = stream_options(self.options, options, changes=False)
        _, context = self._pin(options)
        request = stream_of_rows(stream, options, context, self._table_uuid)
        return AppendStreamReader(request, _user_type(schema, to_spark(request.schema)))

    @in_worker
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer that appends to, overwrites, or creates the table."""
        options = write_options(self.options)
        check_is_written(options.path)
        table, columns = TablePlace(options.path, dict(options.storage)), from_spark(schema)
        if options.write_mode == "upsert":
            changes = plan_upsert(options, columns, overwrite=overwrite)
            return UpsertWriter(table, changes, options.equality_fields)
        return BatchWriter(table, plan_save(options, columns, overwrite=overwrite))

    @in_worker
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Return the writer of one batch of a stream; Spark asks for it again at the commit."""
        options = written_stream_options(self.options)
        options = replace(options, storage=with_sent_settings(options.path, options.storage))
        table, columns = TablePlace(options.path, dict(options.storage)), from_spark(schema)
        if options.write_mode == "upsert":
            changes = plan_upsert(options, columns, overwrite=overwrite)
            return StreamWriter(table, changes, options.equality_fields)
        return StreamWriter(table, plan_save(options, columns, overwrite=overwrite), ())

    def _read_options(self, others: Sequence[str] = ()) -> ReadOptions:
        options = read_options(self.options, others=others)
        return replace(options, storage=with_sent_settings(options.path, options.storage))

    def _inspect(self, options: ReadOptions) -> tuple[PinnedInspection, StructType] | None:
        """Return the metadata table that the path names, None for a table of rows."""
        name = split_name(options.path)[1]
        if name is not None and self._inspected is None:
            _, loaded = load(options.path, options.storage)
            pinned, columns = pin_inspection(options, loaded, name)
            self._inspected = (pinned, to_spark(columns))
        return self._inspected

    def _pin_changes(self, options: ReadOptions) -> Schema:
        """Pin the changes that the path names, and return their columns.

        As a batch and as a stream, both of one version, where no option says which it is.
        """
        option_names, loaded = (
            {name.lower() for name in self.options},
            load(options.path, options.storage),
        )
        if not option_names.isdisjoint(STREAM_OPTIONS):
            return self._changes(options, loaded).schema
        schema = self._changed_rows(options, loaded)[1].request.schema
        if option_names.isdisjoint(_BATCH_ALONE):
            self._changes(options, loaded)
        return schema

    def _changed_rows(
        self, options: ReadOptions, pinned: tuple[PinnedTable, LoadedTable] | None = None
    ) -> tuple[PinnedTable, ChangesTable]:
        """Return the changes that the path names for a batch, pinned."""
        if self._changed is None:
            table, loaded = pinned or load(options.path, options.storage)
            bounds = bounds_of(self.options)
            self._changed = table, changes_table(loaded.metadata, table.io, options, bounds)
        return self._changed

    def _changes(
        self, options: ReadOptions, pinned: tuple[PinnedTable, LoadedTable] | None = None
    ) -> ChangesRequest:
        """Return the stream of changes that the path names, pinned."""
        if self._streamed is None:
            table, loaded = pinned or load(options.path, options.storage)
            self._streamed = stream_of_changes(self.options, options, loaded, table.io)
        return self._streamed

    def _pin(self, options: ReadOptions) -> tuple[PinnedTable, ScanContext]:
        if self._pinned is None:
            table, loaded = load(options.path, options.storage)
            context = scan_context(loaded.metadata, options, table.io)
            self._pinned = (table, context)
            self._table_uuid = loaded.metadata.table_uuid
        return self._pinned


_BATCH_ALONE = (*CHANGE_TIMES, "end-snapshot-id", "metadata-columns", "pushdown")
"""Options of a load of changes that no stream of them has."""


def _is_changes(options: ReadOptions) -> bool:
    return is_changes(split_name(options.path)[1])


def _user_type(user_type: StructType, planned: StructType) -> StructType | None:
    """Return the type of a frame whose user let more columns be NULL, None for the table's own.

    Spark looks for no NULL in a column that is said to have none, so nobody may say so but the
    table. Raises InvalidInputError for other columns.
    """
    pairs = list(zip(user_type.fields, planned.fields, strict=False))
    if len(user_type.fields) == len(planned.fields) and all(
        (field.name, field.dataType) == (own.name, own.dataType) and field.nullable >= own.nullable
        for field, own in pairs
    ):
        same = all(field.nullable == own.nullable for field, own in pairs)
        return None if same else user_type
    sure = [field.name for field, own in pairs if own.nullable and not field.nullable]
    nulls = f" ({', '.join(sure)} may be NULL in the table)" if sure else ""
    raise InvalidInputError(
        f"schema({user_type.simpleString()}) differs from the table's "
        f"{planned.simpleString()}{nulls}: "
        'leave it out, and choose columns with option("columns", "a,b")'
    )
