"""Differences between PySpark versions, all of them, in one place."""

from __future__ import annotations

import inspect

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

_TIMEZONE: dict[str, str] = (
    {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
)


def expected_arrow_schema(frame_type: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark expects from a Python source for this frame type.

    PySpark 4.3 compares it exactly and raises on a difference; 4.1 trusts the source and reads
    wrong values. 4.1 has no `timezone` argument and always says UTC.
    """
    # mypy checks against one PySpark only, and the argument is there in the other
    return to_arrow_schema(frame_type, **_TIMEZONE)  # type: ignore[arg-type, unused-ignore]
