"""The order of rows in a compaction: sort keys and their ranges, or a z-order curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.maintenance.layout import Layout
from iceberg_spark.maintenance.limits import COMPACTING
from iceberg_spark.maintenance.rewrite_options import RewriteOptions, Strategy
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import VoidTransform
from iceberg_spark.write.partitioned import source_column
from iceberg_spark.write.sorted_files import sort_keys, sorted_places

Longs: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of a layout, for rows of any schema with its columns."""

    layout: Layout
    options: RewriteOptions

    @property
    def sources(self) -> tuple[int, ...]:
        """The field ids of the columns that decide the order."""
        if self.layout.strategy is Strategy.Z_ORDER:
            return self.layout.z_columns
        fields = self.layout.order.fields
        return tuple(
            key.source_id for key in fields if not isinstance(key.transform, VoidTransform)
        )

    def keys(self, rows: pa.Table, schema: Schema) -> pa.Table:
        """Return the sort keys of rows, without columns whose values are all equal."""
        if self.layout.strategy is Strategy.Z_ORDER:
            return z_keys(rows, schema, self.layout.z_columns, self.options)
        return sort_keys(rows, self.layout.order, schema)

    def places(self, keys: pa.Table) -> Longs:
        """Return the positions of rows in sorted order; stable."""
        if self.layout.strategy is Strategy.Z_ORDER:
            indices = z_places(keys)
        else:
            indices = sorted_places(keys, self.layout.order)
        places: Longs = indices.to_numpy().astype(np.int64)
        return places

    def sorted(self, rows: pa.Table, schema: Schema) -> pa.Table:
        """Return rows in sorted order; stable."""
        keys = self.keys(rows, schema)
        if not keys.num_columns:
            return rows
        return rows.combine_chunks().take(pa.array(self.places(keys)))


@dataclass(frozen=True, slots=True, eq=False)
class OrderRanges:
    """Consecutive ranges of an order, numbered; the keys equal to a bound are a range.

    `bounds` are sorted keys, which may repeat. `files` is the file number of each range, ascending.
    All rows of a range of `equal` have the same keys.
    """

    order: RowOrder
    bounds: pa.Table
    files: Longs
    equal: npt.NDArray[np.bool_]

    def cut(self, keys: pa.Table) -> tuple[Longs, Longs]:
        """Return the sorted positions of rows, and where each range but the first begins in them.

        Sorts the bounds with the rows, once before and once after the rows that are equal to them.
        """
        around = pa.concat_tables([self.bounds, keys, self.bounds]).combine_chunks()
        places = self.order.places(around) - len(self.bounds)
        inside = (places >= 0) & (places < keys.num_rows)
        marks = np.flatnonzero(~inside)
        return places[inside], marks - np.arange(len(marks))


def order_ranges(order: RowOrder, sample: pa.Table, files: int, ranges: int) -> OrderRanges:
    """Cut an order to about a number of ranges with equally many rows, from a sample of keys.

    Frequent values make fewer ranges. Each file gets consecutive ranges, with equally many rows.
    """
    count = sample.num_rows
    bounds_at = np.arange(1, ranges) * count // ranges if count else np.zeros(0, np.int64)
    bounds = sample.take(pa.array(order.places(sample)[bounds_at]))
    both = order.places(pa.concat_tables([bounds, bounds]).combine_chunks())
    after = np.append(both >= len(bounds), True)
    equal = np.append(False, ~after[:-1] & after[1:])  # between a bound's two marks
    first_ranges = OrderRanges(order, bounds, np.zeros(len(equal), np.int64), equal)
    starts = np.append(0, first_ranges.cut(sample)[1])
    numbers = np.minimum(starts * files // max(count, 1), files - 1)
    return OrderRanges(order, bounds, numbers, equal)


Bytes = npt.NDArray[np.uint8]

_NUMBERS = (t.IntegerType, t.LongType, t.DateType, t.TimestampType, t.TimestamptzType)
_FLOATS = (t.FloatType, t.DoubleType)
_TEXTS = (t.StringType, t.BinaryType)
Z_TYPES = (*_NUMBERS, *_FLOATS, *_TEXTS, t.BooleanType)
PRIMITIVE_BYTES = 8


@dataclass(frozen=True, slots=True)
class BitChunk:
    """Consecutive bits of the curve's value, from several columns, that become one word.

    `columns` alternate, beginning with the first one. Of each, `bits` bits are taken from
    `first_bit` on (0 is the column's highest bit). The word keeps its `bit_count` highest bits.
    """

    columns: tuple[int, ...]
    first_bit: int
    bits: int
    bit_count: int


def bit_chunks(widths: Sequence[int], max_bytes: int) -> Iterator[BitChunk]:
    """Yield how columns of `widths` bytes are interleaved to words of at most 63 bits.

    A column without bits left is skipped; the value has at most `max_bytes` bytes.
    """
    left = 8 * min(sum(widths), max_bytes)
    start = 0
    for end in sorted(set(widths)):
        columns = tuple(index for index, width in enumerate(widths) if width >= end)
        most = max(63 // len(columns), 1)
        step = most // 8 * 8 or most  # whole bytes where there is room
        for first in range(8 * start, 8 * end, step):
            if left <= 0:
                return
            bits = min(step, 8 * end - first)
            bit_count = min(left, bits * len(columns))
            yield BitChunk(columns, first, bits, bit_count)
            left -= bit_count
        start = end


def width_of(kind: t.IcebergType, options: RewriteOptions) -> int:
    """Return the number of bytes of a column. Raises UnsupportedError for its type."""
    if isinstance(kind, _TEXTS):
        return options.var_length_contribution
    if not isinstance(kind, Z_TYPES):
        raise UnsupportedError(f"zorder: a column of type {kind} can't be used")
    return PRIMITIVE_BYTES


def z_keys(
    rows: pa.Table, schema: Schema, columns: Sequence[int], options: RewriteOptions
) -> pa.Table:
    """Return the value of each row as columns of 64-bit integers, the highest first."""
    values = z_values(rows, schema, columns, options)
    total = values.dtype.itemsize
    words = -(-total // PRIMITIVE_BYTES)
    padded = np.zeros((len(values), words * PRIMITIVE_BYTES), np.uint8)
    padded[:, :total] = values.view(np.uint8).reshape(len(values), total)
    numbers = padded.view(">u8").astype(np.uint64)
    return pa.table({str(word): pa.array(numbers[:, word]) for word in range(words)})


def z_places(keys: pa.Table) -> pa.Array:
    """Return the positions of rows in the order of the curve; stable."""
    return pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])


def z_values(
    rows: pa.Table, schema: Schema, columns: Sequence[int], options: RewriteOptions
) -> npt.NDArray[np.void]:
    """Return the value of each row as bytes with the same order."""
    kinds = [schema.find_type(field_id) for field_id in columns]
    widths = [width_of(kind, options) for kind in kinds]
    total = min(sum(widths), options.max_output_size)
    sources = [source_column(rows, schema, field_id) for field_id in columns]
    packed = [np.zeros((0, total), np.uint8)]
    for start in range(0, rows.num_rows, COMPACTING.z_rows):
        some = [source.slice(start, COMPACTING.z_rows) for source in sources]
        ordered = [_ordered(*column) for column in zip(some, kinds, widths, strict=True)]
        packed.append(_interleaved(ordered, total))
    return np.ascontiguousarray(np.concatenate(packed)).view(f"S{total}").ravel()


def _interleaved(columns: Sequence[Bytes], total: int) -> Bytes:
    """Return the alternating bits of the columns as `total` bytes, one byte of each at a time."""
    rows_of_bytes: list[Bytes] = []
    for index in range(max(column.shape[1] for column in columns)):
        some = [column[:, index] for column in columns if index < column.shape[1]]
        spread = zip(_spread_bytes(len(some)), some, strict=True)
        rows_of_bytes.append(reduce(np.bitwise_or, [table[column] for table, column in spread]))
    return np.concatenate(rows_of_bytes, axis=1)[:, :total]


@cache
def _spread_bytes(turns: int) -> tuple[Bytes, ...]:
    """Return each byte spread over several bytes, with gaps for the other columns' bits."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    tables = []
    for turn in range(turns):
        spread = np.zeros((256, 8, turns), np.uint8)
        spread[:, :, turn] = bits
        tables.append(np.packbits(spread.reshape(256, 8 * turns), axis=1))
    return tuple(tables)


def _ordered(column: pa.Array, kind: t.IcebergType, width: int) -> Bytes:
    """Return bytes for each value that have the order of the values; zeros for null."""
    if isinstance(kind, _TEXTS):
        return _prefixes(column, width)
    words = _words(column, kind)
    words[pc.is_null(column).to_numpy(zero_copy_only=False)] = 0
    return words.astype(">u8").view(np.uint8).reshape(len(words), PRIMITIVE_BYTES)


def _words(column: pa.Array, kind: t.IcebergType) -> npt.NDArray[np.uint64]:
    high = np.uint64(1 << 63)
    if isinstance(kind, t.BooleanType):
        flags = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
        return np.where(flags, np.uint64(0x81 << 56), np.uint64(0))
    if isinstance(kind, _FLOATS):
        return float_words(column.cast(pa.float64()))
    narrow = column.cast(pa.int32()) if isinstance(kind, t.DateType) else column
    numbers = pc.fill_null(narrow.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    words: npt.NDArray[np.uint64] = numbers.view(np.uint64) ^ high
    return words


def float_words(column: pa.Array) -> npt.NDArray[np.uint64]:
    """Return integers ordered like doubles, NaN last; 0 for null."""
    values = pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False)
    signed = np.where(np.isnan(values), np.nan, values).view(np.int64)
    words: npt.NDArray[np.uint64] = signed.view(np.uint64) ^ (
        (signed >> 63).view(np.uint64) | np.uint64(1 << 63)
    )
    words[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return words


def _prefixes(column: Any, width: int) -> Bytes:
    plain = pc.fill_null(column.cast(pa.large_binary()), b"")
    cut = pc.binary_slice(plain, 0, width).cast(pa.binary())
    fixed = np.array(cut.to_numpy(zero_copy_only=False), f"S{width}")
    return fixed.view(np.uint8).reshape(len(fixed), width)
