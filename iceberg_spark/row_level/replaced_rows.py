"""Replace rows at known positions in this process, by position deletes or by rewriting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby

import pyarrow as pa

from iceberg_spark.arrow.arrays import null_column
from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.row_level.position_deletes import DeletesWriter, deletes_context
from iceberg_spark.row_level.row_level_change import RowChange, RowLevelMode
from iceberg_spark.row_level.stored_rows import PlacedRows
from iceberg_spark.row_level.target_files import Target
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.reserved import LINEAGE, POS
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.align_batches import AlignOptions, aligned
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.lineage import keeping_lineage, keeps_lineage, with_lineage
from iceberg_spark.write.sorted_files import write_sorted_files


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
    batches = chain(aligned(schema, old, options), aligned(schema, new, options))
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
