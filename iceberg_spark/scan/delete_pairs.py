"""Drop pairs of a data file and a delete file that provably have no row in common.

Java's `DeleteFileIndex.canContainEqDeletesForFile`, on columns, and stricter with NaN: in equality
deletes NaN equals NaN, and bounds do not cover it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, distinct
from iceberg_spark.expr.stats import Kind, Statistic, column, may_be_nan
from iceberg_spark.scan.column_stats import stats_table
from iceberg_spark.spec.types import PRIMITIVES, IcebergType, LongType, UUIDType

Rows: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

COUNTS = (Kind.NULL_COUNT, Kind.NAN_COUNT, Kind.VALUE_COUNT)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Row numbers of data files and of the delete files that may apply to them."""

    data: Rows
    deletes: Rows

    def __len__(self) -> int:
        return len(self.data)

    def only(self, keep: Mask) -> Pairs:
        """Return the pairs where the mask is true."""
        return Pairs(self.data[keep], self.deletes[keep])


@dataclass(frozen=True, slots=True)
class PairPruning:
    """Statistics of the delete files, for comparison with data files."""

    equality_ids: Mapping[int, Mask]  # equality column -> the delete files that use it
    needed: tuple[Statistic, ...]  # of data files
    stats: pa.Table
    first_position: Any  # of position deletes, null where unknown
    path_bounds: tuple[Any, Any]  # lower, upper as binary; null unless both are known

    def keep_equality(self, pairs: Pairs, data: pa.Table) -> Pairs:
        """Return the pairs of equality deletes that may share a row.

        `data` is the statistics table (`needed_statistics`) of the data files.
        """
        for field_id, uses in self.equality_ids.items():
            if len(pairs) == 0:
                break
            apart = np.zeros(len(pairs), np.bool_)
            indices = np.flatnonzero(uses[pairs.deletes])
            apart[indices] = _apart(self._field(field_id), data, self.stats, pairs, indices)
            pairs = pairs.only(~apart)
        return pairs

    def _field(self, field_id: int) -> tuple[int, IcebergType]:
        kinds = (item.field_type for item in self.needed if item.field_id == field_id)
        return field_id, next(kinds)

    def keep_positions(self, pairs: Pairs, entries: pa.Table) -> Pairs:
        """Return the pairs whose delete file does not begin past the data file's last row."""
        if len(pairs) == 0:
            return pairs
        rows = entries.column("record_count").to_numpy()
        first = self.first_position.fill_null(0).to_numpy()
        return pairs.only(first[pairs.deletes] < rows[pairs.data])

    def keep_paths(self, pairs: Pairs, entries: pa.Table) -> Pairs:
        """Return the pairs whose data file is within the bounds of the paths in the delete file."""
        has_bounds = _mask(self.path_bounds[0].is_valid())
        bounded = np.flatnonzero(has_bounds[pairs.deletes])
        if len(bounded) == 0:
            return pairs
        some = distinct(pairs.data[bounded])
        paths = entries.column("file_path").take(pa.array(some)).cast(pa.binary())
        path, lower, upper = ranks([concat(paths), *self.path_bounds])
        rank = path[np.searchsorted(some, pairs.data[bounded])]
        deletes = pairs.deletes[bounded]
        keep = np.ones(len(pairs), np.bool_)
        keep[bounded] = (lower[deletes] <= rank) & (rank <= upper[deletes])
        return pairs.only(keep)


def pair_pruning(
    entries: pa.Table,
    equality: Mapping[int, Mask],
    field_types: Mapping[int, IcebergType],
    first_position: Any,
    path_bounds: tuple[Any, Any],
) -> PairPruning:
    """Collect the statistics of delete files (ENTRY_COLUMNS, one row each).

    `equality` marks the rows that use an equality column; columns of unknown or nested types, and
    UUIDs (two orders of their bounds exist), are not compared.
    """
    usable = {
        field_id: uses
        for field_id, uses in equality.items()
        if _is_comparable(field_types.get(field_id))
    }
    needed = tuple(_needed((field_id, field_types[field_id]) for field_id in sorted(usable)))
    table = stats_table(entries, needed)
    return PairPruning(usable, needed, table, first_position, path_bounds)


def _is_comparable(kind: IcebergType | None) -> bool:
    return isinstance(kind, PRIMITIVES) and not isinstance(kind, UUIDType)


def _needed(fields: Iterable[tuple[int, IcebergType]]) -> Iterable[Statistic]:
    for field_id, kind in fields:
        yield Statistic(Kind.LOWER, field_id, kind)
        yield Statistic(Kind.UPPER, field_id, kind)
        for count in COUNTS:
            yield Statistic(count, field_id, LongType())


def _apart(
    field: tuple[int, IcebergType], data: pa.Table, deletes: pa.Table, pairs: Pairs, indices: Rows
) -> Mask:
    """Return which of the pairs at `indices` have no value of the field in common."""
    field_id, kind = field
    left, right = pairs.data[indices], pairs.deletes[indices]
    of_data, of_deletes = _presence(data, field_id, kind), _presence(deletes, field_id, kind)
    lower, upper = column(Kind.LOWER, field_id), column(Kind.UPPER, field_id)
    bounds = [table.column(name) for table in (data, deletes) for name in (lower, upper)]
    has_bound = [_mask(bound.is_valid()) for bound in bounds]
    all_known = (has_bound[0] & has_bound[1])[left] & (has_bound[2] & has_bound[3])[right]
    low, high, delete_low, delete_high = ranks([concat(bound) for bound in bounds])
    disjoint = (low[left] > delete_high[right]) | (delete_low[right] > high[left])
    share_null = of_data.may_null[left] & of_deletes.may_null[right]
    share_nan = of_data.may_nan[left] & of_deletes.may_nan[right]
    only_null_here = of_data.only_null[left] & ~of_deletes.may_null[right]
    only_null_there = of_deletes.only_null[right] & ~of_data.may_null[left]
    apart: Mask = (all_known & disjoint & ~share_null & ~share_nan) | only_null_here
    return apart | only_null_there


@dataclass(frozen=True, slots=True)
class _Presence:
    may_null: Mask
    may_nan: Mask
    only_null: Mask


def _presence(table: pa.Table, field_id: int, kind: IcebergType) -> _Presence:
    nulls, nans, values = (table.column(column(count, field_id)) for count in COUNTS)
    may_nan = np.zeros(len(table), np.bool_)
    if may_be_nan(kind):
        may_nan = _mask(pc.fill_null(pc.not_equal(nans, 0), True))
    return _Presence(
        _mask(pc.fill_null(pc.not_equal(nulls, 0), True)),
        may_nan,
        _mask(pc.fill_null(pc.equal(nulls, values), False)),
    )


def ranks(columns: Sequence[Any]) -> list[Any]:
    """Return columns of one type as numbers with the same order (nulls: arbitrary)."""
    kind = columns[0].type
    if pa.types.is_floating(kind):
        return [values.fill_null(0.0).to_numpy() for values in columns]
    if pa.types.is_integer(kind):
        return [values.fill_null(0).to_numpy() for values in columns]
    order = pc.rank(pa.concat_arrays(columns), tiebreaker="dense").to_numpy()
    ends = np.cumsum([len(values) for values in columns])
    return np.split(order.astype(np.int64), ends[:-1])


def _mask(column: Any) -> Mask:
    values: Mask = (
        column.to_numpy(zero_copy_only=False)
        if isinstance(column, pa.Array)
        else (column.to_numpy())
    )
    return values
