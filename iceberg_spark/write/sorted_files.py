"""Data files with rows in the table's sort order (specification, "Sorting").

Rows are sorted in memory, a run at a time, and no file spans two runs: every file is sorted, and a
task never holds more than a run and its sorted copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.arrow.floats import total_order
from iceberg_spark.arrow.packed_keys import Key, packed_places
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import NullOrder, SortDirection, SortField, SortOrder
from iceberg_spark.spec.transforms import UnknownTransform, VoidTransform, can_transform
from iceberg_spark.write.batch_chunks import chunks
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.data_file_writer import write_data_files
from iceberg_spark.write.limits import ROWS
from iceberg_spark.write.partitioned import source_column
from iceberg_spark.write.uncommitted_files import remove_written


def write_sorted_files(
    context: WriteContext,
    io: FileIO,
    batches: Iterable[pa.RecordBatch],
    *,
    run_bytes: int = ROWS.run_bytes,
) -> tuple[DataFile, ...]:
    """Write rows like `write_data_files`, in the order of `context.sort_order` if it has one.

    `run_bytes` is the size of a run; more rows create more files. An order with an unknown
    transform, or of a dropped column, is ignored: files are unsorted then.
    """
    order, schema = context.sort_order, context.schema
    if not can_sort(order, schema):
        return write_data_files(context, io, batches, TaskId())
    ordered = replace(context, sort_order_id=order.order_id)
    written: list[DataFile] = []
    try:
        pieces = _pieces(batches, run_bytes)
        for number, run in enumerate(chunks(pieces, to_arrow(schema), run_bytes)):
            rows = sort_rows(run, order, schema)
            del run
            written += write_data_files(ordered, io, rows.to_batches(), TaskId(number))
    except BaseException:
        remove_written(io, [file.file_path for file in written])
        raise
    return tuple(written)


def can_sort(order: SortOrder, schema: Schema) -> bool:
    """Return whether rows can be sorted by an order: it has keys, and all can be computed."""
    return not order.is_unsorted and all(_is_known(key, schema) for key in order.fields)


def _is_known(key: SortField, schema: Schema) -> bool:
    source = schema.get(key.source_id)
    return (
        len(key.source_ids) == 1
        and source is not None
        and not isinstance(key.transform, UnknownTransform)
        and can_transform(key.transform, source.field_type)
    )


def sort_rows(rows: pa.Table, order: SortOrder, schema: Schema) -> pa.Table:
    """Return sorted rows; equal ones keep their order.

    The table has the columns of `arrow.schema.to_arrow(schema)`. Floats have their total order
    (specification, "Sorting"); text is compared by code points, bytes as unsigned numbers.
    """
    keys = sort_keys(rows, order, schema)
    if not keys.num_columns:
        return rows
    return rows.combine_chunks().take(sorted_places(keys, order))


def sort_keys(rows: pa.Table, order: SortOrder, schema: Schema) -> pa.Table:
    """Return the input of `sorted_places`: a column for each key, named by its index in the order.

    Keys that are constant for all rows are left out, so there may be none.
    """
    columns: dict[str, Any] = {}
    for index, key in enumerate(order.fields):
        if isinstance(key.transform, VoidTransform):
            continue
        source = source_column(rows, schema, key.source_id)
        values = apply_transform(key.transform, schema.find_type(key.source_id), source)
        columns[str(index)] = total_order(values) if pa.types.is_floating(values.type) else values
    return pa.table(columns)


def sorted_places(keys: pa.Table, order: SortOrder) -> pa.Array:
    """Return the indices of rows in sorted order, from their `sort_keys`; the sort is stable."""
    sort_columns = [
        Key(
            concat(keys.column(name)),
            order.fields[int(name)].direction is SortDirection.DESC,
            order.fields[int(name)].null_order is NullOrder.NULLS_FIRST,
        )
        for name in keys.column_names
    ]
    packed = packed_places(sort_columns)
    return _compared(sort_columns) if packed is None else pa.array(packed)


def _compared(keys: Sequence[Key]) -> pa.Array:
    """Return the sorted indices of rows by comparing them key by key."""
    columns: dict[str, Any] = {}
    directions: list[tuple[str, str]] = []
    for index, key in enumerate(keys):
        if key.values.null_count:
            columns[f"null {index}"] = pc.is_null(key.values).cast(pa.int8())
            directions.append((f"null {index}", "descending" if key.nulls_first else "ascending"))
        columns[f"value {index}"] = key.values
        directions.append((f"value {index}", "descending" if key.descending else "ascending"))
    return pc.sort_indices(pa.table(columns), sort_keys=directions)


def _pieces(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Cut batches that are larger than a run."""
    for batch in batches:
        rows = max(batch.num_rows * size // max(batch.nbytes, 1), 1)
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)
