"""Bounds of partition fields in manifest lists (specification, "Manifest Lists")."""

import pyarrow as pa
import pytest

from iceberg_spark.manifest.writer import field_summary
from iceberg_spark.spec.types import DateType, IcebergType, TimestampType
from iceberg_spark.spec.values import from_bytes


@pytest.mark.parametrize(
    ("kind", "stored", "low", "high"),
    [
        (DateType(), pa.date32(), -1_000_000, 3_663_437),
        (TimestampType(), pa.timestamp("us"), -(2**62), 316_516_204_800_000_000),
    ],
)
def test_days_that_python_has_no_dates_for_are_bounds(
    kind: IcebergType, stored: pa.DataType, low: int, high: int
) -> None:
    whole = pa.int32() if isinstance(kind, DateType) else pa.int64()
    found = field_summary(pa.array([high, None, low], whole).cast(stored), kind)
    assert found.contains_null
    assert found.lower_bound is not None and found.upper_bound is not None
    assert from_bytes(kind, found.lower_bound) == low
    assert from_bytes(kind, found.upper_bound) == high
