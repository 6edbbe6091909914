"""Small tables built from lists: one row per snapshot, reference or log entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.spec.schema import Schema


def table_of(schema: Schema, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Return lists of plain values as a table with exactly the Arrow types of the schema."""
    kinds = to_arrow(schema)
    arrays = [pa.array(columns[kind.name], kind.type) for kind in kinds]
    return pa.Table.from_arrays(arrays, schema=kinds)


def micros(times_ms: Iterable[int]) -> list[int]:
    """Convert ms since the epoch to µs, the unit of timestamp columns."""
    return [time_ms * 1000 for time_ms in times_ms]
