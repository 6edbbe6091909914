"""The decision of a task about its keys, from changes, stored rows and rows of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from iceberg_spark.arrow.arrays import null_column
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.row_level.apply_changes import decide, known_columns
from iceberg_spark.row_level.cdc_decision import Decision, KeyState
from iceberg_spark.row_level.cdc_events import after_truncation, read_events
from iceberg_spark.row_level.cdc_notes import Notes
from iceberg_spark.spark.adapt.batches import spark_batches
from iceberg_spark.spark.adapt.task_results import pickle_value
from iceberg_spark.spark.adapt.types import nullable, to_spark
from iceberg_spark.spark.row_level.target_rows import FILE, POS
from iceberg_spark.spark.session.compat import expected_arrow_schema
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spec.reserved import ROW_ID
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
)
from iceberg_spark.write.align_columns import AlignOptions, align_batches

CHANGE, STORED, NOTED = 0, 1, 2
"""The kind of an input row."""
GONE, NEW, NOTE, COUNTS = 0, 1, 2, 3
"""The kind of an output row: a position to delete, a table row, a ledger row, the counts."""
SIDE, PATH, POSITION, PICKLED = 0, 1, 2, 3
"""The first columns of the output; those of the table and the ledger follow."""
_FIRST_ID = 2_147_470_000


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """The rows that a task deletes, adds, notes, and counts by kind of change."""

    gone: int = 0
    new: int = 0
    notes: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class CdcTask:
    """Applies the changes of some keys. Spark sends it to every task.

    `changes`, `stored` and `noted` are the columns of the three kinds of input rows. They follow
    `SIDE`.
    """

    notes: Notes
    changes: tuple[str, ...]
    stored: tuple[str, ...]
    noted: tuple[str, ...]
    keeps_row_ids: bool
    truncated_at: Any
    case_sensitive: bool

    @property
    def output_schema(self) -> Schema:
        """The columns of a task's output. Those of the table are named by position."""
        table = self.notes.plan.schema.fields
        ledger = self.notes.schema.fields[len(self.notes.plan.keys) :]
        kinds: list[IcebergType] = [IntegerType(), StringType(), LongType(), BinaryType()]
        kinds += [field.field_type for field in table]
        kinds += [LongType()] if self.keeps_row_ids else []
        kinds += [field.field_type for field in ledger]
        fields = [
            NestedField(_FIRST_ID + index, f"c{index}", kind) for index, kind in enumerate(kinds)
        ]
        return Schema(*fields)

    @property
    def kind(self) -> StructType:
        """The type of a task's output, for Spark."""
        return nullable(to_spark(self.output_schema))

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the result for the keys of a partition, whose rows are held in memory."""
        try:
            parts = list(self._decided(batches))
        except InvalidInputError as error:
            parts = [self._rows(COUNTS, 1, {PICKLED: pa.array([pickle_value(error)], pa.binary())})]
        expected = expected_arrow_schema(self.kind)
        for part in parts:
            yield from spark_batches(iter(part.to_batches()), self.output_schema, expected)

    def _decided(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        changes, stored, noted = self._sides(list(batches))
        plan = self.notes.plan
        events = read_events(plan, changes, case_sensitive=self.case_sensitive)
        events = after_truncation(events, self.truncated_at)
        columns = Schema(*(_optional(field) for field in known_columns(plan)))
        rows = _table(columns, [_without(batch, (FILE, POS, ROW_ID.name)) for batch in stored])
        if self.keeps_row_ids:
            ids = [batch.column(ROW_ID.name) for batch in stored]
            rows = rows.append_column(ROW_ID.name, pa.chunked_array(ids, pa.int64()))
        state = KeyState(rows, _table(self.notes.schema, noted), self.truncated_at)
        decision = decide(self.notes, events, state)
        places = pa.Table.from_batches(
            [batch.select([FILE, POS]) for batch in stored],
            pa.schema([(FILE, pa.string()), (POS, pa.int64())]),
        )
        yield from self._output_rows(decision, places)

    def _sides(self, batches: list[pa.RecordBatch]) -> list[list[pa.RecordBatch]]:
        """Split rows into the three kinds."""
        sides_of_batches: list[list[pa.RecordBatch]] = [[], [], []]
        ends = np.cumsum([1, len(self.changes), len(self.stored), len(self.noted)])
        names = (self.changes, self.stored, self.noted)
        for batch in batches:
            sides = batch.column(0).to_numpy(zero_copy_only=False)
            for side in (CHANGE, STORED, NOTED):
                mask = sides == side
                if mask.any():
                    own = batch.select(list(range(int(ends[side]), int(ends[side + 1]))))
                    sides_of_batches[side].append(
                        own.filter(pa.array(mask)).rename_columns(names[side])
                    )
        return sides_of_batches

    def _output_rows(self, decision: Decision, places: pa.Table) -> Iterator[pa.Table]:
        deleted = places.take(pa.array(np.sort(decision.gone)))
        first = PICKLED + 1
        columns = len(self.notes.plan.schema.fields) + self.keeps_row_ids
        counts = TaskCounts(
            deleted.num_rows,
            decision.rows.num_rows,
            decision.notes.num_rows,
            decision.inserted,
            decision.updated,
            decision.deleted,
        )
        yield self._rows(COUNTS, 1, {PICKLED: pa.array([pickle_value(counts)], pa.binary())})
        if deleted.num_rows:
            own = {PATH: deleted.column(FILE), POSITION: deleted.column(POS)}
            yield self._rows(GONE, deleted.num_rows, own)
        if decision.rows.num_rows:
            written = dict(enumerate(decision.rows.columns, first))
            yield self._rows(NEW, decision.rows.num_rows, written)
        if decision.notes.num_rows:
            keys = len(self.notes.plan.keys)
            by_name = {
                field.name: index for index, field in enumerate(self.notes.plan.schema.fields)
            }
            own = {
                first + by_name[name]: decision.notes.column(index)
                for index, name in enumerate(self.notes.plan.key_names)
            }
            own |= dict(enumerate(decision.notes.columns[keys:], first + columns))
            yield self._rows(NOTE, decision.notes.num_rows, own)

    def _rows(self, side: int, count: int, columns: dict[int, Any]) -> pa.Table:
        """Return rows with values in some columns, given by position."""
        schema = to_arrow(self.output_schema)
        columns[SIDE] = pa.array(np.full(count, side, np.int32))
        arrays = [
            columns[index].cast(field.type) if index in columns else null_column(count, field.type)
            for index, field in enumerate(schema)
        ]
        return pa.Table.from_arrays(arrays, schema=schema).combine_chunks()


def _optional(field: NestedField) -> NestedField:
    return NestedField(field.field_id, field.name, field.field_type)


def _without(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    return batch.select([name for name in batch.schema.names if name not in names])


def _table(schema: Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    batches_of_table = list(align_batches(schema, batches, AlignOptions()))
    return pa.Table.from_batches(batches_of_table, to_arrow(schema)).combine_chunks()
