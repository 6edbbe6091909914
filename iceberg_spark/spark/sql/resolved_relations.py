"""Tables and views of one version, for queries whose names Spark's analyzer resolves.

Each is pinned when its name is resolved. Its files are planned when Spark has optimized the query,
for the columns that the query uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.errors import IcebergError, UnsupportedError
from iceberg_spark.inspect.pinned_inspection import PinnedInspection
from iceberg_spark.read.changelog import with_change_columns
from iceberg_spark.read.changes_table import ChangesTable
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.projection import with_metadata_columns
from iceberg_spark.scan.request import ScanRequest, narrow_scan, scan_context
from iceberg_spark.scan.scan_report import report_scan
from iceberg_spark.spark.adapt.many_columns import by_position, plain, select_texts
from iceberg_spark.spark.adapt.types import has_spark_type, nullable, to_spark
from iceberg_spark.spark.catalyst.classic_queries import TypedRows, frame_of
from iceberg_spark.spark.catalyst.spark_catalog import RowsRequest
from iceberg_spark.spark.reading.metadata_frame import change_frame, metadata_frame
from iceberg_spark.spark.reading.plan_frame import plan_rows
from iceberg_spark.spark.reading.planning_tasks import SparkPlanningTasks
from iceberg_spark.spark.reading.relation_registry import pushed_filter
from iceberg_spark.spark.session.option_defaults import session_split
from iceberg_spark.spark.sql.hidden_columns import HIDDEN
from iceberg_spark.spark.sql.query import QueriedView
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema

NO_COLUMNS = s.StructType([])


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedTable:
    """One snapshot of a table."""

    spark: SparkSession
    loaded: LoadedTable
    request: ScanRequest
    context: ScanContext

    @classmethod
    def of(cls, spark: SparkSession, loaded: LoadedTable, request: ScanRequest) -> ResolvedTable:
        """Return the snapshot that a request chooses. Raises NoSuchSnapshotError."""
        return cls(spark, loaded, request, scan_context(loaded.metadata, request, loaded.io))

    @property
    def columns(self) -> s.StructType:
        """The columns of the snapshot. One that Spark has no type for is `void`."""
        return _spark_type(self.context.read_schema)

    @property
    def metadata_columns(self) -> s.StructType:
        """The metadata columns that the table has: none that has the name of a column."""
        return _metadata_columns(self.context.read_schema, self.loaded.metadata)

    @property
    def version(self) -> str:
        """An id of the rows: the table, its schema and its snapshot."""
        schema = self.context.table_schema.schema_id
        return f"{self.loaded.metadata_location} {self.context.snapshot_id} {schema}"

    def rows(self, used: RowsRequest) -> Sequence[DataFrame]:
        """Plan the files that may have rows for which the filters hold.

        Raises UnsupportedError for a column that Spark has no type for.
        """
        context = _with_columns(self.context, self.request, self.loaded, used.columns)
        condition, variants = pushed_filter(self.context, used.filters)
        planned = plan(
            self.loaded.metadata,
            self.loaded.io,
            replace(context, row_filter=condition),
            pruned_by=variants,
            tasks=SparkPlanningTasks(self.spark),
        )
        report_scan(self.loaded, planned)
        split = session_split(self.spark, self.loaded.metadata.properties)
        rows = plan_rows(planned, self.spark, split=split, filters=False)
        count = planned.record_count
        if (
            used.is_counted
            and not used.filters
            and count is not None
            and isinstance(rows, DataFrame)
        ):
            # The Arrow engine would open the files to count their rows. Spark counts a range.
            return [self.spark.range(count)]
        names = [column.name for column in context.read_schema.fields]
        frames = rows.frames if isinstance(rows, TypedRows) and rows.frames else None
        if frames is not None and names == list(used.columns):
            return frames
        return [_in_order(frame_of(rows, self.spark), names, used.columns)]


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedChanges:
    """What the snapshots of a table, or of one of its branches, changed."""

    spark: SparkSession
    loaded: LoadedTable
    request: ScanRequest
    context: ScanContext

    @classmethod
    def of(cls, spark: SparkSession, loaded: LoadedTable, request: ScanRequest) -> ResolvedChanges:
        """Return the changes of a branch. Raises what `ChangesTable.of` raises."""
        context = scan_context(loaded.metadata, request, loaded.io)
        ChangesTable.of(context, loaded.metadata, {})
        return cls(spark, loaded, request, context)

    @property
    def columns(self) -> s.StructType:
        """The table's columns and those that changes add."""
        return _spark_type(with_change_columns(self.context.table_schema))

    @property
    def metadata_columns(self) -> s.StructType:
        """The metadata columns of the table: each change is of a row in a file."""
        return _metadata_columns(self.context.read_schema, self.loaded.metadata)

    @property
    def version(self) -> str:
        """An id of the changes."""
        return f"{self.loaded.metadata_location} changes of {self.context.snapshot_id}"

    def rows(self, used: RowsRequest) -> Sequence[DataFrame]:
        """Plan the changes of each snapshot."""
        own = {column.name for column in self.context.read_schema.fields}
        own.update(field.name for field in self.metadata_columns.fields)
        read = [name for name in used.columns if name in own]
        context = _with_columns(self.context, self.request, self.loaded, read)
        condition, _ = pushed_filter(self.context, used.filters)
        context = replace(context, row_filter=condition)
        changes = ChangesTable.of(context, self.loaded.metadata, {})
        steps = changes.steps(self.loaded.metadata, self.loaded.io)
        frame = change_frame(changes.request, steps, self.spark)
        return [_in_order(frame, frame.columns, used.columns)]


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedMetadataTable:
    """A metadata table."""

    spark: SparkSession
    inspected: PinnedInspection
    shown: Schema
    version: str

    @property
    def columns(self) -> s.StructType:
        """The columns of the metadata table."""
        return _spark_type(self.shown)

    @property
    def metadata_columns(self) -> s.StructType:
        """A metadata table has none."""
        return NO_COLUMNS

    def rows(self, used: RowsRequest) -> Sequence[DataFrame]:
        """Read manifests when the query runs."""
        frame = metadata_frame(self.inspected, self.shown, self.spark)
        return [_in_order(frame, frame.columns, used.columns)]


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedView:
    """A view whose tables are pinned, and whose text fits its columns."""

    columns: s.StructType
    frame: DataFrame
    version: str = field(default_factory=lambda: uuid4().hex)

    @classmethod
    def of(cls, spark: SparkSession, view: QueriedView) -> ResolvedView:
        """Return a view. Raises what Spark raises for its text, and InvalidSchemaError."""
        return cls(to_spark(view.columns), view.rows(spark))

    @property
    def metadata_columns(self) -> s.StructType:
        """A view has none."""
        return NO_COLUMNS

    def rows(self, used: RowsRequest) -> Sequence[DataFrame]:
        """Return the rows of the view's query."""
        return [_in_order(self.frame, self.frame.columns, used.columns)]


def _spark_type(schema: Schema) -> s.StructType:
    """Return the columns of a schema in Spark's types, `void` for those without a Spark type."""
    fields = []
    for column in schema.fields:
        if has_spark_type(column):
            fields += nullable(to_spark(Schema(column))).fields
        else:
            fields.append(s.StructField(column.name, s.NullType()))
    return s.StructType(fields)


def _metadata_columns(schema: Schema, metadata: TableMetadata) -> s.StructType:
    fields = []
    for name in HIDDEN:
        try:
            column = with_metadata_columns(schema, [name], metadata).fields[-1]
        except IcebergError:
            continue
        fields += nullable(to_spark(Schema(column))).fields
    return s.StructType(fields)


def _with_columns(
    context: ScanContext, request: ScanRequest, loaded: LoadedTable, names: Sequence[str]
) -> ScanContext:
    """Return a scan of some columns; of the first one for a query that needs none."""
    columns = {column.name: column for column in context.read_schema.fields}
    for name in names:
        if name in columns and not has_spark_type(columns[name]):
            raise UnsupportedError(
                f"Column {name} is {columns[name].field_type}, a type that this Spark lacks: "
                "leave it out of the query"
            )
    own = tuple(name for name in names if name in columns)
    hidden = tuple(name for name in names if name not in columns)
    first = tuple(name for name in columns if has_spark_type(columns[name]))[:1]
    pruned = replace(request, selected_fields=own or first or None, metadata_columns=hidden)
    return narrow_scan(context, loaded.metadata, pruned, loaded.io)


def _in_order(frame: DataFrame, column_names: Sequence[str], names: Sequence[str]) -> DataFrame:
    """Return columns of a DataFrame by position; `column_names` are the names at its positions."""
    places = [plain(column_names.index(name)) for name in names]
    return select_texts(by_position(frame), places) if places else frame
