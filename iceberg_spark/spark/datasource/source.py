"""The Python data source `pyiceberg-lite`.

Spark creates it again in short-lived worker processes for `schema`, `reader` and `writer`, and
pickles it between them. It has no SparkSession; `_pinned` keeps what these must agree on.
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

from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME
from iceberg_spark.spark.datasource import deferred
from iceberg_spark.spark.session.in_worker import in_worker


class PyIcebergLiteSource(DataSource):
    """Reads and writes Iceberg tables: `spark.read.format("pyiceberg-lite").load(location)`."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._pinned: tuple[deferred.PinnedTable, deferred.ScanContext] | None = None
        self._inspected: tuple[deferred.PinnedInspection, StructType] | None = None
        self._streamed: deferred.ChangesRequest | None = None
        self._changed: tuple[deferred.PinnedTable, deferred.ChangesTable] | None = None
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
        options = self._read_options((*deferred.STREAM_OPTIONS, *deferred.CHANGE_TIMES))
        if _is_changes(options):
            return deferred.to_spark(self._pin_changes(options))
        deferred.refuse_change_times(self.options)
        inspected = self._inspect(options)
        if inspected is not None:
            return inspected[1]
        return deferred.to_spark(self._pin(options)[1].read_schema)

    @in_worker
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the pinned snapshot."""
        deferred.refuse_stream_options(self.options)
        options = self._read_options(deferred.CHANGE_TIMES)
        if _is_changes(options):
            pinned, changes = self._changed_rows(options)
            planned = deferred.to_spark(changes.request.schema)
            return deferred.ChangesReader(pinned, changes, _user_type(schema, planned))
        inspected = self._inspect(options)
        if inspected is not None:
            return deferred.InspectReader(inspected[0], _user_type(schema, inspected[1]))
        table, context = self._pin(options)
        kind = deferred.PushdownReader if options.pushdown else deferred.BatchReader
        return kind(
            table, context, options, _user_type(schema, deferred.to_spark(context.read_schema))
        )

    @in_worker
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """Return the reader of a stream, with the columns of the load."""
        options = self._read_options(deferred.STREAM_OPTIONS)
        if _is_changes(options):
            changes = self._changes(options)
            return deferred.ChangeStreamReader(
                changes, _user_type(schema, deferred.to_spark(changes.schema))
            )
        if deferred.split_name(options.path)[1] is not None:
            raise UnsupportedError(f"'{options.path}' is a metadata table: it can't be streamed")
        stream = deferred.stream_options(self.options, options, changes=False)
        _, context = self._pin(options)
        request = deferred.stream_of_rows(stream, options, context, self._table_uuid)
        return deferred.AppendStreamReader(
            request, _user_type(schema, deferred.to_spark(request.schema))
        )

    @in_worker
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer that appends to, overwrites, or creates the table."""
        options = deferred.write_options(self.options)
        deferred.check_is_written(options.path)
        table, columns = (
            deferred.TablePlace(options.path, dict(options.storage)),
            deferred.from_spark(schema),
        )
        if options.write_mode == "upsert":
            changes = deferred.plan_upsert(options, columns, overwrite=overwrite)
            return deferred.UpsertWriter(table, changes, options.equality_fields)
        return deferred.BatchWriter(
            table, deferred.plan_save(options, columns, overwrite=overwrite)
        )

    @in_worker
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Return the writer of one batch of a stream; Spark asks for it again at the commit."""
        options = deferred.written_stream_options(self.options)
        options = replace(
            options, storage=deferred.with_sent_settings(options.path, options.storage)
        )
        table, columns = (
            deferred.TablePlace(options.path, dict(options.storage)),
            deferred.from_spark(schema),
        )
        if options.write_mode == "upsert":
            changes = deferred.plan_upsert(options, columns, overwrite=overwrite)
            return deferred.StreamWriter(table, changes, options.equality_fields)
        return deferred.StreamWriter(
            table, deferred.plan_save(options, columns, overwrite=overwrite), ()
        )

    def _read_options(self, others: Sequence[str] = ()) -> deferred.ReadOptions:
        options = deferred.read_options(self.options, others=others)
        return replace(options, storage=deferred.with_sent_settings(options.path, options.storage))

    def _inspect(
        self, options: deferred.ReadOptions
    ) -> tuple[deferred.PinnedInspection, StructType] | None:
        """Return the metadata table that the path names, None for a table of rows."""
        name = deferred.split_name(options.path)[1]
        if name is not None and self._inspected is None:
            _, loaded = deferred.load(options.path, options.storage)
            pinned, columns = deferred.pin_inspection(options, loaded, name)
            self._inspected = (pinned, deferred.to_spark(columns))
        return self._inspected

    def _pin_changes(self, options: deferred.ReadOptions) -> deferred.Schema:
        """Pin the changes that the path names, and return their columns.

        As a batch and as a stream, both of one version, where no option says which it is.
        """
        option_names, loaded = (
            {name.lower() for name in self.options},
            deferred.load(options.path, options.storage),
        )
        if not option_names.isdisjoint(deferred.STREAM_OPTIONS):
            return self._changes(options, loaded).schema
        schema = self._changed_rows(options, loaded)[1].request.schema
        if option_names.isdisjoint((*deferred.CHANGE_TIMES, *_BATCH_ALONE)):
            self._changes(options, loaded)
        return schema

    def _changed_rows(
        self,
        options: deferred.ReadOptions,
        pinned: tuple[deferred.PinnedTable, deferred.LoadedTable] | None = None,
    ) -> tuple[deferred.PinnedTable, deferred.ChangesTable]:
        """Return the changes that the path names for a batch, pinned."""
        if self._changed is None:
            table, loaded = pinned or deferred.load(options.path, options.storage)
            bounds = deferred.bounds_of(self.options)
            self._changed = (
                table,
                deferred.changes_table(loaded.metadata, table.io, options, bounds),
            )
        return self._changed

    def _changes(
        self,
        options: deferred.ReadOptions,
        pinned: tuple[deferred.PinnedTable, deferred.LoadedTable] | None = None,
    ) -> deferred.ChangesRequest:
        """Return the stream of changes that the path names, pinned."""
        if self._streamed is None:
            table, loaded = pinned or deferred.load(options.path, options.storage)
            self._streamed = deferred.stream_of_changes(self.options, options, loaded, table.io)
        return self._streamed

    def _pin(
        self, options: deferred.ReadOptions
    ) -> tuple[deferred.PinnedTable, deferred.ScanContext]:
        if self._pinned is None:
            table, loaded = deferred.load(options.path, options.storage)
            context = deferred.scan_context(loaded.metadata, options, table.io)
            self._pinned = (table, context)
            self._table_uuid = loaded.metadata.table_uuid
        return self._pinned


_BATCH_ALONE = ("end-snapshot-id", "metadata-columns", "pushdown")
"""Options of a load of changes that no stream of them has, besides its times."""


def _is_changes(options: deferred.ReadOptions) -> bool:
    return deferred.is_changes(deferred.split_name(options.path)[1])


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
