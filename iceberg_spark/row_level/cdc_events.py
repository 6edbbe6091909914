"""Changes by key and sequence as received: checked and cast to the table's columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import to_arrow, to_arrow_type
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.row_level.cdc_frames import (
    Longs,
    key_columns,
    key_frame,
    longs,
    rows_equal,
    series,
)
from iceberg_spark.row_level.cdc_plan import CdcPlan, find_top_level
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField
from iceberg_spark.write.align_columns import AlignOptions, align_batches
from iceberg_spark.write.cdc_messages import UNAVAILABLE

pl = LazyModule("polars")

SEQUENCE, OPERATION = "__iceberg_cdc_sequence", "__iceberg_cdc_operation"
"""Columns of given rows: what orders them, and what each does."""
UPSERT, DELETE, TRUNCATE = 0, 1, 2
Mask = npt.NDArray[np.bool_]
_SEQUENCE_ID = 2_147_480_000


@dataclass(frozen=True, slots=True)
class Events:
    """Changes: for each a key, a sequence, and whether it deletes the key's row.

    `rows` are the rows of upserts; `row_of` maps a change to its row (-1: none). A truncation
    deletes rows with a sequence below `truncated_at`, whatever their key. `gaps` maps columns to
    the rows that leave them out.
    """

    keys: pa.Table
    sequence: pa.Array
    deletes: npt.NDArray[np.bool_]
    rows: pa.Table
    row_of: Longs
    truncated_at: Any = None
    gaps: Mapping[str, Mask] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sequence)


def key_schema(plan: CdcPlan) -> Schema:
    """Return the key columns alone."""
    return Schema(*plan.keys)


def read_events(
    plan: CdcPlan, batches: Iterable[pa.RecordBatch], *, case_sensitive: bool = True
) -> Events:
    """Return the changes in rows that have `SEQUENCE` and `OPERATION` in addition to their columns.

    Raises:
        InvalidInputError: a key or a sequence is NULL, rows with equal key and sequence differ, or
            a value does not fit the table's column.
    """
    options = AlignOptions(case_sensitive=case_sensitive)
    parts = [_part(plan, batch, options) for batch in batches if batch.num_rows]
    rows = _table([part.rows for part in parts], to_arrow(plan.schema))
    gaps = _joined([(part.gaps, part.rows.num_rows) for part in parts])
    if plan.history and gaps:
        raise InvalidInputError(
            f"Column '{next(iter(gaps))}': some changes leave out its value, and a history "
            "(type 2) needs the values of each change: set REPLICA IDENTITY FULL"
        )
    keys = _table([part.keys for part in parts], to_arrow(key_schema(plan)))
    kind = to_arrow_type(plan.sequence_type)
    sequence = pa.concat_arrays([part.sequence for part in parts] or [pa.array([], kind)])
    deletes = np.concatenate([np.zeros(0, bool), *(part.deletes for part in parts)])
    marks = [part.truncated_at for part in parts if part.truncated_at is not None]
    truncated_at = pc.max(pa.array(marks, kind)) if marks else None
    events = Events(keys, sequence, deletes, rows, _numbered(~deletes), truncated_at, gaps)
    events = after_truncation(events, truncated_at)
    _check_ties(plan, events)
    return events


def _table(batches: list[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *batches]).combine_chunks()


def _numbered(mask: npt.NDArray[np.bool_]) -> Longs:
    numbers: Longs = np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int64)
    return numbers


def _part(plan: CdcPlan, batch: pa.RecordBatch, options: AlignOptions) -> Events:
    columns = pa.Table.from_batches([batch])
    does = columns.column(OPERATION).to_numpy()
    sequence = sequences(plan, columns.select([SEQUENCE]))
    truncations = does == TRUNCATE
    marks = sequence.filter(pa.array(truncations))
    is_change = pa.array(~truncations)
    columns, does, sequence = (
        columns.filter(is_change),
        does[~truncations],
        sequence.filter(is_change),
    )
    deletes = does == DELETE
    own = columns.drop_columns([SEQUENCE, OPERATION])
    gaps: Mapping[str, Mask] = {}
    if has_left_out(own.column_names, [field.name for field in plan.schema.fields]):
        left_out = own.column(UNAVAILABLE).filter(pa.array(~deletes))
        own = own.drop_columns([UNAVAILABLE])
        gaps = _gaps(plan, own, left_out, case_sensitive=options.case_sensitive)
    return Events(
        _keys(plan, own, options),
        sequence,
        deletes,
        _rows(plan, own.filter(pa.array(~deletes)), gaps, options),
        _numbered(~deletes),
        pc.max(marks) if len(marks) else None,
        gaps,
    )


def has_left_out(names: Collection[str], columns: Collection[str]) -> bool:
    """Return whether rows have the column that lists the values which the source left out."""
    return UNAVAILABLE in names and UNAVAILABLE not in columns


def _gaps(
    plan: CdcPlan, own: pa.Table, left_out: pa.ChunkedArray, *, case_sensitive: bool
) -> Mapping[str, Mask]:
    """Return the columns of the table that rows leave out, and these rows."""
    lists = left_out.combine_chunks()
    lists = lists.cast(pa.list_(pa.string()))
    names, rows = pc.list_flatten(lists), pc.list_parent_indices(lists).to_numpy()
    gaps: dict[str, Mask] = {}
    for name in pc.unique(names).to_pylist():
        column = find_top_level(plan.schema, name, case_sensitive=case_sensitive)
        if column is None or name not in own.column_names:
            continue
        mask = np.zeros(len(lists), bool)
        mask[rows[pc.equal(names, name).to_numpy(zero_copy_only=False)]] = True
        gaps[column.name] = mask
    return gaps


def _joined(parts: Sequence[tuple[Mapping[str, Mask], int]]) -> Mapping[str, Mask]:
    """Return the gaps of rows of several parts."""
    names = dict.fromkeys(name for gaps, _ in parts for name in gaps)
    return {
        name: np.concatenate([gaps.get(name, np.zeros(count, bool)) for gaps, count in parts])
        for name in names
    }


def sequences(plan: CdcPlan, rows: pa.Table) -> pa.Array:
    """Return the column `SEQUENCE`, alone in `rows`, in its type. Raises InvalidInputError."""
    number = Schema(NestedField(_SEQUENCE_ID, SEQUENCE, plan.sequence_type))
    (ordered,) = align_batches(number, [_batch(rows)], AlignOptions())
    sequence = ordered.column(0)
    if sequence.null_count:
        raise InvalidInputError(
            f"sequence_by is NULL in {sequence.null_count:,} rows: every change needs a sequence "
            "that orders it"
        )
    return sequence


def _batch(rows: pa.Table) -> pa.RecordBatch:
    return rows.combine_chunks().to_batches()[0]


def _keys(plan: CdcPlan, own: pa.Table, options: AlignOptions) -> pa.Table:
    names = {name if options.case_sensitive else name.lower() for name in plan.key_names}
    chosen = [
        name
        for name in own.column_names
        if (name if options.case_sensitive else name.lower()) in names
    ]
    optional = Schema(*(NestedField(f.field_id, f.name, f.field_type) for f in plan.keys))
    aligned_batches = list(
        align_batches(optional, own.select(chosen).combine_chunks().to_batches(), options)
    )
    keys = pa.Table.from_batches(aligned_batches, to_arrow(optional))
    for name in keys.column_names:
        nulls = keys.column(name).null_count
        if nulls:
            raise InvalidInputError(f"Key column '{name}' is NULL in {nulls:,} rows")
    return keys.cast(to_arrow(key_schema(plan)))


def _rows(plan: CdcPlan, own: pa.Table, gaps: Collection[str], options: AlignOptions) -> pa.Table:
    """Return rows in the table's columns; those with gaps may be NULL in required columns."""
    schema = Schema(
        *(replace(f, required=False) if f.name in gaps else f for f in plan.schema.fields)
    )
    batches = list(align_batches(schema, own.combine_chunks().to_batches(), options))
    rows = pa.Table.from_batches(batches, to_arrow(schema))
    return pa.Table.from_arrays(rows.columns, schema=to_arrow(plan.schema))


def after_truncation(events: Events, truncated_at: Any | None) -> Events:
    """Leave out the events before a truncation."""
    if truncated_at is None:
        return events
    return select_events(events, pc.greater_equal(events.sequence, truncated_at), truncated_at)


def select_events(events: Events, mask: pa.Array, truncated_at: Any = None) -> Events:
    """Return the events of a mask; their rows keep their positions."""
    chosen = mask.to_numpy(zero_copy_only=False)
    return Events(
        events.keys.filter(mask),
        events.sequence.filter(mask),
        events.deletes[chosen],
        events.rows,
        events.row_of[chosen],
        truncated_at,
        events.gaps,
    )


def event_frame(plan: CdcPlan, events: Events) -> Any:
    """Return events as a Polars frame: keys, `seq`, `delete`, `row` and `n`, their number."""
    kind = to_arrow_type(plan.sequence_type)
    return key_frame(events.keys, plan.keys).with_columns(
        series(events.sequence, kind).alias("seq"),
        pl.Series("delete", events.deletes),
        pl.Series("row", events.row_of),
        pl.Series("n", np.arange(len(events), dtype=np.int64)),
    )


def _check_ties(plan: CdcPlan, events: Events) -> None:
    """Refuse different changes with the same key and sequence: their order is unknown."""
    if not len(events):
        return
    by = [*key_columns(plan.keys), "seq"]
    frame = event_frame(plan, events)
    first = frame.group_by(by).agg(
        pl.col("n").first().alias("first"),
        pl.col("row").first().alias("first_row"),
        pl.col("delete").first().alias("first_delete"),
        pl.len().alias("times"),
    )
    again = (
        frame.join(first.filter(pl.col("times") > 1), on=by, how="inner")
        .filter(pl.col("n") != pl.col("first"))
        .sort("n")
    )
    if not again.height:
        return
    differs = (again.get_column("delete") != again.get_column("first_delete")).to_numpy()
    both = np.flatnonzero(~differs & ~again.get_column("delete").to_numpy())
    rows, first_rows = longs(again, "row")[both], longs(again, "first_row")[both]
    differs = differs.copy()
    differs[both] = ~rows_equal(events.rows, rows, first_rows)
    if differs.any():
        index = int(longs(again, "n")[int(np.flatnonzero(differs)[0])])
        key = {name: events.keys.column(name)[index].as_py() for name in plan.key_names}
        raise InvalidInputError(
            f"Two different changes of the key {key} have the sequence "
            f"{events.sequence[index].as_py()}: sequence_by must order them"
        )
