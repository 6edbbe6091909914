"""Changes by key applied to a table by this process: read, decide, write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.arrays import null_column
from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.arrow.schema import to_arrow, to_arrow_type
from iceberg_spark.commits.ledger_files import HAS_LEDGER
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyModule
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.row_level.cdc_current import decide_current
from iceberg_spark.row_level.cdc_decision import Decision, KeyState
from iceberg_spark.row_level.cdc_events import Events
from iceberg_spark.row_level.cdc_frames import Frame, Longs, key_columns, key_frame, series
from iceberg_spark.row_level.cdc_gaps import has_gaps
from iceberg_spark.row_level.cdc_history import decide_history
from iceberg_spark.row_level.cdc_ledger import Ledger, LedgerChange, write_notes
from iceberg_spark.row_level.cdc_notes import Notes
from iceberg_spark.row_level.cdc_plan import END_AT, CdcPlan
from iceberg_spark.row_level.key_ranges import ranges_of
from iceberg_spark.row_level.position_deletes import DeletesWriter, deletes_context
from iceberg_spark.row_level.row_level_change import (
    ChangedRows,
    PlannedChange,
    RowChange,
    RowLevelMode,
    RowVerb,
)
from iceberg_spark.row_level.target_files import Target, target_files
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.reserved import LINEAGE, POS, ROW_ID
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField
from iceberg_spark.write.align_columns import AlignOptions, align_batches
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.lineage import keeping_lineage, keeps_lineage, lineage_names, with_lineage
from iceberg_spark.write.sorted_files import write_sorted_files

pl = LazyModule("polars")


@dataclass(frozen=True, slots=True)
class CdcChange:
    """The effect of changes by key on the rows and on the ledger."""

    planned: PlannedChange
    notes: LedgerChange

    def verb(self, verb: RowVerb) -> RowVerb:
        """Return the verb; if there is a ledger, its snapshot names it."""
        if self.notes.is_empty:
            return verb
        properties = {**(verb.snapshot_properties or {}), HAS_LEDGER: self.notes.ledger.branch}
        return replace(verb, snapshot_properties=properties)


def decide(notes: Notes, events: Events, state: KeyState) -> Decision:
    """Return the decision about the keys of some changes."""
    if notes.plan.history:
        return decide_history(notes.plan, events, state, notes)
    return decide_current(notes.plan, events, state, notes)


def known_columns(plan: CdcPlan) -> tuple[NestedField, ...]:
    """Return the columns of a table that the decision about a key needs."""
    if plan.history or plan.needs_values:
        return plan.schema.fields
    own = () if plan.sequence is None or plan.sequence in plan.keys else (plan.sequence,)
    return (*plan.keys, *own)


def wanted_keys(plan: CdcPlan, events: Events) -> Frame:
    """Return the distinct keys of changes, with the `least` sequence of each."""
    frame = key_frame(events.keys, plan.keys)
    kind = to_arrow_type(plan.sequence_type)
    with_sequence = frame.with_columns(series(events.sequence, kind).alias("least"))
    return with_sequence.group_by(key_columns(plan.keys)).agg(pl.col("least").min())


def apply_here(
    verb: RowVerb, context: WriteContext, plan: CdcPlan, events: Events, ledger: Ledger
) -> CdcChange:
    """Return the change of the events. Memory holds them and the rows of their keys."""
    row_filter: Unbound | None = ranges_of(plan.schema, events.keys, verb.metadata.properties)
    target = target_files(verb.metadata, verb.io, row_filter, verb.target_options)
    scanned = ScannedKeys(
        target,
        verb.io,
        plan.keys,
        row_ids=bool(lineage_names(context)),
        since=END_AT if plan.history else None,
    )
    keys_of_events = wanted_keys(plan, events)
    noted = ledger.of_keys(events.keys, keys_of_events)
    plan = replace(plan, needs_values=has_gaps(events, noted))
    stored = scanned.find(keys_of_events, known_columns(plan))
    state = KeyState(stored.rows, noted, ledger.truncated_at())
    decision = decide(ledger.notes, events, state)
    change = replace_rows(
        stored.places(np.sort(decision.gone)), decision.rows, target, verb.io, context, verb.mode
    )
    counts = ChangedRows(decision.inserted, decision.updated, decision.deleted)
    noted = with_truncation(decision.notes, events.truncated_at, state.truncated_at, ledger.notes)
    notes = write_notes(ledger, context, noted, verb.branch)
    return CdcChange(PlannedChange(replace(change, counts=counts), row_filter), notes)


def with_truncation(
    notes_of_keys: pa.Table, truncated_at: Any | None, before: Any | None, notes: Notes
) -> pa.Table:
    """Return ledger rows with the row of a truncation, if it is later than the known one."""
    if truncated_at is None or (before is not None and before.as_py() >= truncated_at.as_py()):
        return notes_of_keys
    return pa.concat_tables([notes_of_keys, notes.truncation(truncated_at)])


def replace_rows(
    replaced: Sequence[PlacedRows],
    rows: pa.Table,
    target: Target,
    io: FileIO,
    context: WriteContext,
    mode: RowLevelMode,
) -> RowChange:
    """Return the change that deletes rows at some positions and adds others.

    `rows` have the table's columns, and row ids if the table keeps them (NULL: a new row). Memory
    holds the positions, the rows and a batch of each rewritten file.
    """
    if mode.merge_on_read:
        return _with_deletes(replaced, rows, target, io, context, mode)
    touched = tuple(task for task, _ in replaced)
    partly = [(task, gone) for task, gone in replaced if gone.count < task.record_count]
    return RowChange(
        added_data=_written(
            context, io, rows, _remaining_rows(target.context, io, partly, context)
        ),
        removed_data=tuple(data_file(task) for task in touched),
    )


def _written(
    context: WriteContext, io: FileIO, rows: pa.Table, remaining: Iterator[pa.RecordBatch]
) -> tuple[DataFile, ...]:
    first = next(remaining, None)
    if first is None and not rows.num_rows:
        return ()
    writing = keeping_lineage(context)
    new = _with_lineage(rows, writing.schema).to_batches() if rows.num_rows else []
    old = remaining if first is None else chain([first], remaining)
    schema, options = writing.schema, AlignOptions()
    batches = chain(align_batches(schema, old, options), align_batches(schema, new, options))
    return write_sorted_files(writing, io, batches)


def _with_lineage(rows: pa.Table, schema: Schema) -> pa.Table:
    """Return new rows with all columns of a write: known row ids, and no last update."""
    for field in LINEAGE:
        if schema.get(field.field_id) is not None and field.name not in rows.column_names:
            rows = rows.append_column(field.name, null_column(rows.num_rows, pa.int64()))
    return rows.cast(to_arrow(schema))


def _remaining_rows(
    scanned: ScanContext, io: FileIO, files: Sequence[PlacedRows], context: WriteContext
) -> Iterator[pa.RecordBatch]:
    """Yield the remaining rows of files, with their lineage if they have one."""
    schema = context.schema
    if keeps_lineage(keeping_lineage(context)):
        schema = with_lineage(schema)
    reading = replace(
        scanned,
        read_schema=Schema(*schema.fields, POS),
        row_filter=ALWAYS_TRUE,
        checks_texts=False,
    )
    for task, gone in files:
        for batch in read_task(reading, io, replace(task, residual=ALWAYS_TRUE)):
            positions = batch.column(batch.num_columns - 1).to_numpy()
            first = int(positions[0])
            mask = gone.mask(first, int(positions[-1]) - first + 1)
            rows = batch.select(range(batch.num_columns - 1))
            if mask is not None:
                rows = rows.filter(pa.array(~mask[positions - first]))
            if rows.num_rows:
                yield rows


def _with_deletes(
    replaced_rows: Sequence[PlacedRows],
    rows: pa.Table,
    target: Target,
    io: FileIO,
    context: WriteContext,
    mode: RowLevelMode,
) -> RowChange:
    writer = DeletesWriter(
        deletes_context(context), target.metadata.partition_specs, mode.granularity
    )
    written: list[DataFile] = []
    replaced: list[DataFile] = []

    def group_of(rows_of_file: tuple[FileScanTask, PositionSet]) -> str:
        task = rows_of_file[0]
        if writer.makes_vectors:
            return ""
        partition = f"{task.spec_id} {task.partition!r}"
        return partition if mode.granularity == "partition" else f"{partition} {task.file_path}"

    for number, (_, group) in enumerate(groupby(sorted(replaced_rows, key=group_of), key=group_of)):
        new = writer.write(io, list(group), TaskId(number))
        written += new.written
        replaced += new.replaced
    return RowChange(
        added_data=_written(context, io, rows, iter(())),
        added_deletes=tuple(written),
        removed_deletes=tuple(replaced),
        referenced=tuple(task.file_path for task, _ in replaced_rows),
    )


# The rows of a table that have some keys, with their positions.
#
# They are found by a scan of the key columns. An index of keys would be another `KeyPlaces`, the
# only interface that changes of rows use.

PlacedRows = tuple[FileScanTask, PositionSet]


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a table, each with the index of its file in `files` and its position there."""

    rows: pa.Table
    files: tuple[FileScanTask, ...]
    file: Longs
    position: Longs

    def places(self, indices: Longs) -> tuple[PlacedRows, ...]:
        """Return the positions of some of the rows, by file."""
        placed_rows = []
        for number in np.unique(self.file[indices]).tolist():
            inside = indices[self.file[indices] == number]
            positions = PositionSet.from_positions(np.sort(self.position[inside]))
            placed_rows.append((self.files[number], positions))
        return tuple(placed_rows)


class KeyPlaces(Protocol):
    """Finds the rows of keys."""

    def find(self, keys: Frame, columns: Sequence[NestedField]) -> StoredRows:
        """Return the rows with one of the distinct `keys` (`key_frame`), with some columns."""
        ...


@dataclass(frozen=True, slots=True)
class ScannedKeys:
    """Finds keys by reading the key columns of a target's files, one after the other.

    With `since`, only rows count whose column of that name is NULL or not less than the key's own
    (column `least` of the keys). Memory holds the matching rows and a batch.
    """

    target: Target
    io: FileIO
    fields: tuple[NestedField, ...]
    row_ids: bool = False
    since: str | None = None

    def find(self, keys: Frame, columns: Sequence[NestedField]) -> StoredRows:
        """Return the rows of the keys."""
        lineage = (ROW_ID,) if self.row_ids else ()
        schema = Schema(*columns, *lineage, POS)
        context = replace(self.target.context, read_schema=schema, checks_texts=False)
        parts: list[Any] = [to_arrow(Schema(*columns, *lineage)).empty_table()]
        files: list[FileScanTask] = []
        numbers: list[Any] = [np.zeros(0, np.int64)]
        positions: list[Any] = [np.zeros(0, np.int64)]
        for task in self.target.plan:
            is_met = False
            for batch in read_task(context, self.io, task):
                indices = self._met(batch, keys)
                if not len(indices):
                    continue
                is_met = True
                rows = pa.Table.from_batches([batch]).take(pa.array(indices))
                parts.append(rows.drop_columns([POS.name]))
                positions.append(rows.column(POS.name).to_numpy())
                numbers.append(np.full(len(indices), len(files)))
            if is_met:
                files.append(task)
        return StoredRows(
            pa.concat_tables(parts).combine_chunks(),
            tuple(files),
            np.concatenate(numbers),
            np.concatenate(positions),
        )

    def _met(self, batch: pa.RecordBatch, keys: Frame) -> Longs:
        """Return the rows of a batch that have one of the keys."""
        names = key_columns(self.fields)
        frame = key_frame(batch, self.fields).with_row_index("at")
        if self.since is None:
            met = frame.join(keys.select(names), on=names, how="semi")
        else:
            since = pl.Series("since", pl.from_arrow(batch.column(self.since)))
            met = frame.with_columns(since).join(keys, on=names, how="inner")
            late = pl.col("since") >= pl.col("least").cast(since.dtype)
            met = met.filter(pl.col("since").is_null() | late)
        indices: Longs = met.get_column("at").to_numpy().astype(np.int64)
        return np.sort(indices)


def distinct_keys(rows: pa.Table, fields: Sequence[NestedField]) -> Frame:
    """Return the distinct keys of rows."""
    return key_frame(rows, fields).unique()


def positions_by_file(rows_of_files: Iterable[PlacedRows]) -> dict[str, PositionSet]:
    """Return positions by the path of their file."""
    return {task.file_path: positions for task, positions in rows_of_files}
