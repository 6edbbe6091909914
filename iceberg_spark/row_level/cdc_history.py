"""Changes applied to a table with all rows of each key over time (type 2).

The rows of a key and its ledger rows are the changes that produced them. New changes are inserted
by their sequence, and the rows are computed again. So neither the batch of a change nor its
repetition matters. Upserts that change nothing produce no row, and deletes may end none. The ledger
records both, since a late change may fall before them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow, to_arrow_type
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.row_level.cdc_decision import Decision, KeyState, with_row_ids
from iceberg_spark.row_level.cdc_events import Events, event_frame
from iceberg_spark.row_level.cdc_frames import (
    Frame,
    flat,
    key_columns,
    key_frame,
    longs,
    rows_equal,
    series,
)
from iceberg_spark.row_level.cdc_notes import DELETED, KIND, SAME, SEQUENCE, Notes
from iceberg_spark.row_level.cdc_plan import END_AT, START_AT, CdcPlan
from iceberg_spark.spec.arguments import format_value

pl = LazyModule("polars")

_ROW, _END, _NOTED_DELETE, _NOTED_SAME, _NEW = range(5)
"""Where a change is known from; of those with one key and sequence the first counts."""


def decide_history(plan: CdcPlan, events: Events, state: KeyState, ledger: Notes) -> Decision:
    """Return the effect of changes on a history."""
    columns = to_arrow(plan.schema).names
    stored = state.rows.select(columns)
    every = pa.concat_tables([stored.cast(to_arrow(plan.schema)), events.rows]).combine_chunks()
    line = _timeline(plan, events, state)
    line = _with_ends(plan, line, every)
    keys = [table.select(list(plan.key_names)) for table in (state.rows, events.keys)]
    notes = _notes(plan, line, pa.concat_tables(keys).combine_chunks(), ledger)
    return _decision(line, every, state, notes)


def _timeline(plan: CdcPlan, events: Events, state: KeyState) -> Frame:
    """Return all changes of the keys in order: keys, `seq`, `source`, `delete`, `row`, `until`.

    `row` is the position of the values among the known rows and then the new ones, -1 for deletes.
    `key_at` is the position of the key among the known rows and then the events.
    """
    keys, kind = key_columns(plan.keys), to_arrow_type(plan.sequence_type)
    count = state.rows.num_rows
    rows = key_frame(state.rows, plan.keys).with_columns(
        series(state.rows.column(START_AT), kind).alias("seq"),
        series(state.rows.column(END_AT), kind).alias("until"),
        pl.Series("row", np.arange(count, dtype=np.int64)),
        pl.Series("key_at", np.arange(count, dtype=np.int64)),
    )
    _refuse_same_starts(plan, rows)
    names = [*keys, "seq", "until", "row", "source", "key_at"]
    starts = rows.with_columns(pl.lit(_ROW).alias("source")).select(names)
    ends = (
        rows.filter(pl.col("until").is_not_null())
        .with_columns(
            pl.col("until").alias("seq"),
            pl.lit(-1, pl.Int64).alias("row"),
            pl.lit(_END).alias("source"),
        )
        .select(names)
    )
    new = event_frame(plan, events).with_columns(
        pl.lit(None, starts.schema["until"]).alias("until"),
        pl.when(pl.col("delete")).then(-1).otherwise(pl.col("row") + count).alias("row"),
        pl.lit(_NEW).alias("source"),
        (pl.col("n") + count).alias("key_at"),
    )
    noted = _noted(plan, state, starts)
    line = pl.concat([starts, ends, noted.select(names), new.select(names)])
    ordered = line.sort([*keys, "seq", "source"], nulls_last=False, maintain_order=True)
    return ordered.unique(subset=[*keys, "seq"], keep="first", maintain_order=True).with_columns(
        (pl.col("row") < 0).alias("delete")
    )


def _refuse_same_starts(plan: CdcPlan, rows: Frame) -> None:
    """Raise InvalidInputError for stored rows of a key with the same start: all but one would go.

    Rows from before the table was a history have no start.
    """
    names = [*key_columns(plan.keys), "seq"]
    same = rows.filter(rows.select(names).is_duplicated())
    if not same.is_empty():
        key = dict(zip(plan.key_names, same.select(names[:-1]).row(0), strict=True))
        raise InvalidInputError(
            f"The table has {len(same):,} rows of keys that change with the same {START_AT}, as of "
            f"{format_value(key)}: their order is unknown. Leave one of each, or give them "
            f" different values of {START_AT}"
        )


def _noted(plan: CdcPlan, state: KeyState, starts: Frame) -> Frame:
    """Return the ledger rows of the keys; upserts with the values of their row."""
    keys, kind = key_columns(plan.keys), to_arrow_type(plan.sequence_type)
    notes = key_frame(state.ledger, plan.keys).with_columns(
        series(state.ledger.column(SEQUENCE), kind).alias("seq"),
        series(state.ledger.column(KIND), pa.int32()).alias("kind"),
    )
    notes = notes.with_columns(
        pl.lit(None, starts.schema["until"]).alias("until"), pl.lit(-1, pl.Int64).alias("key_at")
    )
    deletes = notes.filter(pl.col("kind") == DELETED).with_columns(
        pl.lit(-1, pl.Int64).alias("row"), pl.lit(_NOTED_DELETE).alias("source")
    )
    same = notes.filter(pl.col("kind") == SAME).with_columns(
        pl.lit(None, pl.Int64).alias("row"), pl.lit(_NOTED_SAME).alias("source")
    )
    names = [*keys, "seq", "until", "row", "source", "key_at"]
    both = pl.concat([starts.select(names), same.select(names)])
    both = both.sort([*keys, "seq", "source"], nulls_last=False, maintain_order=True)
    filled = both.with_columns(pl.col("row").forward_fill().over(keys))
    within = starts.select("row", pl.col("until").alias("within"))
    filled = filled.filter(pl.col("source") == _NOTED_SAME).join(within, on="row", how="left")
    lies = pl.col("row").is_not_null() & (
        pl.col("within").is_null() | (pl.col("seq") < pl.col("within"))
    )
    within_rows = filled.filter(lies)
    return pl.concat([deletes.select(names), within_rows.select(names)])


def _with_ends(plan: CdcPlan, line: Frame, every: pa.Table) -> Frame:
    """Add whether each change begins a row (`heads`), and when that row ends (`end`)."""
    keys = key_columns(plan.keys)
    line = line.with_columns(pl.Series("goes_on", _goes_on(plan, line, every)))
    heads = line.filter(~pl.col("goes_on"))
    heads = heads.with_columns(
        pl.col("seq").shift(-1).over(keys).alias("end"),
        (~pl.col("delete").shift(1).over(keys)).fill_null(value=False).alias("ends_row"),
    )
    going = line.filter(pl.col("goes_on")).with_columns(
        pl.lit(None, line.schema["seq"]).alias("end"), pl.lit(False).alias("ends_row")
    )
    return pl.concat([heads, going])


def _goes_on(plan: CdcPlan, line: Frame, every: pa.Table) -> npt.NDArray[np.bool_]:
    """Return which upserts have the values of the upsert before them."""
    keys = key_columns(plan.keys)
    before = line.select(
        pl.col("row").shift(1).over(keys).fill_null(-1).alias("before"), pl.col("row")
    )
    before_rows, rows = longs(before, "before"), longs(before, "row")
    goes_on = (before_rows >= 0) & (rows >= 0)
    both = np.flatnonzero(goes_on & (before_rows != rows))
    payload = every.select([field.name for field in plan.payload])
    goes_on[both] = rows_equal(payload, before_rows[both], rows[both])
    return goes_on


def _decision(line: Frame, every: pa.Table, state: KeyState, notes: pa.Table) -> Decision:
    heads = line.filter(~pl.col("goes_on") & ~pl.col("delete"))
    unchanged = (pl.col("source") == _ROW) & pl.col("end").eq_missing(pl.col("until"))
    stays = longs(heads.filter(unchanged), "row")
    gone = np.setdiff1d(np.arange(state.rows.num_rows, dtype=np.int64), stays)
    changed = heads.filter(~unchanged)
    rows_of_changed = longs(changed, "row")
    rows = every.take(pa.array(rows_of_changed))
    rows = _set(rows, START_AT, changed.get_column("seq"))
    rows = _set(rows, END_AT, changed.get_column("end"))
    of_rows = (changed.get_column("source") == _ROW).to_numpy()
    indices = pa.array(rows_of_changed, mask=~of_rows)
    updated = int(of_rows.sum())
    return Decision(
        gone,
        with_row_ids(rows, state.rows, indices),
        notes,
        inserted=len(rows_of_changed) - updated,
        updated=updated,
        deleted=len(gone) - updated,
    )


def _set(rows: pa.Table, name: str, values: Any) -> pa.Table:
    index = rows.schema.get_field_index(name)
    kind = rows.schema.field(index).type
    column = flat(pa.chunked_array([values.to_arrow()])).cast(kind)
    return rows.set_column(index, rows.schema.field(index), column)


def _notes(plan: CdcPlan, line: Frame, keys: pa.Table, ledger: Notes) -> pa.Table:
    """Return the changes that no row shows and that the ledger lacks."""
    deletes = pl.col("delete") & ~pl.col("ends_row") & (pl.col("source") != _NOTED_DELETE)
    same = pl.col("goes_on") & (pl.col("source") != _NOTED_SAME)
    noted = line.filter(deletes | same)
    kinds = np.where(noted.get_column("delete").to_numpy(), DELETED, SAME)
    kind = to_arrow_type(plan.sequence_type)
    sequence = flat(pa.chunked_array([noted.get_column("seq").to_arrow()])).cast(kind)
    return ledger.note(keys.take(pa.array(longs(noted, "key_at"))), sequence, kinds)
