"""A loaded stream: table, columns and options, pinned for all processes of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    NoSuchColumnError,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.changelog import ChangeRequest
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.read_options import ReadOptions
from iceberg_spark.scan.request import scan_context
from iceberg_spark.spec.schema import Schema
from iceberg_spark.streams.stream_options import StreamOptions, stream_options
from iceberg_spark.streams.table_watch import StreamedTable


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A stream of rows appended to a table."""

    table: StreamedTable
    read: ReadOptions
    stream: StreamOptions

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.table.context.read_schema


@dataclass(frozen=True, slots=True)
class ChangesRequest(StreamRequest):
    """A stream of the changes of a table."""

    changes: ChangeRequest

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.changes.schema


def stream_of_rows(
    stream: StreamOptions, read: ReadOptions, context: ScanContext, table_uuid: str
) -> StreamRequest:
    """Return a stream of rows appended to a table."""
    return StreamRequest(_table(read, stream, context, table_uuid), read, stream)


def stream_of_changes(
    options: Mapping[str, str], read: ReadOptions, loaded: LoadedTable, io: FileIO
) -> ChangesRequest:
    """Return a stream of the changes of a table.

    Raises InvalidOptionError, InvalidInputError for columns, NoSuchSnapshotError for a branch.
    """
    stream = stream_options(options, read, changes=True)
    if read.metadata_columns:
        raise InvalidOptionError("Option 'metadata-columns' is not for streams of changes")
    request = replace(read, start_snapshot_id=None)
    complete = scan_context(loaded.metadata, replace(request, selected_fields=("*",)), io)
    names = identifiers(
        complete.read_schema,
        stream.identifier_columns,
        None,
        net_changes=False,
        case_sensitive=read.case_sensitive,
    )
    shown = scan_context(loaded.metadata, request, io).read_schema
    table = _table(read, stream, complete, loaded.metadata.table_uuid)
    changes = ChangeRequest(table.context, shown, names)
    return ChangesRequest(table, read, stream, changes)


def _table(
    read: ReadOptions, stream: StreamOptions, context: ScanContext, table_uuid: str
) -> StreamedTable:
    pinned = replace(context, snapshot_id=None, start_snapshot_id=None)
    return StreamedTable(read.path, dict(read.storage), table_uuid, stream.branch, pinned)


def identifiers(
    schema: Schema,
    columns: Sequence[str],
    compute_updates: bool | None,
    net_changes: bool,
    *,
    case_sensitive: bool,
) -> tuple[str, ...]:
    """Return the columns that tell updates, none where updates are not asked for.

    As in Java's `create_changelog_view`: given columns ask for updates, and `compute_updates`
    alone takes the identifier fields of the schema. Raises InvalidInputError.
    """
    if not (bool(columns) if compute_updates is None else compute_updates):
        return ()
    if net_changes:
        raise InvalidInputError("net_changes and updates (identifier_columns) exclude each other")
    chosen = (columns,) if isinstance(columns, str) else tuple(columns)
    if not chosen:
        ids = schema.identifier_field_ids
        chosen = tuple(schema.find_column_name(number) or "" for number in sorted(ids))
    if not chosen:
        raise InvalidInputError(
            "compute_updates needs identifier_columns: the schema has no identifier fields"
        )
    try:
        names = tuple(schema.find_field(name, case_sensitive).name for name in chosen)
    except InvalidSchemaError as error:
        raise NoSuchColumnError(f"identifier_columns: {error}") from None
    top = {field.name for field in schema.fields}
    for name in names:
        if name not in top:
            raise InvalidInputError(f"identifier_columns must be top-level columns, not '{name}'")
    return names
