"""Values that the source left out of an upsert: the row keeps its earlier values (type 1).

A column that an upsert leaves out gets the value of the latest earlier change that has one: from
this batch, or from the stored row. The ledger records the sequence of that change. So a late change
still applies to the column, although the row is of a newer change. An example, with `b` left out at
30:

    insert 10 (a=1, b=x), update 30 (a=3)     row (3, x); the ledger has: b is of 10
    update 20 (a=2, b=y), late                row (3, y); the ledger has: b is of 20
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import to_arrow, to_arrow_type
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.row_level.cdc_decision import KeyState
from iceberg_spark.row_level.cdc_events import Events, event_frame
from iceberg_spark.row_level.cdc_frames import Frame, flat, key_columns, key_frame, longs, series
from iceberg_spark.row_level.cdc_notes import COLUMN, DELETED, KIND, SEQUENCE, Notes
from iceberg_spark.row_level.cdc_plan import CdcPlan

pl = LazyModule("polars")


@dataclass(frozen=True, slots=True)
class FilledRows:
    """Rows with the values that were left out.

    `written` are the rows of the upserts. `late` are stored rows, at `places`, that get other
    values from a late change. `notes` go to the ledger.
    """

    written: pa.Table
    late: pa.Table
    places: pa.Array
    notes: pa.Table


def has_gaps(events: Events, ledger: pa.Table) -> bool:
    """Return whether changes, or earlier changes of their keys, left out values."""
    noted = pc.greater_equal(ledger.column(KIND), COLUMN)
    return bool(events.gaps) or bool(pc.any(noted, min_count=0).as_py())


def fill_gaps(
    plan: CdcPlan, events: Events, state: KeyState, upserts: Frame, stays: Frame, ledger: Notes
) -> FilledRows:
    """Return the rows of upserts, and of late changes to rows that stay, with all values.

    `upserts` are the changes that apply, in the order of the rows to write. `stays` are the rows of
    other keys: key, `held`, `at`. Raises InvalidInputError if a value is known nowhere.
    """
    filler = _Filler(plan, events, state, ledger)
    count = state.rows.num_rows
    targets = pl.concat(
        [
            upserts.select(
                *filler.keys,
                pl.col("seq").alias("until"),
                pl.col("row") + count,
                (pl.col("n") + count).alias("key_at"),
            ),
            stays.select(
                *filler.keys,
                pl.col("held").alias("until"),
                pl.col("at").alias("row"),
                pl.col("at").alias("key_at"),
            ),
        ]
    )
    targets = targets.with_columns(pl.Series("target", np.arange(targets.height, dtype=np.int64)))
    return filler.fill(targets, upserts.height)


class _Filler:
    """Finds the latest value, up to the row's sequence, of each column and row."""

    def __init__(self, plan: CdcPlan, events: Events, state: KeyState, ledger: Notes) -> None:
        self._plan, self._events, self._state, self._ledger = plan, events, state, ledger
        self.keys = key_columns(plan.keys)
        self._kind = to_arrow_type(plan.sequence_type)
        self._changes = event_frame(plan, events)
        self._noted = key_frame(state.ledger, plan.keys).with_columns(
            series(state.ledger.column(SEQUENCE), self._kind).alias("noted"),
            series(state.ledger.column(KIND), pa.int32()).alias("kind"),
        )

    def fill(self, targets: Frame, written: int) -> FilledRows:
        """Return the rows of targets; the first `written` of them are those of upserts."""
        plan, state = self._plan, self._state
        stored = state.rows.select([field.name for field in plan.schema.fields])
        rows = longs(targets, "row")
        sources = {field.name: rows for field in plan.schema.fields}
        notes = [to_arrow(self._ledger.schema).empty_table()]
        for field in plan.schema.fields:
            chosen = self._chosen(field.name, field.field_id, targets)
            if not chosen.height:
                continue
            source = rows.copy()
            source[longs(chosen, "target")] = longs(chosen, "value")
            sources[field.name] = source
            notes.append(self._notes(field.field_id, chosen))
        columns = [
            _taken(stored.column(name), self._events.rows.column(name), source)
            for name, source in sources.items()
        ]
        changed = np.zeros(len(rows), bool)
        for source in sources.values():
            changed |= source != rows
        late = np.flatnonzero(changed[written:]) + written
        filled = pa.Table.from_arrays(columns, schema=to_arrow(plan.schema))
        return FilledRows(
            filled.slice(0, written),
            filled.take(pa.array(late)),
            pa.array(rows[late]),
            pa.concat_tables(notes),
        )

    def _chosen(self, name: str, number: int, targets: Frame) -> Frame:
        """Return `value`, its `since`, and `noted` if any, for targets with a gap in a column.

        `value` counts the stored rows first, then those of the events.
        """
        own = self._noted.filter(pl.col("kind") == COLUMN + number)
        own = own.group_by(self.keys).agg(pl.col("noted").max())
        gaps = self._events.gaps.get(name)
        count = self._state.rows.num_rows
        places = np.zeros(0, np.int64) if gaps is None else np.flatnonzero(gaps) + count
        gap_rows = pl.DataFrame({"row": places, "is_gap": np.ones(len(places), bool)})
        targets = targets.join(own, on=self.keys, how="left").join(gap_rows, on="row", how="left")
        open_targets = targets.filter(
            pl.col("noted").is_not_null() | pl.col("is_gap").is_not_null()
        )
        if not open_targets.height:
            return open_targets
        candidates = self._candidates(own, gap_rows)
        before = pl.col("since").is_null() | (pl.col("since") <= pl.col("until"))
        chosen = (
            open_targets.drop("row")
            .join(candidates, on=self.keys, how="left")
            .filter(before)
            .sort("since", "rank", nulls_last=False, maintain_order=True)
            .unique(subset=["target"], keep="last", maintain_order=True)
        )
        self._check(name, open_targets, chosen)
        return chosen

    def _candidates(self, noted: Frame, gap_rows: Frame) -> Frame:
        """Return the positions of a column's values with `since`; -1 for none after a delete."""
        names = [*self.keys, "since", "value", "rank"]
        count = self._state.rows.num_rows
        stored = self._stored().join(noted, on=self.keys, how="left")
        stored = stored.with_columns(
            pl.coalesce("noted", "held").alias("since"),
            pl.col("at").alias("value"),
            pl.lit(0).alias("rank"),
        )
        truncated_at = self._truncated_at()
        if truncated_at is not None:
            stored = stored.filter(pl.col("since") >= pl.lit(truncated_at))
        changes = self._changes.with_columns(
            pl.col("seq").alias("since"),
            pl.when(pl.col("delete")).then(-1).otherwise(pl.col("row") + count).alias("value"),
            pl.lit(1).alias("rank"),
        ).join(gap_rows, left_on="value", right_on="row", how="anti")
        deletes = self._noted.filter(pl.col("kind") == DELETED).with_columns(
            pl.col("noted").alias("since"),
            pl.lit(-1, pl.Int64).alias("value"),
            pl.lit(1).alias("rank"),
        )
        return pl.concat([part.select(names) for part in (stored, changes, deletes)])

    def _stored(self) -> Frame:
        rows, plan = self._state.rows, self._plan
        row_numbers = pl.Series("at", np.arange(rows.num_rows, dtype=np.int64))
        frame = key_frame(rows, plan.keys).with_columns(row_numbers)
        if plan.sequence is None:
            last = self._noted.filter(pl.col("kind") < COLUMN).group_by(self.keys)
            held = last.agg(pl.col("noted").max().alias("held"))
            return frame.join(held, on=self.keys, how="left")
        held = series(rows.column(plan.sequence.name), self._kind).alias("held")
        return frame.with_columns(held)

    def _truncated_at(self) -> Any | None:
        both = (self._state.truncated_at, self._events.truncated_at)
        return max((mark.as_py() for mark in both if mark is not None), default=None)

    def _check(self, name: str, open_targets: Frame, chosen: Frame) -> None:
        there = chosen.filter(pl.col("value") >= 0)
        missing = open_targets.join(there.select("target"), on="target", how="anti")
        if missing.height:
            key = dict(zip(self._plan.key_names, missing.select(self.keys).row(0), strict=True))
            raise InvalidInputError(
                f"Column '{name}': the change of the key {key} with the sequence "
                f"{missing.get_column('until')[0]} leaves out its value, and no earlier change or "
                "stored row has it. Take a new snapshot of the row, or set REPLICA IDENTITY FULL"
            )

    def _notes(self, number: int, chosen: Frame) -> pa.Table:
        """Return the new ledger rows: the columns that are of another change than the row."""
        since = pl.col("since")
        is_other = pl.col("noted").is_null() & (since < pl.col("until"))
        is_newer = pl.col("noted").is_not_null() & (since > pl.col("noted"))
        noted = chosen.filter(since.is_not_null() & (is_other | is_newer))
        indices = pa.array(longs(noted, "key_at"))
        sequence = flat(pa.chunked_array([noted.get_column("since").to_arrow()])).cast(self._kind)
        kinds = np.full(len(indices), COLUMN + number)
        return self._ledger.note(self._keys().take(indices), sequence, kinds)

    def _keys(self) -> pa.Table:
        """Return the keys of the stored rows, then those of the events."""
        names = list(self._plan.key_names)
        keys = self._events.keys
        return pa.concat_tables([self._state.rows.select(names).cast(keys.schema), keys])


def _taken(stored: Any, new: Any, places: Any) -> pa.Array:
    """Return values of two columns by position; the stored ones come first."""
    pool = pa.concat_arrays([flat(stored).cast(flat(new).type), flat(new)])
    return pool.take(pa.array(places))
