"""Statistics of files as typed columns.

A statistics table has one row per file and the columns that `expr.stats` names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.arrow.values import Side, bounds_array
from iceberg_spark.expr.stats import Kind, Statistic, column
from iceberg_spark.manifest.map_values import map_values
from iceberg_spark.manifest.schemas import value_column
from iceberg_spark.spec.types import IcebergType

MAP_OF: Mapping[Kind, str] = {
    Kind.LOWER: "lower_bounds",
    Kind.UPPER: "upper_bounds",
    Kind.NULL_COUNT: "null_value_counts",
    Kind.NAN_COUNT: "nan_value_counts",
    Kind.VALUE_COUNT: "value_counts",
}
"""The column of ENTRY_COLUMNS for each kind of statistic."""


def stats_table(entries: pa.Table, needed: Iterable[Statistic]) -> pa.Table:
    """Return the statistics table of manifest entries: bounds typed, unknown and NaN as null.

    The entries have the columns of `statistic_columns`, or whole maps, as those of deletes, whose
    keys are known from the entries only. A statistic without a column is unknown. So are null and
    value counts that leave out rows: Java's ORC writer does not count rows whose parent struct is
    null, although the column is null there, so its null count of 0 proves nothing.
    """
    statistics = sorted(set(needed), key=_order)
    by_map: dict[str, dict[int, Any]] = {}
    for name in {MAP_OF[kind] for kind, _, _ in statistics}:
        ids = {field_id for kind, field_id, _ in statistics if MAP_OF[kind] == name}
        by_map[name] = _values(entries, name, ids)
    columns, names = [], []
    complete = _complete(entries, by_map.get(MAP_OF[Kind.VALUE_COUNT], {}))
    for kind, field_id, field_type in statistics:
        raw = by_map.get(MAP_OF[kind], {}).get(field_id)
        if kind in (Kind.NULL_COUNT, Kind.VALUE_COUNT) and raw is not None and field_id in complete:
            raw = pc.if_else(complete[field_id], raw, None)
        columns.append(_typed(raw, kind, field_type, entries.num_rows))
        names.append(column(kind, field_id))
    if not columns:
        return pa.table({"rows": pa.nulls(entries.num_rows)})
    table = pa.Table.from_arrays(columns, names)
    for field_id in {field_id for _, field_id, _ in statistics}:
        table = _without_crossed_bounds(table, field_id)
    return table


def _values(entries: pa.Table, name: str, field_ids: Collection[int]) -> dict[int, Any]:
    if name in entries.column_names:
        return map_values(entries.column(name), field_ids)
    columns = {field_id: value_column(name, field_id) for field_id in field_ids}
    return {
        field_id: concat(entries.column(column))
        for field_id, column in columns.items()
        if column in entries.column_names
    }


def _without_crossed_bounds(table: pa.Table, field_id: int) -> pa.Table:
    """Make both bounds unknown where the lower one is above the upper one: either may be wrong."""
    lower, upper = column(Kind.LOWER, field_id), column(Kind.UPPER, field_id)
    if not {lower, upper} <= set(table.column_names):
        return table
    is_crossed = pc.fill_null(
        pc.greater(table.column(lower), table.column(upper)), fill_value=False
    )
    if not pc.any(is_crossed, min_count=0).as_py():
        return table
    for name in (lower, upper):
        unknown = pc.if_else(pc.fill_null(is_crossed, fill_value=False), None, table.column(name))
        table = table.set_column(table.column_names.index(name), name, unknown)
    return table


def _complete(entries: pa.Table, value_counts: Mapping[int, Any]) -> dict[int, Any]:
    """Return the complete rows for fields with value counts that leave out rows."""
    complete: dict[int, Any] = {}
    if not value_counts:
        return complete
    rows = entries.column("record_count").combine_chunks()
    for field_id, counts in value_counts.items():
        same = pc.fill_null(pc.equal(counts, rows), fill_value=True)
        if not pc.all(same, min_count=0).as_py():
            complete[field_id] = same
    return complete


def _order(item: Statistic) -> tuple[int, str]:
    return item.field_id, str(item.kind)


def _typed(raw: Any, kind: Kind, field_type: IcebergType, rows: int) -> Any:
    if kind in (Kind.LOWER, Kind.UPPER):
        bounds = pa.nulls(rows, pa.binary()) if raw is None else raw
        return bounds_array(field_type, bounds, Side.LOWER if kind is Kind.LOWER else Side.UPPER)
    return pa.nulls(rows, pa.int64()) if raw is None else raw.cast(pa.int64())


def statistic_columns(needed: Iterable[Statistic]) -> tuple[str, ...]:
    """Return the columns of an entry table that these statistics come from."""
    return tuple(sorted({value_column(MAP_OF[kind], field_id) for kind, field_id, _ in needed}))
