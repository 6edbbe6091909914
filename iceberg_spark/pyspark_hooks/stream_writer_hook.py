"""PySpark's `DataStreamWriter` of an enabled session.

The native engine writes the batches of Iceberg tables. The driver writes a small batch itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t
from pyspark.sql.streaming.query import StreamingQuery

from iceberg_spark.catalog.registry import with_settings
from iceberg_spark.engines.write_rows import RowSource, write_changes, write_rows
from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.pyspark_hooks.builder_hook import BuilderHook
from iceberg_spark.pyspark_hooks.save_frame import partition_terms, with_partitioning
from iceberg_spark.save.commit_save import (
    commit_save,
    commit_upsert,
    create_if_missing,
    not_in_vain,
    take_back,
)
from iceberg_spark.save.plan_save import TablePlace, plan_save, plan_upsert
from iceberg_spark.save.write_options import WriteOptions, written_stream_options
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME, BuilderState
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.classic_session import is_connect, local_property
from iceberg_spark.spark.session.option_defaults import session_write_defaults
from iceberg_spark.spark.session.send_catalog import catalog_to_send
from iceberg_spark.spark.session.session_catalogs import session_catalog
from iceberg_spark.spark.sql.enabled_sessions import enabled_as
from iceberg_spark.spark.sql.table_names import given_parts
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import MAIN_BRANCH
from iceberg_spark.spec.txn import STREAM_KEYS, Token
from iceberg_spark.statements.target import names_table, target

_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"


class StreamWriterHook(BuilderHook):
    """Records calls and passes them on; `start` and `toTable` write to Iceberg tables themselves.

    Over Connect the data source's own sink writes, since its batches are not in this process.
    """

    _frame: DataFrame
    _sent_branch: bool

    def begin(self, frame: DataFrame) -> None:
        """Start recording; called once, when the frame creates the writer."""
        self._builder_state = BuilderState()
        self._frame = frame
        self._sent_branch = False

    def outputMode(self, outputMode: str) -> Self:  # noqa: N802, N803 - PySpark's names
        """Note the output mode."""
        self._builder_state.mode = outputMode
        self._own.outputMode(outputMode)
        return self

    def partitionBy(self, *cols: Any) -> Self:  # noqa: N802 - PySpark's name
        """Note the columns to partition a new table by."""
        self._record_partitioning(cols)
        return self

    def clusterBy(self, *arguments: Any) -> Self:  # noqa: N802 - PySpark's name
        """Leave Spark's clustering to Spark."""
        self._builder_state.other = True
        self._own.clusterBy(*arguments)
        return self

    def foreach(self, f: Any) -> Self:
        """Leave a sink of the user's own to Spark."""
        self._builder_state.other = True
        self._own.foreach(f)
        return self

    def foreachBatch(self, func: Any) -> Self:  # noqa: N802 - PySpark's name
        """Leave a sink of the user's own to Spark, in a session that is enabled as this one is.

        Over Connect it runs in a process of the server's, whose session enables itself.
        """
        self._builder_state.other = True
        session = self._frame.sparkSession
        is_plain = is_connect(session) or not callable(func)
        self._own.foreachBatch(func if is_plain else partial(_in_batch, session, func))
        return self

    def start(
        self,
        path: str | None = None,
        format: str | None = None,
        outputMode: str | None = None,  # noqa: N803 - PySpark's name
        partitionBy: Any = None,  # noqa: N803 - PySpark's name
        queryName: str | None = None,  # noqa: N803 - PySpark's name
        **options: Any,
    ) -> StreamingQuery:
        """Start writing to an Iceberg table; PySpark writes everything else."""
        self._take(format, outputMode, partitionBy, queryName, options)
        table = self._builder_state.location(path)
        if table is None or not self._builder_state.is_ours(self._frame.sparkSession):
            self._partition()
            return self._started(path)
        return self._start(table)

    def toTable(  # noqa: N802 - PySpark's name
        self,
        tableName: str,  # noqa: N803 - PySpark's name
        format: str | None = None,
        outputMode: str | None = None,  # noqa: N803 - PySpark's name
        partitionBy: Any = None,  # noqa: N803 - PySpark's name
        queryName: str | None = None,  # noqa: N803 - PySpark's name
        **options: Any,
    ) -> StreamingQuery:
        """Start writing to a table of an Iceberg catalog, or to one of its branches.

        A new table is created before the first batch, as in Spark. PySpark writes to other tables.
        Raises UnsupportedError for tags and metadata tables.
        """
        self._take(format, outputMode, partitionBy, queryName, options)
        session = self._frame.sparkSession
        name = given_parts(session, tableName, new=True)
        is_iceberg = (self._builder_state.source or FORMAT_NAME).lower() in (FORMAT_NAME, "iceberg")
        if is_iceberg and not self._builder_state.other and names_table(session, name):
            destination = target(session, name)
            branch = destination.branch
            named = None if branch is None else self._builder_state.with_branch(branch)
            return self._start(destination.path, named, creates=True)
        self._partition()
        query: StreamingQuery = self._own.toTable(tableName)
        return query

    def _take(
        self,
        source: str | None,
        mode: str | None,
        partition_by: Any,
        name: str | None,
        options: dict[str, Any],
    ) -> None:
        self.options(**options)
        if mode is not None:
            self.outputMode(mode)
        if partition_by is not None:
            self.partitionBy(partition_by)
        if source is not None:
            self.format(source)
        if name is not None:
            self._own.queryName(name)

    def _partition(self) -> None:
        if self._builder_state.partition_by:
            self._own.partitionBy(*self._builder_state.partition_by)

    def _start(
        self, table: str, named: Mapping[str, str] | None = None, *, creates: bool = False
    ) -> StreamingQuery:
        session = self._frame.sparkSession
        stated_options = {**self._builder_state.options, **(named or {}), "path": table}
        all_options = with_partitioning(stated_options, partition_terms(self._builder_state))
        connect = is_connect(session)
        defaults = {} if connect else session_write_defaults(session)
        options = written_stream_options(all_options, plain=connect, defaults=defaults)
        mode = (self._builder_state.mode or "append").lower()
        if mode == "update" and options.write_mode != "upsert":
            raise InvalidOptionError(
                "outputMode('update') gives a row again when it changes: write it with "
                "option('write-mode', 'upsert') and 'equality-fields', or use 'complete'"
            )
        if not connect:
            self._check_checkpoint(session)
        settings = partial(session_catalog, session)
        storage = with_settings(options.path, options.storage, settings)
        case = is_case_sensitive(session)
        options = replace(options, storage=storage, case_sensitive=case)
        if creates and _creates_table(options):
            create_if_missing(options, from_spark(self._frame.schema))
        if connect:
            self._own.format(FORMAT_NAME)
            all_options = {
                **self._branch_to_send(all_options),
                **all_options,
                **catalog_to_send(session, table),
            }
            self._own.options(**{key: value for key, value in all_options.items() if key != "path"})
            return self._started(table)
        self._own.foreachBatch(BatchSaver(options, overwrite=mode == "complete"))
        return self._started()

    def _check_checkpoint(self, session: SparkSession) -> None:
        """Raise InvalidOptionError without a checkpoint; `foreachBatch` would create one a run."""
        has_own = any(key.lower() == "checkpointlocation" for key in self._builder_state.options)
        if not has_own and not session.conf.get(_CHECKPOINTS, ""):
            raise InvalidOptionError(
                f"A stream needs option 'checkpointLocation' (or setting {_CHECKPOINTS}): its "
                "batches land once by the id of the query that is kept there"
            )

    def _branch_to_send(self, options: Mapping[str, str]) -> dict[str, str]:
        """Return the branch option for PySpark's writer, which keeps one from an earlier call."""
        has_branch = any(key.lower() == "branch" for key in options)
        was_sent = self._sent_branch
        self._sent_branch = was_sent or has_branch
        return {"branch": MAIN_BRANCH} if was_sent and not has_branch else {}

    def _started(self, *path: str | None) -> StreamingQuery:
        query: StreamingQuery = self._own.start(*path)
        return query


def _creates_table(options: WriteOptions) -> bool:
    """Return whether a stream may create its table before it has rows.

    Changes by key need a table that exists. A branch begins with the first batch's snapshot.
    """
    return options.write_mode != "upsert" and options.branch in (None, MAIN_BRANCH)


def _in_batch(
    session: SparkSession, work: Callable[[DataFrame, int], object], batch: DataFrame, number: int
) -> None:
    """Do the user's work with a batch, whose session Spark cloned of the stream's."""
    with enabled_as(batch.sparkSession, session):
        work(batch, number)


QUERY_ID = "sql.streaming.queryId"


@dataclass(slots=True)
class BatchSaver:
    """What Spark calls with each batch of a query; a batch is saved once, however often it calls.

    Small batches are brought to the driver and written here, others by Spark's tasks: after a
    large one without trying first.
    """

    options: WriteOptions
    overwrite: bool
    last_was_large: bool = False

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Save a batch under its query's id and its number."""
        query_id = local_property(frame.sparkSession, QUERY_ID)
        branch = self.options.branch or MAIN_BRANCH
        options = replace(self.options, token=Token(query_id, batch_id, branch, STREAM_KEYS))
        schema = from_spark(frame.schema)
        if options.write_mode == "upsert":
            self._upsert(frame, options, schema)
        else:
            self._save(frame, options, schema)

    def _save(self, frame: DataFrame, options: WriteOptions, schema: Schema) -> None:
        plan = plan_save(options, schema, overwrite=self.overwrite)
        if plan.is_committed:
            run_through(frame)
            return
        table = TablePlace(options.path, options.storage)
        with not_in_vain(table, plan):
            files = write_rows(
                self._rows(frame),
                plan.context,
                plan.context.io,
                plan.align,
                engine=options.engine,
                distribution_mode=options.distribution_mode,
            )
        self._learn(frame, sum(file.record_count for file in files))
        if plan.changes_with(files):
            commit_save(table, plan, files)
        else:
            take_back(table, plan)

    def _upsert(self, frame: DataFrame, options: WriteOptions, schema: Schema) -> None:
        plan = plan_upsert(options, schema, overwrite=self.overwrite)
        if plan.is_committed:
            run_through(frame)
            return
        files = write_changes(self._rows(frame), plan.context, plan.context.write.io)
        self._learn(frame, sum(file.record_count for file in (*files.data, *files.deletes)))
        if files.paths:
            commit_upsert(TablePlace(options.path, options.storage), plan, files)

    def _rows(self, frame: DataFrame) -> RowSource:
        """Return the rows if the driver should write them, otherwise the DataFrame."""
        is_chosen = self.options.engine is not None or self.options.distribution_mode is not None
        in_order = self.options.write_mode == "upsert" and not self.options.order_by
        if is_chosen or in_order or self.last_was_large:
            return frame
        rows = small_batch(frame)
        return frame if rows is None else rows

    def _learn(self, frame: DataFrame, written: int) -> None:
        self.last_was_large = written > rows_brought(frame.schema)


_BYTES: Mapping[type[t.DataType], int] = {
    t.BooleanType: 1, t.ByteType: 1, t.ShortType: 2, t.IntegerType: 4, t.LongType: 8,
    t.FloatType: 4, t.DoubleType: 8, t.DateType: 4, t.TimestampType: 8, t.TimestampNTZType: 8,
    t.DecimalType: 16, t.StringType: 20, t.BinaryType: 100,
}  # fmt: skip
"""What comes to the driver the same as through a task's Arrow batches, and Spark's own estimates
of a value's size (`DataType.defaultSize`)."""


def rows_brought(columns: t.StructType) -> int:
    """Return how many rows of these columns may be brought to the driver, 0 for none."""
    sizes = [_bytes(field.dataType) for field in columns.fields]
    if not sizes or 0 in sizes:
        return 0
    return min(SMALL_BATCHES.rows, max(1, SMALL_BATCHES.bytes // sum(sizes)))


def small_batch(frame: DataFrame) -> pa.Table | None:
    """Return a batch's rows; None where they are too many, or hold what Arrow tells otherwise."""
    most = rows_brought(frame.schema)
    if most == 0:
        return None
    rows = frame.limit(most + 1).toArrow()
    return rows if rows.num_rows <= most else None


def run_through(frame: DataFrame) -> None:
    """Compute a batch whose rows nobody wants: Spark refuses to go on where state was not."""
    frame.write.format("noop").mode("overwrite").save()


def _bytes(kind: t.DataType) -> int:
    return _BYTES.get(type(kind), 0)


@dataclass(frozen=True, slots=True)
class SmallBatches:
    """Which batches of a stream the driver writes itself: a job of Spark's costs more than they."""

    rows: int = 100_000
    """Rows, at most; 1,000 rows cost half of what Spark's writer takes for them, and 100,000 about
    as much."""
    bytes: int = 32 * 1024 * 1024
    """Bytes of rows as Spark estimates them by the types of the columns, at most."""


SMALL_BATCHES = SmallBatches()
