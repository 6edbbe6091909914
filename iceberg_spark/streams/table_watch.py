"""The table that a stream reads, loaded repeatedly."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.pinned import split_name
from iceberg_spark.catalog.registry import resolve
from iceberg_spark.errors import InvalidSchemaError, NoSuchTableError
from iceberg_spark.expr.logic import field_ids
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.projection import dropped_fields
from iceberg_spark.spec.field_history import field_history
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import DEFAULT_NAME_MAPPING
from iceberg_spark.spec.types import ListType, MapType, NestedField, StructType
from iceberg_spark.streams.history import HOW_TO_GO_ON, BranchHistory, branch_history
from iceberg_spark.streams.limits import STREAMING


@dataclass(frozen=True, slots=True)
class StreamedTable:
    """The table of a stream, with the columns of the load, which never change.

    `options` are those of the load for storage and catalog (may hold secrets).
    """

    path: str
    options: Mapping[str, str] = field(repr=False)
    table_uuid: str
    branch: str | None
    context: ScanContext


@dataclass(frozen=True, slots=True, eq=False)
class TableSeen:
    """One version of the table; `context` reads the stream's columns of its files."""

    history: BranchHistory
    context: ScanContext

    @property
    def metadata(self) -> TableMetadata:
        """The table's metadata."""
        return self.history.metadata

    @property
    def io(self) -> FileIO:
        """The storage of the table's files."""
        return self.history.io

    def up_to(self, snapshot_id: int | None) -> TableSeen:
        """Return the table as if the branch ended at a snapshot; None: as if it had none."""
        head = None if snapshot_id is None else self.metadata.snapshot(snapshot_id)
        return replace(self, history=replace(self.history, head=head))


class TableWatch:
    """Loads the newest version of a table; returns a known version again."""

    def __init__(self, table: StreamedTable) -> None:
        self._table = table
        self._catalog: tuple[Catalog, str] | None = None
        self._seen: tuple[LoadedTable, TableSeen] | None = None

    def look(self) -> TableSeen:
        """Load the newest version.

        Raises:
            NoSuchTableError: the table was dropped, or its name belongs to another table.
            NoSuchSnapshotError: the branch was removed.
            InvalidSchemaError: the stream's columns changed.
        """
        if self._catalog is None:
            self._catalog = resolve(split_name(self._table.path)[0], self._table.options)
        catalog, identifier = self._catalog
        loaded = catalog.load(identifier)
        if self._seen is not None and self._seen[0].metadata is loaded.metadata:
            return self._seen[1]
        seen = self._checked(loaded)
        self._seen = loaded, seen
        return seen

    def _checked(self, loaded: LoadedTable) -> TableSeen:
        metadata, table = loaded.metadata, self._table
        if metadata.table_uuid != table.table_uuid:
            raise NoSuchTableError(
                f"{table.path} is another table since it was dropped and created again (its uuid "
                f"was {table.table_uuid}, it is {metadata.table_uuid}). {HOW_TO_GO_ON}"
            )
        check_schema(table.context, metadata)
        history = branch_history(metadata, loaded.io, table.branch)
        return TableSeen(history, renew_context(table.context, loaded))


def renew_context(context: ScanContext, loaded: LoadedTable) -> ScanContext:
    """Return a scan of the same columns over a newer version of its table."""
    metadata = loaded.metadata
    return replace(
        context,
        snapshot_id=None,
        start_snapshot_id=None,
        format_version=metadata.format_version,
        specs=metadata.partition_specs,
        dropped_fields=dropped_fields(metadata, context.table_schema),
        name_mapping=metadata.properties.get(DEFAULT_NAME_MAPPING),
        history=field_history(context.table_schema, metadata.schemas),
        io=loaded.io,
    )


class Pace:
    """When to load an unchanged table again; Spark asks without pause."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.process_time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._cpu, self._sleep = clock, cpu, sleep
        self._wait = 0.0
        self._next = 0.0
        self._began = 0.0, 0.0

    def may_look(self) -> bool:
        """Wait a little if needed, and return whether to load the table."""
        left = self._next - self._clock()
        if left > 0:
            self._sleep(min(left, STREAMING.longest_wait))
        if self._next - self._clock() > STREAMING.shortest_wait:
            return False
        self._began = self._clock(), self._cpu()
        return True

    def looked(self, *, has_news: bool) -> None:
        """Record the result of a load: the longer nothing changes, the rarer the loads."""
        if has_news:
            self._wait = self._next = 0.0
            return
        began, cpu = self._began
        waited = (self._clock() - began) / STREAMING.asked_share
        used = max(waited, (self._cpu() - cpu) / STREAMING.idle_share)
        doubled = min(max(2 * self._wait, STREAMING.shortest_wait), STREAMING.longest_wait)
        self._wait = min(max(doubled, used), STREAMING.longest_pause)
        self._next = self._clock() + self._wait


# Checks that a stream's columns are unchanged since it was loaded.
#
# A running stream has the columns of its load, because Spark fixes their types. New columns and
# renamed ones do not matter.


def check_schema(context: ScanContext, metadata: TableMetadata) -> None:
    """Raise InvalidSchemaError if a column of the stream can no longer be read."""
    schema = context.table_schema
    if metadata.schema == schema:
        return
    read = {number for number in context.read_schema.field_ids if schema.get(number) is not None}
    for number in sorted(read | set(field_ids(context.row_filter))):
        was = schema.get(number)
        if was is not None:
            _check(schema.find_column_name(number) or was.name, was, metadata.schema.get(number))


def _check(name: str, was: NestedField, now: NestedField | None) -> None:
    if now is None:
        raise _changed(f"column '{name}' (field id {was.field_id}) was dropped")
    if not _is_same_type(was, now):
        raise _changed(f"column '{name}' was {was.field_type} and is {now.field_type}")
    if was.required and not now.required:
        raise _changed(f"column '{name}' may be NULL now")


def _is_same_type(was: NestedField, now: NestedField) -> bool:
    """Compares the fields of structs one by one."""
    nested = StructType | ListType | MapType
    if isinstance(was.field_type, nested):
        return type(was.field_type) is type(now.field_type)
    return was.field_type == now.field_type


def _changed(what: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        f"The table's schema changed under a running stream: {what}. Load the stream and start the "
        "query again with the same checkpoint: it continues there, with the new columns"
    )
