"""The ledger of changes by key: facts that a table's rows cannot store, in a separate branch.

Rows show the last change of their key, and histories even more, but not that a row was deleted, and
when. The ledger has a row for each such change, with the key and the sequence. It is a branch of
the same table (`__cdc_<branch>`), so it is committed together with the data, and expiry and orphan
removal of every engine keep its files. Each of its snapshots names the snapshot of the data that it
belongs to: a rollback, a branch or a tag has its own ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from math import ceil, log
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.row_hashes import hash_rows
from iceberg_spark.arrow.schema import to_arrow, to_arrow_type
from iceberg_spark.commits.batch_token import Lineage
from iceberg_spark.commits.ledger_files import (
    ABOUT,
    HAS_LEDGER,
    OF_SNAPSHOT,
    LedgerFiles,
    ledger_branch,
)
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Comparison, Op, Reference, Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyModule
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.row_level.cdc_frames import Frame, key_columns, key_frame, series
from iceberg_spark.row_level.cdc_notes import COLUMN, KIND, SEQUENCE, TRUNCATED, Notes
from iceberg_spark.row_level.cdc_plan import WITHOUT_OFFSET, CdcPlan
from iceberg_spark.row_level.key_ranges import ranges_of
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.scan.planner import plan as plan_scan
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile, FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.properties import CDC_MISSING_LEDGER, text_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot
from iceberg_spark.spec.sort import UNSORTED, UNSORTED_ORDER_ID
from iceberg_spark.spec.types import DecimalType
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.data_file_writer import write_data_files

pl = LazyModule("polars")
_PLACES = ("write.data.path", "write.object-storage.")


@dataclass(frozen=True, slots=True)
class Ledger:
    """A table's ledger at the time when a change is planned.

    `snapshot` belongs to the data, None if the ledger is empty. `head` is the committed head of the
    ledger's branch, which may be newer after a rollback.
    """

    metadata: TableMetadata
    io: FileIO
    branch: str
    snapshot: Snapshot | None
    head: int | None
    notes: Notes

    @property
    def schema(self) -> Schema:
        """The columns of the ledger: the key's, optional, and its own."""
        return self.notes.schema

    def scan(self, row_filter: Unbound | None = None) -> ScanPlan:
        """Plan the rows under a filter over the ledger's columns."""
        schema = self.schema
        bound = ALWAYS_TRUE if row_filter is None else bind(schema, row_filter)
        context = ScanContext(
            table_location=self.metadata.location,
            snapshot_id=None if self.snapshot is None else self.snapshot.snapshot_id,
            format_version=self.metadata.format_version,
            table_schema=schema,
            read_schema=schema,
            specs=self.metadata.partition_specs,
            row_filter=bound,
            io=self.io,
        )
        return plan_scan(self.metadata, self.io, context)

    def batches(self, row_filter: Unbound | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows under a filter whose retention has not ended."""
        scanned = self.scan(row_filter)
        for task in scanned:
            for batch in read_task(scanned.context, self.io, task):
                yield batch.filter(self.notes.remembered(batch))

    def of_keys(self, keys: pa.Table, key_rows: Frame) -> pa.Table:
        """Return the ledger rows of some keys; `key_rows` has them in the form of `key_frame`.

        Memory holds the rows of these keys.
        """
        names = key_columns(self.notes.plan.keys)
        tables = [to_arrow(self.schema).empty_table()]
        if self.snapshot is not None and keys.num_rows:
            distinct = key_rows.select(names).unique()
            for batch in self.batches(ranges_of(self.schema, keys)):
                not_truncations = batch.filter(pc.not_equal(batch.column(KIND), TRUNCATED))
                indexed = key_frame(not_truncations, self.notes.plan.keys).with_row_index("at")
                met = indexed.join(distinct, on=names, how="semi").get_column("at").to_numpy()
                tables.append(pa.Table.from_batches([not_truncations]).take(pa.array(met)))
        return pa.concat_tables(tables).combine_chunks()

    def truncated_at(self) -> pa.Scalar | None:
        """Return the sequence of the latest truncation, None if there was none."""
        if self.snapshot is None:
            return None
        latest = None
        for batch in self.batches(Comparison(Op.EQ, Reference(KIND), TRUNCATED)):
            seen = pc.max(batch.column(SEQUENCE))
            if seen.is_valid and (latest is None or pc.greater(seen, latest).as_py()):
                latest = seen
        return latest

    def write_context(self, context: WriteContext) -> WriteContext:
        """Return the context for writing the ledger's files, which are next to the table's."""
        spec = unpartitioned_spec(self.metadata)
        location_properties = {k: v for k, v in context.properties.items() if k.startswith(_PLACES)}
        return replace(
            context,
            schema=self.schema,
            spec=spec,
            sort_order_id=UNSORTED_ORDER_ID,
            sort_order=UNSORTED,
            file_format=FileFormat.PARQUET,
            write_id=f"c{context.write_id}",
            properties=location_properties,
            row_bytes=None,
        )


def unpartitioned_spec(metadata: TableMetadata) -> PartitionSpec:
    """Return the unpartitioned spec, a new one if the table has none."""
    specs = metadata.partition_specs
    there = (spec for spec in specs.values() if not spec.fields)
    return next(there, PartitionSpec(max(specs, default=-1) + 1))


def open_ledger(
    metadata: TableMetadata, io: FileIO, plan: CdcPlan, branch: str | None, now_ms: int
) -> Ledger:
    """Find the ledger of a branch's head.

    Raises:
        ValidationException: the ledger is missing.
        InvalidInputError: the ledger has other keys.
    """
    name = ledger_branch(branch)
    snapshot, notes = _of_head(metadata, io, branch or MAIN_BRANCH), Notes(plan, now_ms)
    about = notes.about if snapshot is None else snapshot.summary.get(ABOUT, notes.about)
    if about != notes.about:
        was_time = about.endswith("by long") and isinstance(plan.sequence_type, DecimalType)
        raise InvalidInputError(
            f"Changes applied to {metadata.location} have {about}, these have "
            f"{notes.about}: keys, order and type must equal those of the first changes. "
            f"{WITHOUT_OFFSET + '. ' if was_time else ''}Remove the branch '{name}' to begin "
            "again, without what it knows of deletes"
        )
    return Ledger(metadata, io, name, snapshot, None, notes)


def _of_head(metadata: TableMetadata, io: FileIO, branch: str) -> Snapshot | None:
    """Return the newest ledger snapshot that was committed with an ancestor of the head.

    Expired ancestors are looked up in earlier metadata files. If these are gone too, it is the
    newest ledger snapshot that is older than the known ancestors.
    """
    ledgers = {
        int(snapshot.summary[OF_SNAPSHOT]): snapshot
        for snapshot in metadata.snapshots.values()
        if OF_SNAPSHOT in snapshot.summary
    }
    lineage, last = Lineage(metadata, branch, io), None
    for ancestor in chain(lineage.reachable, lineage.expired() if ledgers else ()):
        if ancestor.snapshot_id in ledgers:
            return ledgers[ancestor.snapshot_id]
        if HAS_LEDGER in ancestor.summary:
            _check_forgotten(metadata, ancestor, branch)
        last = ancestor
    if last is None or last.parent_snapshot_id is None:
        return None
    if last.parent_snapshot_id in ledgers:
        return ledgers[last.parent_snapshot_id]
    older = [
        snapshot for snapshot in ledgers.values() if snapshot.sequence_number < last.sequence_number
    ]
    return max(older, key=lambda ancestor: ancestor.sequence_number, default=None)


def _check_forgotten(metadata: TableMetadata, snapshot: Snapshot, branch: str) -> None:
    if text_property(metadata.properties, CDC_MISSING_LEDGER) != "forget":
        raise ValidationException(
            f"Snapshot {snapshot.snapshot_id} of {metadata.location} has a ledger of deletes, and "
            f"the branch '{ledger_branch(branch)}' that held it is gone; set the table property "
            f"'{CDC_MISSING_LEDGER}' to 'forget' to go on without"
        )


@dataclass(frozen=True, slots=True)
class CdcLimits:
    """Which engine applies changes, and when the ledger's files are merged."""

    here_rows: int = 100_000
    """Rows of a DataFrame up to which the driver collects and applies them itself."""
    task_rows: int = 200_000
    """Changes for each task on Spark, about."""
    ledger_files: int = 8
    """Number of files of about one size from which on they are merged."""
    ledger_growth: int = 8
    """The ratio between two sizes of files."""
    least_rows: int = 1_000
    """Rows of a ledger file of the smallest size, about."""
    merged_rows: int = 2_000_000
    """Rows of the ledger in memory during a merge; more are read in portions."""


CDC = CdcLimits()


@dataclass(frozen=True, slots=True)
class LedgerChange:
    """Files added to and removed from a ledger, and the action that commits them."""

    ledger: Ledger
    branch: str | None
    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the ledger does not change."""
        return not self.added

    def action(self) -> LedgerFiles:
        """Return the action; it follows the data's action."""
        snapshot = self.ledger.snapshot
        return LedgerFiles(
            self.added,
            self.removed,
            branch=self.branch,
            planned=self.ledger.head,
            parent=None if snapshot is None else snapshot.snapshot_id,
            spec=unpartitioned_spec(self.ledger.metadata),
            about=self.ledger.notes.about,
        )


def write_notes(
    ledger: Ledger,
    context: WriteContext,
    notes: pa.Table,
    branch: str | None,
    written: Sequence[DataFile] = (),
) -> LedgerChange:
    """Write rows of a ledger; merges its files if many have about the same size.

    `written` are files of rows that tasks have written already.
    """
    added = list(written)
    own = ledger.write_context(context)
    if notes.num_rows:
        added += write_data_files(own, ledger.io, _ordered(notes).to_batches(), TaskId())
    if not added:
        return LedgerChange(ledger, branch)
    merged, removed = _merged(ledger, own)
    return LedgerChange(ledger, branch, (*added, *merged), removed)


def _ordered(notes: pa.Table) -> pa.Table:
    """Return rows by key, so that readers can skip other keys."""
    names = [field.name for field in notes.schema if field.name not in (KIND, SEQUENCE)][:-1]
    return notes.sort_by([(name, "ascending") for name in names])


def _merged(
    ledger: Ledger, context: WriteContext
) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...]]:
    """Merge files of about the same size, from the smallest on."""
    if ledger.snapshot is None:
        return (), ()
    plan = ledger.scan()
    for _, group in groupby(sorted(plan, key=_size), key=_size):
        files = list(group)
        if len(files) >= CDC.ledger_files:
            return _rewritten(ledger, context, plan, files), tuple(map(data_file, files))
    return (), ()


def _size(task: FileScanTask) -> int:
    return max(0, int(log(max(task.record_count, 1) / CDC.least_rows, CDC.ledger_growth)))


def _rewritten(
    ledger: Ledger, context: WriteContext, plan: ScanPlan, files: Sequence[FileScanTask]
) -> tuple[DataFile, ...]:
    """Write the rows of files that still apply, a portion of the keys at a time."""
    portions = ceil(sum(task.record_count for task in files) / CDC.merged_rows)
    written: list[DataFile] = []
    for portion in range(portions):
        rows = [to_arrow(ledger.schema).empty_table()]
        for task in files:
            batches = read_task(plan.context, ledger.io, task)
            rows += [_of_portion(ledger, batch, portion, portions) for batch in batches]
        counting = _that_count(ledger, pa.concat_tables(rows).combine_chunks())
        written += write_data_files(
            context, ledger.io, _ordered(counting).to_batches(), TaskId(1 + portion)
        )
    return tuple(written)


def _of_portion(ledger: Ledger, batch: pa.RecordBatch, portion: int, portions: int) -> pa.Table:
    rows = pa.Table.from_batches([batch])
    if portions == 1:
        return rows
    hashes = hash_rows(key_frame(batch, ledger.notes.plan.keys))
    return rows.filter(pa.array(hashes % portions == portion))


def _that_count(ledger: Ledger, rows: pa.Table) -> pa.Table:
    """Leave out rows that no longer apply: without a history, all but each key's last."""
    keys = key_columns(ledger.notes.plan.keys)
    kind = to_arrow_type(ledger.notes.plan.sequence_type)
    frame: Frame = key_frame(rows, ledger.notes.plan.keys).with_columns(
        series(rows.column(SEQUENCE), kind).alias("seq"),
        series(rows.column(KIND), pa.int32()).alias("kind"),
    )
    column = pl.when(pl.col("kind") >= COLUMN).then(pl.col("kind")).otherwise(0)
    frame = frame.with_columns(column.alias("column"))
    frame = frame.with_row_index("at").sort("seq", "kind", maintain_order=True)
    same: list[Any] = [*keys, "seq", "kind"]
    if not ledger.notes.plan.history:
        frame = frame.with_columns((pl.col("kind") == TRUNCATED).alias("all"))
        same = [*keys, "all", "column"]
    last = frame.unique(subset=same, keep="last").sort("at").get_column("at").to_numpy()
    last_rows = rows.take(pa.array(last))
    return last_rows.filter(pc.fill_null(ledger.notes.remembered(last_rows), fill_value=True))
