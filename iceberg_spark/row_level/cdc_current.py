"""Changes applied to a table with the newest row of each key (type 1).

A change applies if it is later than everything known of its key: the row's last change, a delete, a
truncation. So neither the batch of a change nor its repetition matters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.lazy import LazyModule
from iceberg_spark.row_level.cdc_decision import Decision, KeyState, with_row_ids
from iceberg_spark.row_level.cdc_events import Events, event_frame
from iceberg_spark.row_level.cdc_frames import Frame, key_columns, key_frame, longs, series
from iceberg_spark.row_level.cdc_gaps import FilledRows, fill_gaps, has_gaps
from iceberg_spark.row_level.cdc_notes import COLUMN, DELETED, KIND, LIVE, SEQUENCE, Notes
from iceberg_spark.row_level.cdc_plan import CdcPlan

pl = LazyModule("polars")


def decide_current(plan: CdcPlan, events: Events, state: KeyState, ledger: Notes) -> Decision:
    """Return the effect of changes on rows that are unique by key."""
    rows = _known_rows(plan, state)
    last = _with_known(plan, _last(plan, events), rows, state)
    done = last.filter(_applies(plan, state))
    gone = rows.join(done, on=key_columns(plan.keys), how="semi").sort("at")
    upserts = done.filter(~pl.col("delete")).sort("n")
    places = pa.array(upserts.get_column("place").to_arrow()).cast(pa.int64())
    updated = upserts.get_column("times").is_not_null().sum()
    decision = Decision(
        longs(gone, "at"),
        events.rows,
        _notes(plan, events, done, ledger),
        inserted=upserts.height - updated,
        updated=updated,
        deleted=int(done.filter(pl.col("delete")).get_column("times").sum()),
    )
    if not has_gaps(events, state.ledger):
        written = events.rows.take(pa.array(longs(upserts, "row")))
        return replace(decision, rows=with_row_ids(written, state.rows, places))
    stays = rows.join(done, on=key_columns(plan.keys), how="anti")
    filled = fill_gaps(plan, events, state, upserts, _with_held(plan, stays, state), ledger)
    return _with_late(decision, filled, state, places)


def _with_late(
    decision: Decision, filled: FilledRows, state: KeyState, places: pa.Array
) -> Decision:
    """Return a decision with the rows that get values of late changes."""
    late = filled.places.to_numpy()
    return replace(
        decision,
        gone=np.sort(np.concatenate([decision.gone, late])),
        rows=with_row_ids(
            pa.concat_tables([filled.written, filled.late]).combine_chunks(),
            state.rows,
            pa.concat_arrays([places, filled.places]),
        ),
        notes=pa.concat_tables([decision.notes, filled.notes]).combine_chunks(),
        updated=decision.updated + len(late),
    )


def _last(plan: CdcPlan, events: Events) -> Frame:
    """Return the last change of each key."""
    keys = key_columns(plan.keys)
    frame = event_frame(plan, events)
    newest = pl.col("seq") == pl.col("seq").max().over(keys)
    return frame.filter(newest).unique(subset=keys, keep="first", maintain_order=True)


def _known_rows(plan: CdcPlan, state: KeyState) -> Frame:
    """Return the table's rows: keys, `held` (their sequence), `row_numbers` (their position)."""
    frame = key_frame(state.rows, plan.keys)
    kind = to_arrow_type(plan.sequence_type)
    if plan.sequence is None:
        held = pl.Series("held", pl.from_arrow(pa.nulls(frame.height, kind)))
    else:
        held = series(state.rows.column(plan.sequence.name), kind).alias("held")
    row_numbers = pl.Series("at", np.arange(state.rows.num_rows, dtype=np.int64))
    return frame.with_columns(held, row_numbers)


def _with_known(plan: CdcPlan, last: Frame, rows: Frame, state: KeyState) -> Frame:
    """Add the state of its key to each change: `held`, `times`, `place`, `noted`."""
    keys = key_columns(plan.keys)
    stored = rows.group_by(keys).agg(
        pl.col("held").max(), pl.len().alias("times"), pl.col("at").min().alias("place")
    )
    noted = _noted(plan, state)
    return last.join(stored, on=keys, how="left").join(noted, on=keys, how="left")


def _noted(plan: CdcPlan, state: KeyState) -> Frame:
    """Return the last change of each key in the ledger."""
    own = state.ledger.filter(pc.less(state.ledger.column(KIND), COLUMN))
    kind = to_arrow_type(plan.sequence_type)
    noted = series(own.column(SEQUENCE), kind).alias("noted")
    notes = key_frame(own, plan.keys).with_columns(noted)
    return notes.group_by(key_columns(plan.keys)).agg(pl.col("noted").max())


def _with_held(plan: CdcPlan, rows: Frame, state: KeyState) -> Frame:
    """Return rows with the sequence of their last change, which may come from the ledger."""
    if plan.sequence is not None:
        return rows
    noted = _noted(plan, state).rename({"noted": "held"})
    return rows.drop("held").join(noted, on=key_columns(plan.keys), how="left")


def _applies(plan: CdcPlan, state: KeyState) -> Any:
    """Return the expression that selects the changes that apply.

    A row older than a delete is removed even if the ledger has that delete: another writer added
    the row since.
    """
    later = pl.col("held").is_null() | (pl.col("seq") > pl.col("held"))
    unknown = pl.col("noted").is_null() | (pl.col("seq") > pl.col("noted"))
    if state.truncated_at is not None:
        unknown = unknown & (pl.col("seq") >= pl.lit(state.truncated_at.as_py()))
    if plan.sequence is None:
        return later & unknown
    there = pl.col("delete") & pl.col("held").is_not_null()
    return later & (there | unknown)


def _notes(plan: CdcPlan, events: Events, done: Frame, ledger: Notes) -> pa.Table:
    """Return the new ledger rows: deletes, and sequences that no column stores."""
    newer = pl.col("noted").is_null() | (pl.col("seq") > pl.col("noted"))
    noted = done.filter(newer if plan.sequence is None else newer & pl.col("delete")).sort("n")
    indices = pa.array(longs(noted, "n"))
    kinds = np.where(noted.get_column("delete").to_numpy(), DELETED, LIVE)
    return ledger.note(events.keys.take(indices), events.sequence.take(indices), kinds)
