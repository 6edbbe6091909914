"""The order in which a compaction lays rows: what they are compared by, and ranges of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.maintenance.layout import Layout
from iceberg_spark.maintenance.rewrite_options import RewriteOptions, Strategy
from iceberg_spark.maintenance.z_order import z_keys, z_places
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import VoidTransform
from iceberg_spark.write.sorted_files import sort_keys, sorted_places

Longs: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of a layout, over rows of any schema that has its columns."""

    layout: Layout
    options: RewriteOptions

    @property
    def sources(self) -> tuple[int, ...]:
        """The field ids of the columns that rows are compared by."""
        if self.layout.strategy is Strategy.Z_ORDER:
            return self.layout.z_columns
        fields = self.layout.order.fields
        return tuple(
            key.source_id for key in fields if not isinstance(key.transform, VoidTransform)
        )

    def keys(self, rows: pa.Table, schema: Schema) -> pa.Table:
        """Return what rows are compared by; without a column where all are alike."""
        if self.layout.strategy is Strategy.Z_ORDER:
            return z_keys(rows, schema, self.layout.z_columns, self.options)
        return sort_keys(rows, self.layout.order, schema)

    def places(self, keys: pa.Table) -> Longs:
        """Return where rows are, in their order; equal ones keep theirs."""
        if self.layout.strategy is Strategy.Z_ORDER:
            indices = z_places(keys)
        else:
            indices = sorted_places(keys, self.layout.order)
        places: Longs = indices.to_numpy().astype(np.int64)
        return places

    def sorted(self, rows: pa.Table, schema: Schema) -> pa.Table:
        """Return rows in their order; equal ones keep theirs."""
        keys = self.keys(rows, schema)
        if not keys.num_columns:
            return rows
        return rows.combine_chunks().take(pa.array(self.places(keys)))


@dataclass(frozen=True, slots=True, eq=False)
class OrderRanges:
    """Neighbouring ranges of an order, numbered: around each bound those equal to it are one.

    `bounds` are keys in their order, which may repeat; `files` is the number of the file that each
    range is for, ascending; of `equal` ones all rows have the same keys.
    """

    order: RowOrder
    bounds: pa.Table
    files: Longs
    equal: npt.NDArray[np.bool_]

    def cut(self, keys: pa.Table) -> tuple[Longs, Longs]:
        """Return where rows are, in their order, and where there each range but the first begins.

        Bounds are sorted with the rows, once before and once after those that are equal to them.
        """
        around = pa.concat_tables([self.bounds, keys, self.bounds]).combine_chunks()
        places = self.order.places(around) - len(self.bounds)
        inside = (places >= 0) & (places < keys.num_rows)
        marks = np.flatnonzero(~inside)
        return places[inside], marks - np.arange(len(marks))


def order_ranges(order: RowOrder, sample: pa.Table, files: int, ranges: int) -> OrderRanges:
    """Cut an order to about so many ranges with as many rows, given the keys of a sample of them.

    Ranges of values that come often are fewer. Files get neighbouring ranges, of as many rows.
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
