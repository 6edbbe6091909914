"""Files of the ledger of changes by key: new files, and merged ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, log
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.row_hashes import hash_rows
from iceberg_spark.arrow.schema import to_arrow, to_arrow_type
from iceberg_spark.commits.ledger_files import LedgerFiles
from iceberg_spark.lazy import LazyModule
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.row_level.cdc_frames import Frame, key_columns, key_frame, series
from iceberg_spark.row_level.cdc_ledger import Ledger, unpartitioned
from iceberg_spark.row_level.cdc_notes import COLUMN, KIND, SEQUENCE, TRUNCATED
from iceberg_spark.row_level.limits import CDC
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.data_file_writer import write_data_files

pl = LazyModule("polars")


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
            spec=unpartitioned(self.ledger.metadata),
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
