"""Changes by key applied to a table by this process: read, decide, write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.commits.ledger_files import HAS_LEDGER
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.lazy import LazyModule
from iceberg_spark.row_level.cdc_current import decide_current
from iceberg_spark.row_level.cdc_decision import Decision, KeyState
from iceberg_spark.row_level.cdc_events import Events
from iceberg_spark.row_level.cdc_frames import Frame, key_columns, key_frame, series
from iceberg_spark.row_level.cdc_gaps import has_gaps
from iceberg_spark.row_level.cdc_history import decide_history
from iceberg_spark.row_level.cdc_ledger import Ledger
from iceberg_spark.row_level.cdc_notes import Notes
from iceberg_spark.row_level.cdc_plan import END_AT, CdcPlan
from iceberg_spark.row_level.key_ranges import ranges_of
from iceberg_spark.row_level.ledger_writes import LedgerChange, write_notes
from iceberg_spark.row_level.replaced_rows import replace_rows
from iceberg_spark.row_level.row_level_change import ChangedRows, PlannedChange, RowVerb
from iceberg_spark.row_level.stored_rows import ScannedKeys
from iceberg_spark.row_level.target_files import target_files
from iceberg_spark.spec.types import NestedField
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.lineage import lineage_names

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
    row_filter: Unbound | None = ranges_of(plan.schema, events.keys)
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
