"""Data files with rows in the table's sort order (specification, "Sorting").

Rows are sorted in memory, a run at a time, and no file spans two runs: every file is sorted, and a
task never holds more than a run and its sorted copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, total_order
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import NullOrder, SortDirection, SortField, SortOrder
from iceberg_spark.spec.transforms import UnknownTransform, VoidTransform, can_transform
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.data_file_writer import chunks, write_data_files
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


# The order of rows by several keys, computed by sorting one number per row.
#
# Each key becomes a small number, and all numbers of a row are packed as bits of one; its last
# bits are the row's index. Numbers are sorted some ten times as fast as rows are compared key by
# key.

Words: TypeAlias = npt.NDArray[np.uint64]
_WORD_BITS = 64
_FEW = 8
"""Texts are numbered where so many rows have one of them, on average."""


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """An array to sort by: texts by their bytes, integers, and types stored as these."""

    values: Any
    descending: bool
    nulls_first: bool


def packed_places(keys: Sequence[Key]) -> npt.NDArray[np.int64] | None:
    """Return the indices of rows in sorted order, equal rows in their original order.

    None if there are too many bits, or keys of other types.
    """
    rows = len(keys[0].values) if keys else 0
    left = _WORD_BITS - rows.bit_length()
    word = np.zeros(rows, np.uint64)
    for key in keys:
        numbered = _numbered(key) if rows else None
        if numbered is None:
            return None
        codes, count = numbered
        bits = (count - 1).bit_length()
        left -= bits
        if left < 0:
            return None
        word = (word << np.uint64(bits)) | codes
    own = np.uint64(rows.bit_length())
    word = (word << own) | np.arange(rows, dtype=np.uint64)
    word.sort()
    places: npt.NDArray[np.int64] = (word & np.uint64((1 << int(own)) - 1)).astype(np.int64)
    return places


def _numbered(key: Key) -> tuple[Words, int] | None:
    """Return a number for each row, in the order of the key, and the number of possible numbers."""
    kind = key.values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        numbered = _of_texts(key.values)
    elif pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        numbered = None if pa.types.is_uint64(kind) else _of_numbers(key.values)
    else:
        numbered = None
    if numbered is None:
        return None
    codes, count = numbered
    if count >= 1 << (_WORD_BITS - 1):
        return None
    if key.descending:
        codes = np.uint64(count - 1) - codes
    if not key.values.null_count:
        return codes, count
    null = key.values.is_null().to_numpy(zero_copy_only=False)
    if key.nulls_first:
        return np.where(null, np.uint64(0), codes + np.uint64(1)), count + 1
    return np.where(null, np.uint64(count), codes), count + 1


def _of_numbers(values: Any) -> tuple[Words, int]:
    plain = values.view(pa.int32()) if pa.types.is_date32(values.type) else values
    integers = plain.cast(pa.int64())
    ends = pc.min_max(integers)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None:
        return np.zeros(len(values), np.uint64), 1
    numbers = pc.fill_null(integers, low).to_numpy(zero_copy_only=False)
    # The difference may exceed a signed integer: it wraps to the right unsigned one.
    least = np.array(low, np.int64).view(np.uint64)
    return numbers.view(np.uint64) - least, high - low + 1


def _of_texts(values: Any) -> tuple[Words, int] | None:
    encoded = values.dictionary_encode()
    texts = encoded.dictionary
    if len(texts) * _FEW > len(values):
        return None
    ranks = np.zeros(max(len(texts), 1), np.uint64)
    ranks[pc.sort_indices(texts).to_numpy()] = np.arange(len(texts), dtype=np.uint64)
    return ranks[pc.fill_null(encoded.indices, 0).to_numpy()], max(len(texts), 1)
