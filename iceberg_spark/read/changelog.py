"""The rows that snapshots removed and added, with what happened to them (Java: ChangelogIterator).

`_change_type`, `_change_ordinal` and `_commit_snapshot_id` come after the table's columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.arrow.evolve import evolution
from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.row_changes import (
    ChangeType,
    Mask,
    key_arrays,
    net_changes,
    row_codes,
    update_images,
    without_carried_over,
)
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.changelog import ChangedFile, ChangeStep
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spec import reserved
from iceberg_spark.spec.schema import Schema

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
            yield from shown(
                request, settled(table, row_keys(request, table), identity, request.identity)
            )
        else:
            for batch, is_insert in _step_rows(request, io, step):
                yield from shown(
                    request, with_change(batch, is_insert, step.ordinal, step.snapshot_id)
                )
    if everything:
        table = pa.concat_tables(everything)
        identity = identity_keys(request, table)
        yield from shown(
            request, netted(table, row_keys(request, table), identity, request.identity)
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


def settled(
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


def netted(
    table: pa.Table,
    keys: Sequence[pa.Array],
    identity: Sequence[pa.Array] = (),
    identifiers: Sequence[str] = (),
) -> pa.Table:
    """Return what is left of the changes of several snapshots; arguments as of `settled`."""
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


def shown(request: ChangeRequest, table: pa.Table) -> Iterator[pa.RecordBatch]:
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
