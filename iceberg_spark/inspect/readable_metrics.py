"""`readable_metrics`: counts and typed bounds of each column, from the maps of a manifest.

Each map is read once for all columns; there is no loop over files. Source: Java's MetricsUtil.
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
"""The column of a manifest that each readable metric comes from."""

_BOUNDS = ("lower_bound", "upper_bound")


def maps_of(metrics_struct: StructType) -> frozenset[str]:
    """Return the columns of a manifest that the readable metrics come from."""
    return frozenset(
        MAP_OF[metric.name]
        for column in metrics_struct.fields
        for metric in _metrics(column.field_type)
    )


def readable_metrics(
    entries: pa.Table, metrics_struct: StructType, ids: Mapping[str, int]
) -> pa.StructArray:
    """Return a struct with a struct of metrics for each column; `ids` maps full names to field ids.

    A metric that a file lacks is null.
    """
    values = {
        name: _values_of_map(entries, name, metrics_struct, ids) for name in maps_of(metrics_struct)
    }
    rows = entries.num_rows
    columns = []
    for column in metrics_struct.fields:
        field_id, kind = ids[column.name], to_arrow_type(column.field_type)
        metrics = [
            _metric(values[MAP_OF[metric.name]][field_id], metric.name, metric.field_type)
            for metric in _metrics(column.field_type)
        ]
        columns.append(struct_of(rows, metrics, kind))
    return struct_of(rows, columns, to_arrow_type(metrics_struct))


def _values_of_map(
    entries: pa.Table, name: str, metrics_struct: StructType, ids: Mapping[str, int]
) -> dict[int, Any]:
    field_ids: Collection[int] = [
        ids[column.name]
        for column in metrics_struct.fields
        if any(MAP_OF[metric.name] == name for metric in _metrics(column.field_type))
    ]
    return map_values(entries.column(name), field_ids)


def _metric(values: Any, name: str, kind: IcebergType) -> Any:
    if name not in _BOUNDS:
        return values
    if isinstance(kind, UnknownType):
        return pa.nulls(len(values))
    return bounds_array(kind, values, Side.SHOWN)


def _metrics(kind: IcebergType) -> tuple[Any, ...]:
    return kind.fields if isinstance(kind, StructType) else ()
