"""The rows that snapshots removed and added, with what happened to them (Java: ChangelogIterator).

`_change_type`, `_change_ordinal` and `_commit_snapshot_id` come after the table's columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, plain
from iceberg_spark.arrow.evolve import evolution
from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.arrow.key_columns import key_column
from iceberg_spark.arrow.row_hashes import polars_frame
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyModule
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.changelog import ChangedFile, ChangeStep
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spec import reserved
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import DoubleType

CHANGE_COLUMNS = (reserved.CHANGE_TYPE, reserved.CHANGE_ORDINAL, reserved.COMMIT_SNAPSHOT_ID)
"""What happened to a row: its kind, the snapshot's place from 0 on, and its id."""


@cache
def _type_names() -> Any:
    """Made at first use: the first array makes Arrow import pandas."""
    return pa.array([kind.name for kind in ChangeType], pa.string())


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """What is asked: `context` reads whole rows, `shown` are the columns that are returned.

    `identifiers` are names of columns; with them removed and added rows of one identity become
    updates. `net` cancels out changes over all snapshots. With `by_row_id` the rows come with
    their lineage, and it tells what was carried over and what updated: no values are compared.
    With `carried_over` rows that were only written again are given too, and none are compared.
    """

    context: ScanContext
    shown: Schema
    identifiers: tuple[str, ...] = ()
    net: bool = False
    by_row_id: bool = False
    carried_over: bool = False

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that rows are known by over their updates."""
        return (reserved.ROW_ID.name,) if self.by_row_id else self.identifiers

    @property
    def schema(self) -> Schema:
        """The columns of the result."""
        return with_change_columns(self.shown)

    @property
    def whole_schema(self) -> Schema:
        """All columns of the rows, and what happened to them."""
        return with_change_columns(self.context.read_schema)

    def brings_together(self, step: ChangeStep) -> bool:
        """Whether removed and added rows of a step are compared."""
        return self.net or (step.may_carry_over and not self.carried_over)


def with_change_columns(schema: Schema) -> Schema:
    """Return the columns of rows, and what happened to them."""
    return Schema(*schema.fields, *CHANGE_COLUMNS)


def change_batches(
    request: ChangeRequest, io: FileIO, steps: Iterable[ChangeStep]
) -> Iterator[pa.RecordBatch]:
    """Yield the changes, snapshot by snapshot, as batches of `request.schema`.

    What only adds or only removes rows streams; else the rows of the files that one snapshot
    changed are held in memory, and those of all snapshots for net changes.
    """
    everything: list[pa.Table] = []
    for step in steps:
        if request.net:
            everything.append(_step_table(request, io, step))
        elif request.brings_together(step):
            table = _step_table(request, io, step)
            identity = identity_keys(request, table)
            yield from select_columns(
                request,
                snapshot_changes(table, row_keys(request, table), identity, request.identity),
            )
        else:
            for batch, is_insert in _step_rows(request, io, step):
                yield from select_columns(
                    request, with_change(batch, is_insert, step.ordinal, step.snapshot_id)
                )
    if everything:
        table = pa.concat_tables(everything)
        identity = identity_keys(request, table)
        yield from select_columns(
            request, merge_changes(table, row_keys(request, table), identity, request.identity)
        )


def changed_rows(
    context: ScanContext, io: FileIO, file: ChangedFile
) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Yield the rows of a changed file that came or went, and True for those that came."""
    match file:
        case ChangedFile(None, after) if after is not None:
            for batch in read_task(context, io, after):
                yield batch, True
        case ChangedFile(before, None) if before is not None:
            for batch in read_task(context, io, before):
                yield batch, False
        case ChangedFile(before, after) if before is not None and after is not None:
            marked = replace(
                context, read_schema=Schema(*context.read_schema.fields, reserved.DELETED)
            )
            both = zip(read_task(marked, io, before), read_task(marked, io, after), strict=True)
            for old, new in both:
                yield from _switched(old, new)
        case _:
            return


def _switched(old: pa.RecordBatch, new: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Yield the rows that are deleted in one of two readings of the same rows."""
    was, now = (_mask(batch.column(batch.num_columns - 1)) for batch in (old, new))
    rows = new.select(range(new.num_columns - 1))
    for chosen, is_insert in ((now & ~was, False), (was & ~now, True)):
        if chosen.any():
            yield rows.filter(pa.array(chosen)), is_insert


def _step_rows(
    request: ChangeRequest, io: FileIO, step: ChangeStep
) -> Iterator[tuple[pa.RecordBatch, bool]]:
    for file in step.files():
        yield from changed_rows(request.context, io, file)


def _step_table(request: ChangeRequest, io: FileIO, step: ChangeStep) -> pa.Table:
    tables = [
        with_change(batch, is_insert, step.ordinal, step.snapshot_id)
        for batch, is_insert in _step_rows(request, io, step)
    ]
    empty = to_arrow(request.whole_schema).empty_table()
    return pa.concat_tables([empty, *tables])


def snapshot_changes(
    table: pa.Table,
    keys: Sequence[pa.Array],
    identity: Sequence[pa.Array],
    identifiers: Sequence[str],
) -> pa.Table:
    """Return one snapshot's changes without carried-over rows, updates told apart if asked for.

    Rows are equal where all `keys` are; `identity` are keys of the identifier columns.
    """
    changed = pa.array(without_carried_over(row_codes(keys), _inserts(table)))
    return _with_updates(
        table.filter(changed), [key.filter(changed) for key in identity], identifiers
    )


def _with_updates(
    changes: pa.Table, identity: Sequence[pa.Array], identifiers: Sequence[str]
) -> pa.Table:
    if not identity:
        return changes
    codes = row_codes(identity)
    types = update_images(codes, _inserts(changes), ", ".join(identifiers))
    index = changes.schema.get_field_index("_change_type")
    field = changes.schema.field(index)
    return changes.set_column(index, field, _type_names().take(pa.array(types)).cast(field.type))


def merge_changes(
    table: pa.Table,
    keys: Sequence[pa.Array],
    identity: Sequence[pa.Array] = (),
    identifiers: Sequence[str] = (),
) -> pa.Table:
    """Return the net changes of several snapshots; arguments as of `snapshot_changes`."""
    ordinals = table.column("_change_ordinal").to_numpy().astype(np.int64)
    rows = net_changes(row_codes(keys), ordinals, _inserts(table))
    left = pa.array(np.sort(rows))
    return _with_updates(table.take(left), [key.take(left) for key in identity], identifiers)


def identity_keys(request: ChangeRequest, table: pa.Table) -> list[pa.Array]:
    """Return the keys of the identifier columns, none where updates are not asked for."""
    return key_arrays([concat(table.column(name)) for name in request.identity])


def row_keys(request: ChangeRequest, table: pa.Table) -> list[pa.Array]:
    """Return the keys of whole rows, or of their lineage: a row that was only moved keeps it.

    Raises InvalidInputError where rows that have to be told apart have no ids.
    """
    if request.by_row_id:
        check_row_ids(table)
        return key_arrays([concat(table.column(name)) for name in reserved.LINEAGE_NAMES])
    count = len(request.context.read_schema.fields)
    return key_arrays([concat(table.column(index)) for index in range(count)])


def check_row_ids(table: pa.Table) -> None:
    """Raise InvalidInputError where rows have no ids, naming the snapshot that changed them."""
    nameless = pc.is_null(table.column(reserved.ROW_ID.name))
    if pc.any(nameless).as_py():
        snapshot_id = table.column("_commit_snapshot_id").filter(nameless)[0].as_py()
        raise InvalidInputError(
            f"Snapshot {snapshot_id} changed rows without row ids, from before the table's upgrade "
            "to format-version 3: begin with a snapshot after it (start), or leave out "
            "by='row-id'"
        )


def with_change(batch: pa.RecordBatch, is_insert: bool, ordinal: int, snapshot_id: int) -> pa.Table:
    """Return rows with what happened to them, in which snapshot."""
    rows = batch.num_rows
    kind = ChangeType.INSERT if is_insert else ChangeType.DELETE
    added = [
        pa.repeat(pa.scalar(kind.name), rows),
        pa.repeat(pa.scalar(ordinal, pa.int32()), rows),
        pa.repeat(pa.scalar(snapshot_id, pa.int64()), rows),
    ]
    fields = [*batch.schema, *to_arrow(Schema(*CHANGE_COLUMNS))]
    return pa.Table.from_arrays([*batch.columns, *added], schema=pa.schema(fields))


def select_columns(request: ChangeRequest, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield rows with the columns that are asked for."""
    schema = request.schema
    evolve = evolution(file_fields(table.schema), schema.fields, {}, "the changes")
    for batch in table.to_batches():
        if batch.num_rows:
            yield evolve.apply(batch)


def _inserts(table: pa.Table) -> Mask:
    return _mask(pc.equal(table.column("_change_type"), "INSERT"))


def _mask(column: Any) -> Mask:
    mask: Mask = concat(column).to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask


# What removed and added rows amount to: decided on codes that equal rows share.
#
# Rules: Java's RemoveCarryoverIterator, RemoveNetCarryoverIterator and ComputeUpdateIterator, on
# columns and without sorting rows by all their values.

pl = LazyModule("polars")

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class ChangeType(IntEnum):
    """What happened to a row; the names are those of `_change_type`."""

    DELETE = 0
    INSERT = 1
    UPDATE_BEFORE = 2
    UPDATE_AFTER = 3


def key_arrays(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Return columns of any type such that rows are the same where all of them are equal.

    NULL equals NULL and NaN NaN; -0.0 differs from 0.0 save inside lists and maps. A struct
    becomes its fields and whether it is null.
    """
    keys: list[pa.Array] = []
    for source in columns:
        column = plain(source)
        if pa.types.is_struct(column.type):
            keys += [column.is_valid(), *key_arrays(column.flatten())]
        elif pa.types.is_floating(column.type):
            keys.append(key_column(DoubleType(), column))
        elif pa.types.is_fixed_size_binary(column.type):
            keys.append(column.cast(pa.binary()))
        else:
            keys.append(column)
    return keys


def row_codes(keys: Sequence[pa.Array]) -> Longs:
    """Return a number for each row, the same for equal rows and only for those."""
    rows = len(keys[0])
    if not rows:
        return np.zeros(0, np.int64)
    frame = polars_frame(keys)
    groups = frame.with_row_index("row").group_by(frame.columns).agg("row").get_column("row")
    codes = np.empty(rows, np.int64)
    codes[groups.explode().to_numpy()] = np.repeat(
        np.arange(len(groups)), groups.list.len().to_numpy()
    )
    return codes


def without_carried_over(codes: Longs, inserts: Mask) -> Mask:
    """Return which rows of one snapshot are changes: a removed and an equal added row are none."""
    size = int(codes.max(initial=-1)) + 1
    pairs = np.minimum(
        np.bincount(codes[inserts], minlength=size), np.bincount(codes[~inserts], minlength=size)
    )
    changed = np.empty(len(codes), bool)
    for side in (inserts, ~inserts):
        changed[side] = _rank(codes[side]) >= pairs[codes[side]]
    return changed


def update_images(codes: Longs, inserts: Mask, named: str) -> npt.NDArray[np.int8]:
    """Return the ChangeType of each row of one snapshot; `codes` are of its identifier columns.

    A removed and an added row of one identity are an update. Raises ValidationException when two
    removed rows have the same identity; `named` says which columns that is.
    """
    size = int(codes.max(initial=-1)) + 1
    gone = np.bincount(codes[~inserts], minlength=size)
    if (gone > 1).any():
        raise ValidationException(
            f"Can't tell updates: several rows of one snapshot have the same {named}; choose "
            "identifier_columns that are unique, or compute_updates=False"
        )
    came = np.bincount(codes[inserts], minlength=size)
    is_update = (gone > 0) & (came > 0)
    types = np.where(inserts, ChangeType.INSERT, ChangeType.DELETE).astype(np.int8)
    types[~inserts & is_update[codes]] = ChangeType.UPDATE_BEFORE
    first = np.zeros(len(codes), bool)
    first[inserts] = _rank(codes[inserts]) == 0
    types[first & is_update[codes]] = ChangeType.UPDATE_AFTER
    return types


def net_changes(codes: Longs, ordinals: Longs, inserts: Mask) -> Longs:
    """Return the rows (by number, repeated where needed) that are left over several snapshots.

    Equal rows that are inserted and deleted cancel each other out, in the order of the snapshots.
    What is left is shown as of the first change since they last did.
    """
    if not len(codes):
        return np.zeros(0, np.int64)
    order = np.lexsort((inserts, ordinals, codes))
    sorted_codes = codes[order]
    sign = np.where(inserts[order], 1, -1)
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
    group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(codes)]))
    total = np.cumsum(sign)
    running = total - (total - sign)[starts][group]
    ends = np.r_[starts[1:], len(codes)] - 1
    # the place after the last one where all cancelled out, in each group
    zero = np.where(running == 0, np.arange(len(codes)) + 1, starts[group])
    shown = np.maximum.reduceat(zero, starts)
    left = np.abs(running[ends])
    some = left > 0
    return np.repeat(order[shown[some]], left[some])


def _rank(codes: Longs) -> Longs:
    """Return how many rows with the same code come before each row."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(codes) else order
    counts = np.diff(np.r_[starts, len(codes)])
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.arange(len(codes)) - np.repeat(starts, counts)
    return ranks
