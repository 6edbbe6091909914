"""Scans: which snapshot, columns and rows; planned, explained and read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from functools import partial
from typing import Any, Literal

import pyarrow as pa

from iceberg_spark.api import deferred
from iceberg_spark.arrow.public_types import pandas_frame, public_batches, public_schema
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import (
    active_session,
    is_installed,
    read_by_session,
    session_time_zone,
)
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.task_reader import read_ahead, read_task
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.metrics import count_by_manifest_list
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.planning_tasks import PlanningTasks
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.scan.split import split_options
from iceberg_spark.spark.session.engine import ENGINES, Engine
from iceberg_spark.spec.arguments import check_int, check_text, one_of
from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.reserved import LINEAGE_NAMES
from iceberg_spark.spec.shown import ShownText

_NUMBERS = (
    "limit", "snapshot_id", "as_of_timestamp_ms", "start_snapshot_id", "end_snapshot_id",
)  # fmt: skip

_AS_FILES_HAVE_THEM = (
    "carried_over shows rows as files have them: leave out by, net_changes and what tells updates"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScan(ScanRequest):
    """A read of one snapshot, not started: `to_arrow`, `to_df`, `to_pandas`, `count`, ...

    Made by `Table.scan`. Planning happens once per call that needs it; the snapshot is pinned
    when the scan is made.
    """

    loaded: LoadedTable
    io: FileIO
    selected_fields: tuple[str, ...] | None = ("*",)
    limit: int | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_int(value, name))
        for name in ("branch", "tag", "time_zone"):
            check_text(getattr(self, name), name)
        one_of(self.engine, "engine", ENGINES)
        if self.limit is not None and self.limit < 0:
            raise InvalidInputError(f"limit must not be negative, but is {self.limit}")

    def __repr__(self) -> str:
        arguments = [
            f"{field.name}={value!r}"
            for field in dataclass_fields(self)
            if field.name not in ("loaded", "io")
            and (value := getattr(self, field.name)) != field.default
        ]
        return printable(f"TableScan({', '.join([self.loaded.identifier, *arguments])})")

    def select(self, *fields: str) -> TableScan:
        """Return the scan with these columns only; nested ones as "a.b".

        Args:
            *fields: Names of columns, nested ones as "a.b".

        Examples:
            >>> t.scan("id < 10").select("id", "region").to_arrow()
        """
        return replace(self, selected_fields=fields)

    def plan_files(self) -> ScanPlan:
        """Return the data files that may hold matching rows, with the deletes that apply to them.

        The plan is a sequence of tasks. Its `.metrics` count what was skipped.

        Examples:
            >>> t.scan("id < 10").plan_files().metrics.skipped_data_files
        """
        return self._planned(self._context())

    def _planned(self, context: ScanContext, tasks: PlanningTasks | None = None) -> ScanPlan:
        planned = plan(self.loaded.metadata, self.io, context, tasks=tasks)
        if self.loaded.reporter is not None:
            deferred.report_scan(self.loaded, planned)
        return planned

    def explain(self) -> str:
        """Return a text that shows which files a read opens and skips, and which engine reads them.

        Examples:
            >>> print(t.scan("id < 10").explain())
        """
        planned = plan(self.loaded.metadata, self.io, self._context())  # nobody reads it
        lines = (
            on_spark.reading_lines(planned, active_session(), self.engine) if is_installed() else ()
        )
        return ShownText(printable(deferred.explain(planned, lines)))

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of Arrow batches; memory holds a batch at a time.

        Examples:
            >>> for batch in t.scan("id < 10").to_arrow_batch_reader():
            ...     print(batch.num_rows)
        """
        tasks = self._planned(self._context())
        context = tasks.context
        batches = (batch for task in tasks for batch in read_task(context, context.io, task))
        schema = public_schema(context.read_schema)
        rows = public_batches(_first_rows(batches, self.limit), schema)
        return pa.RecordBatchReader.from_batches(schema, rows)

    def to_arrow(self) -> pa.Table:
        """Return the rows as one Arrow table; all of them are held in memory.

        Examples:
            >>> t.scan("id < 10", selected_fields=("id", "region")).to_arrow()
        """
        if self.limit is not None:
            return self.to_arrow_batch_reader().read_all()
        tasks = self._planned(self._context())
        context = tasks.context
        batches = read_ahead(tasks, partial(read_task, context, context.io))
        schema = public_schema(context.read_schema)
        return pa.Table.from_batches(public_batches(batches, schema), schema)

    def to_pandas(self) -> Any:
        """Return the rows as a `pandas.DataFrame`; all of them are held in memory.

        Examples:
            >>> t.scan("id < 10").to_pandas()
        """
        return pandas_frame(self.to_arrow())

    def to_df(
        self, spark: on_spark.SparkSession | None = None, engine: Engine | None = None
    ) -> on_spark.DataFrame:
        """Return the rows as a Spark DataFrame, which stays at the snapshot of this scan.

        Args:
            spark: By default the active session.
            engine: "native" or "arrow"; by default the library chooses per group of files.

        Raises:
            InvalidInputError: There is no session.
            UnsupportedError: The engine cannot read the table; the message says why.

        Examples:
            >>> t.scan("id < 10").to_df(spark).groupBy("region").count()
        """
        session = on_spark.needed_session(spark)
        tasks = on_spark.SparkPlanningTasks(session)
        planned = self._planned(self._context(session), tasks)
        split = split_options(self.loaded.metadata.properties)
        frame = on_spark.scan_frame(planned, session, engine=engine or self.engine, split=split)
        return frame if self.limit is None else frame.limit(self.limit)

    def changes(
        self,
        start: int | str | None = None,
        end: int | str | None = None,
        *,
        net_changes: bool = False,
        compute_updates: bool | None = None,
        identifier_columns: Sequence[str] = (),
        by: Literal["row-id"] | None = None,
        carried_over: bool = False,
    ) -> deferred.ChangeScan:
        """Return the rows that were inserted and deleted after `start`, up to and including `end`.

        Compaction changes nothing. The filter and the columns of this scan apply. Otherwise it is
        Java's `create_changelog_view`.

        - `start`, `end`: Snapshot ids, or names of branches or tags. By default all of the history.
        - `identifier_columns`, or `compute_updates` by the schema's identifier fields: Show updates
          as UPDATE_BEFORE and UPDATE_AFTER.
        - `net_changes`: Leave out what cancels out over all snapshots.
        - `by`: "row-id" finds updates by row lineage (format version 3) instead of by values.
        - `carried_over`: Show rows that a commit only wrote again, as Java's table `changes`.

        Raises InvalidInputError, NoSuchSnapshotError.

        Examples:
            >>> t.scan().changes("monday", identifier_columns=["id"]).to_arrow()
        """
        self._check_not_pinned()
        metadata = self.loaded.metadata
        one_of(by, "by", ("row-id",))
        if by and (identifier_columns or compute_updates):
            raise InvalidInputError("by='row-id' and identifier_columns exclude each other")
        if carried_over and (by or net_changes or identifier_columns or compute_updates):
            raise InvalidInputError(_AS_FILES_HAVE_THEM)
        scan = replace(self, metadata_columns=LINEAGE_NAMES) if by else self
        context = replace(scan, selected_fields=("*",))._context()
        names = deferred.identifiers(
            context.read_schema,
            identifier_columns,
            compute_updates,
            net_changes,
            case_sensitive=self.case_sensitive,
        )
        shown = scan._context().read_schema
        request = deferred.ChangeRequest(context, shown, names, net_changes, bool(by), carried_over)
        last = context.snapshot_id if end is None else deferred.snapshot_of(metadata, end, "end")
        first = deferred.snapshot_of(metadata, start, "start")
        return deferred.ChangeScan(metadata, self.io, request, first, last)

    def _check_not_pinned(self) -> None:
        pins = {**{name: getattr(self, name) for name in _NUMBERS}, "tag": self.tag,
                "metadata_columns": self.metadata_columns or None}  # fmt: skip
        pinned = [name for name, value in pins.items() if value is not None]
        if pinned:
            raise InvalidInputError(f"changes() can't be used on a scan with {', '.join(pinned)}")

    def count(self) -> int:
        """Count the rows, from the metadata if it has the answer, otherwise by reading.

        Without a filter and without delete files, the manifest list is enough.

        Examples:
            >>> t.scan("region = 'eu'").count()
        """
        row_count = count_by_manifest_list(self.loaded.metadata, self.io, self._context())
        if row_count is None:
            row_count = self.plan_files().record_count
        if row_count is None:
            positions = replace(self, selected_fields=(), metadata_columns=("_pos",), limit=None)
            row_count = sum(batch.num_rows for batch in positions.to_arrow_batch_reader())
        return row_count if self.limit is None else min(row_count, self.limit)

    def _context(self, spark: on_spark.SparkSession | None = None) -> ScanContext:
        row_filter = None if self.row_filter is None else read_by_session(self.row_filter, spark)
        zone = self.time_zone or session_time_zone(spark)
        request = replace(self, row_filter=row_filter, time_zone=zone)
        return scan_context(self.loaded.metadata, request, self.io)


def _first_rows(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    left = limit
    for batch in batches:
        if left is None:
            yield batch
            continue
        yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            return
