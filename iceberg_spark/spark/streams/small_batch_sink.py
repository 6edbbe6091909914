"""The rows of a small batch of a stream, brought to the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

_BYTES: Mapping[type[t.DataType], int] = {
    t.BooleanType: 1, t.ByteType: 1, t.ShortType: 2, t.IntegerType: 4, t.LongType: 8,
    t.FloatType: 4, t.DoubleType: 8, t.DateType: 4, t.TimestampType: 8, t.TimestampNTZType: 8,
    t.DecimalType: 16, t.StringType: 20, t.BinaryType: 100,
}  # fmt: skip
"""What comes to the driver the same as through a task's Arrow batches, and Spark's own estimates
of a value's size (`DataType.defaultSize`)."""


def rows_brought(columns: t.StructType) -> int:
    """Return how many rows of these columns may be brought to the driver, 0 for none."""
    sizes = [_bytes(field.dataType) for field in columns.fields]
    if not sizes or 0 in sizes:
        return 0
    return min(SMALL_BATCHES.rows, max(1, SMALL_BATCHES.bytes // sum(sizes)))


def small_batch(frame: DataFrame) -> pa.Table | None:
    """Return a batch's rows; None where they are too many, or hold what Arrow tells otherwise."""
    most = rows_brought(frame.schema)
    if most == 0:
        return None
    rows = frame.limit(most + 1).toArrow()
    return rows if rows.num_rows <= most else None


def run_through(frame: DataFrame) -> None:
    """Compute a batch whose rows nobody wants: Spark refuses to go on where state was not."""
    frame.write.format("noop").mode("overwrite").save()


def _bytes(kind: t.DataType) -> int:
    return _BYTES.get(type(kind), 0)


@dataclass(frozen=True, slots=True)
class SmallBatches:
    """Which batches of a stream the driver writes itself: a job of Spark's costs more than they."""

    rows: int = 100_000
    """Rows, at most; 1,000 rows cost half of what Spark's writer takes for them, and 100,000 about
    as much."""
    bytes: int = 32 * 1024 * 1024
    """Bytes of rows as Spark estimates them by the types of the columns, at most."""


SMALL_BATCHES = SmallBatches()
