"""`readable_metrics`: counts and typed bounds of each column, out of the manifest's maps.

One pass over each map for all columns; no loop over files. Source: Java's MetricsUtil.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.arrays import struct_of
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.arrow.values import Side, bounds_array
from iceberg_spark.scan.column_stats import map_values
from iceberg_spark.spec.types import IcebergType, StructType, UnknownType

MAP_OF: Mapping[str, str] = {
    "column_size": "column_sizes",
    "value_count": "value_counts",
    "null_value_count": "null_value_counts",
    "nan_value_count": "nan_value_counts",
    "lower_bound": "lower_bounds",
    "upper_bound": "upper_bounds",
}
"""Which column of a manifest each readable metric comes from."""

_BOUNDS = ("lower_bound", "upper_bound")


def maps_of(wanted: StructType) -> frozenset[str]:
    """Return the columns of a manifest that these readable metrics are made from."""
    return frozenset(
        MAP_OF[metric.name] for column in wanted.fields for metric in _metrics(column.field_type)
    )


def readable_metrics(
    entries: pa.Table, wanted: StructType, ids: Mapping[str, int]
) -> pa.StructArray:
    """Return the struct of a struct for each column; `ids` gives the field id of a full name.

    A metric that a file does not have is null, also where it has none at all.
    """
    found = {name: _of_map(entries, name, wanted, ids) for name in maps_of(wanted)}
    rows = entries.num_rows
    columns = []
    for column in wanted.fields:
        field_id, kind = ids[column.name], to_arrow_type(column.field_type)
        metrics = [
            _metric(found[MAP_OF[one.name]][field_id], one.name, one.field_type)
            for one in _metrics(column.field_type)
        ]
        columns.append(struct_of(rows, metrics, kind))
    return struct_of(rows, columns, to_arrow_type(wanted))


def _of_map(
    entries: pa.Table, name: str, wanted: StructType, ids: Mapping[str, int]
) -> dict[int, Any]:
    needed: Collection[int] = [
        ids[column.name]
        for column in wanted.fields
        if any(MAP_OF[metric.name] == name for metric in _metrics(column.field_type))
    ]
    return map_values(entries.column(name), needed)


def _metric(values: Any, name: str, kind: IcebergType) -> Any:
    if name not in _BOUNDS:
        return values
    if isinstance(kind, UnknownType):
        return pa.nulls(len(values))
    return bounds_array(kind, values, Side.SHOWN)


def _metrics(kind: IcebergType) -> tuple[Any, ...]:
    return kind.fields if isinstance(kind, StructType) else ()
