"""Small tables made of lists; one row per snapshot, reference or log entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.spec.schema import Schema


def table_of(schema: Schema, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Return lists of plain values as a table of exactly the schema's Arrow types."""
    kinds = to_arrow(schema)
    arrays = [pa.array(columns[kind.name], kind.type) for kind in kinds]
    return pa.Table.from_arrays(arrays, schema=kinds)


def micros(times_ms: Iterable[int]) -> list[int]:
    """Return times in ms since the epoch as µs, which is what timestamp columns hold."""
    return [one * 1000 for one in times_ms]
