"""Metrics of another writer's ORC file, from the column statistics in its tail.

Source: Java's OrcMetrics. Values below a null struct count as null here, where Java ignores them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow.types as pt

from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.formats.footer_metrics import known_id
from iceberg_spark.formats.metrics import Metrics
from iceberg_spark.formats.metrics_modes import MetricsMode
from iceberg_spark.formats.orc_statistics import OrcColumn
from iceberg_spark.formats.truncate_bounds import lower_bound, upper_bound
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
)
from iceberg_spark.spec.values import to_bytes


def columns_by_id(
    fields: Sequence[FileField], columns: Sequence[OrcColumn], rows: int
) -> dict[int, OrcColumn]:
    """Return the statistics of a file's columns by field id, except inside lists and maps.

    Empty if its columns differ from Arrow's (unions); without columns whose number of values is
    unknown.
    """
    if len(columns) != 1 + sum(map(_size, fields)):
        return {}
    return {
        field_id: columns[number]
        for number, field in _numbered(fields, 1)
        if (field_id := known_id(field)) is not None
        and (values := columns[number].values) is not None
        and values <= rows
    }


def orc_metrics(
    rows: int, columns: Mapping[int, OrcColumn], schema: Schema, modes: Mapping[int, MetricsMode]
) -> Metrics:
    """Return the metrics of the file columns that the table has; `columns` are by field id."""
    sizes, values, nulls = {}, {}, {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for field_id, column in columns.items():
        if schema.get(field_id) is None or not modes[field_id].has_counts or column.values is None:
            continue
        values[field_id], nulls[field_id] = rows, rows - column.values
        if column.size is not None:
            sizes[field_id] = column.size
        kind = schema.find_type(field_id)
        ends = orc_extremes(column, kind) if modes[field_id].has_bounds else None
        if ends is not None:
            width = modes[field_id].width
            lower[field_id] = lower_bound(kind, ends[0], width)
            high = upper_bound(kind, ends[1], width, or_whole=True)
            if high is not None:
                upper[field_id] = high
    return Metrics(rows, sizes, values, nulls, {}, lower, upper)


def orc_extremes(column: OrcColumn, kind: IcebergType) -> tuple[Any, Any] | None:
    """Return the least and greatest canonical value of a column, None if they are unknown."""
    ends = _extremes(column, kind)
    try:
        for value in ends or ():
            to_bytes(kind, value)
    except InvalidInputError:
        return None  # out of the type's range
    return ends


def _extremes(column: OrcColumn, kind: IcebergType) -> tuple[Any, Any] | None:
    match kind:
        case IntegerType() | LongType():
            return column.ints
        case DateType():
            return column.days
        case StringType():
            return column.text
        case BooleanType():
            return column.flags
        case DecimalType():
            return column.decimals
        case _:
            return None


def _numbered(fields: Sequence[FileField], first: int) -> Iterator[tuple[int, FileField]]:
    """Yield fields with ORC's numbers, in depth-first order."""
    number = first
    for field in fields:
        yield number, field
        if pt.is_struct(field.kind):
            yield from _numbered(field.children, number + 1)
        number += _size(field)


def _size(field: FileField) -> int:
    return 1 + sum(map(_size, field.children))
