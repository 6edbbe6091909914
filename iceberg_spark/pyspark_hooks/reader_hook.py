"""PySpark's `DataFrameReader` and `DataStreamReader` of an enabled session.

The native engine reads the batches of Iceberg tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.catalog.pinned import load, split_name
from iceberg_spark.catalog.registry import with_settings
from iceberg_spark.errors import NoSuchNamespaceError, NoSuchTableError
from iceberg_spark.inspect.pinned_inspection import pin_inspection
from iceberg_spark.pyspark_hooks.builder_hook import BuilderHook
from iceberg_spark.read.changes_table import changes_table
from iceberg_spark.scan.incremental import (
    CHANGE_TIMES,
    CHANGES,
    bounds_of,
    is_changes,
    refuse_change_times,
)
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.read_options import read_options
from iceberg_spark.scan.request import scan_context
from iceberg_spark.scan.scan_report import report_scan
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME, BuilderState
from iceberg_spark.spark.catalyst.classic_queries import qualify_columns
from iceberg_spark.spark.reading.metadata_frame import change_frame, metadata_frame
from iceberg_spark.spark.reading.planning_tasks import SparkPlanningTasks
from iceberg_spark.spark.reading.queried_scan import scan_frame
from iceberg_spark.spark.session.active_session import session_time_zone
from iceberg_spark.spark.session.option_defaults import session_read_defaults
from iceberg_spark.spark.session.send_catalog import catalog_to_send
from iceberg_spark.spark.session.session_cache import session_cache
from iceberg_spark.spark.session.session_catalogs import session_catalog
from iceberg_spark.spark.sql.catalog_errors import errors_of_catalogs
from iceberg_spark.spark.sql.query import plan_query
from iceberg_spark.spark.sql.spark_queries import register_catalogs
from iceberg_spark.spark.sql.table_names import given_parts, name_parts
from iceberg_spark.spark.sql.table_planner import is_selector, selected_snapshot
from iceberg_spark.spark.sql.wap_branch import branch_to_read
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.statements.target import (
    Name,
    names_table,
    new_target,
    refuse_changes,
    stream_target,
)

_OPTION_OF = {
    "branch": "branch",
    "tag": "tag",
    "snapshot_id": "snapshot-id",
    "as_of_timestamp_ms": "as-of-timestamp",
}


class _LoadHook(BuilderHook):
    """What the readers of batches and of streams have in common."""

    _session: SparkSession

    def begin(self, session: SparkSession) -> None:
        """Start recording; called once, when the session creates the reader."""
        self._builder_state = BuilderState()
        self._session = session

    def schema(self, schema: StructType | str) -> Self:
        """Pass a schema on."""
        self._own.schema(schema)
        return self

    def _location(
        self,
        path: str | list[str] | None,
        source: str | None,
        schema: StructType | str | None,
        options: Mapping[str, Any],
    ) -> str | None:
        """Record the arguments of a load; return the table's location, None without one."""
        if source is not None:
            self.format(source)
        if schema is not None:
            self.schema(schema)
        self.options(**options)
        return self._builder_state.location(path)


class ReaderHook(_LoadHook):
    """Records calls and passes them on; `load` and `table` read Iceberg tables themselves."""

    def schema(self, schema: StructType | str) -> Self:
        """Leave a load with a schema of the user's to the source, which checks it."""
        self._builder_state.other = True
        return super().schema(schema)

    def load(
        self,
        path: str | list[str] | None = None,
        format: str | None = None,
        schema: StructType | str | None = None,
        **options: Any,
    ) -> DataFrame:
        """Return the native frame of a table, PySpark's own for everything else."""
        table = self._location(path, format, schema, options)
        if not self._builder_state.is_ours(self._session) or table is None:
            frame: DataFrame = self._own.load(path)
            return frame
        with session_cache(self._session):
            return _loaded(table, self._builder_state.options, self._session)

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Return an Iceberg table or view, by Spark where it resolves names itself."""
        name = given_parts(self._session, tableName)
        by_spark = not self._builder_state.options and register_catalogs(self._session, tableName)
        if names_table(self._session, name) and ("/" in name[-1] or not by_spark):
            return _table_or_view(name, self._builder_state.options, self._session)
        with errors_of_catalogs(self._session):
            frame: DataFrame = self._own.table(tableName)
        return frame

    def changes(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Let Spark read changes of its catalogs (4.2). Raises UnsupportedError for Iceberg's."""
        refuse_changes(self._session, tableName, "ice.load_table('{}').scan().changes(start, end)")
        frame: DataFrame = self._own.changes(tableName)
        return frame


def _loaded(table: str, options: dict[str, str], session: SparkSession) -> DataFrame:
    """Return a table's rows; of a name like `cat.db.t.snapshots` as Java's source reads it."""
    try:
        return native_frame(table, options, session)
    except (NoSuchTableError, NoSuchNamespaceError):
        name = name_parts(session, table)
        if len(name) < 3 or "/" in table or not is_selector(name[-1]):
            raise
        return _selected_frame(name, options, session)


def _table_or_view(name: Name, options: dict[str, str], session: SparkSession) -> DataFrame:
    try:
        path = new_target(session, name).path
        return qualify_columns(native_frame(path, options, session, is_named=True), name)
    except (NoSuchTableError, NoSuchNamespaceError):
        if options:  # they select how a table is read
            return _selected_frame(name, options, session)
        text = f"FROM {'.'.join(map(quote, name))} SELECT *"
        return qualify_columns(plan_query(session, text).frame(session), name)


def _selected_frame(name: Name, options: dict[str, str], session: SparkSession) -> DataFrame:
    """Return the rows that a name like `cat.db.t.branch_x` selects, with the read's options."""
    *above, last = name
    if len(name) < 3 or not is_selector(last):
        raise NoSuchTableError(f"There is no table {'.'.join(name)} that options could be for")
    path, chosen = new_target(session, tuple(above)).path, selected_snapshot(last)
    if not chosen:
        return native_frame(f"{path}#{last}", options, session)
    selector_options = {_OPTION_OF[field]: str(value) for field, value in chosen.items()}
    return native_frame(path, {**options, **selector_options}, session)


def native_frame(
    table: str, options: dict[str, str], session: SparkSession, *, is_named: bool = False
) -> DataFrame:
    """Return a table's rows by the options of a load, planned immediately.

    With `is_named`, as in statements, the session's `spark.wap.branch` is read. Raises the errors
    of the data source for the same options.
    """
    zone = {} if "time-zone" in {key.lower() for key in options} else _zone(session)
    all_options = {**session_read_defaults(session), **zone, **options, "path": table}
    parsed = read_options(all_options, plain=False, others=CHANGE_TIMES)
    settings = partial(session_catalog, session)
    pinned, loaded = load(parsed.path, with_settings(parsed.path, parsed.storage, settings))
    name = split_name(parsed.path)[1]
    if is_changes(name):
        changes = changes_table(loaded.metadata, pinned.io, parsed, bounds_of(options))
        return change_frame(changes.request, changes.steps(loaded.metadata, pinned.io), session)
    refuse_change_times(options)
    if name is not None:
        return metadata_frame(*pin_inspection(parsed, loaded, name), session)
    if is_named and not parsed.given:
        parsed = replace(parsed, branch=branch_to_read(session, loaded.metadata))
    context = scan_context(loaded.metadata, parsed, pinned.io)
    tasks = SparkPlanningTasks(session)
    planned = plan(loaded.metadata, pinned.io, context, tasks=tasks)
    report_scan(loaded, planned)
    return scan_frame(planned, session, split=parsed.split(loaded.metadata))


def _zone(session: SparkSession) -> dict[str, str]:
    zone = session_time_zone(session)
    return {} if zone is None else {"time-zone": zone}


class StreamReaderHook(_LoadHook):
    """Records calls and passes them on, with the catalog's settings for Iceberg tables.

    The data source reads the stream: Spark plans its batches in processes of its own.
    """

    def load(
        self,
        path: str | None = None,
        format: str | None = None,
        schema: StructType | str | None = None,
        **options: Any,
    ) -> DataFrame:
        """Return the stream of a table, and leave everything else to PySpark."""
        table = self._location(path, format, schema, options)
        if table is not None and self._builder_state.is_ours(self._session):
            self._own.format(FORMAT_NAME)
            for key, value in catalog_to_send(self._session, table).items():
                self._own.option(key, value)
        frame: DataFrame = self._own.load(path)
        return frame

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Return the stream of a table of an Iceberg catalog; PySpark reads others.

        It also reads a branch (`cat.db.t.branch_x`) and the table's changes (`cat.db.t.changes`).
        Raises NoSuchTableError, InvalidInputError for a name with parts that no table can have,
        UnsupportedError for tags and metadata tables.
        """
        name = given_parts(self._session, tableName)
        if not names_table(self._session, name):
            frame: DataFrame = self._own.table(tableName)
            return frame
        source = stream_target(self._session, name)
        source.table()  # Spark reports a missing table as an error of the data source
        if source.branch is None:
            return self.load(source.path, FORMAT_NAME)
        another = self._session.readStream.options(**self._builder_state.with_branch(source.branch))
        return another.load(source.path, FORMAT_NAME)  # this one may be used for others

    def changes(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Let Spark read changes of its catalogs (4.2). Raises UnsupportedError for Iceberg's."""
        instead = f"spark.readStream.format('{FORMAT_NAME}').load('{{}}#{CHANGES}')"
        refuse_changes(self._session, tableName, instead)
        frame: DataFrame = self._own.changes(tableName)
        return frame
