"""The order of rows in a compaction: sort keys, and ranges of them."""

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
