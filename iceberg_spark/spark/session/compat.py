"""All differences between PySpark versions."""

from __future__ import annotations

import importlib
import inspect

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

_TIMEZONE: dict[str, str] = (
    {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
)


def expected_arrow_schema(frame_type: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark expects from a Python source with these columns.

    PySpark 4.3 raises if a batch has another schema; 4.1 does not check and reads wrong values. 4.1
    has no `timezone` argument and always uses UTC.
    """
    # mypy checks against one PySpark only, and the argument is there in the other
    return to_arrow_schema(frame_type, **_TIMEZONE)  # type: ignore[arg-type, unused-ignore]


def stops_where_it_was() -> type:
    """Return the base class of a stream that can stop at the version its table had at the start.

    PySpark has it from 4.2 on; for 4.1 it is `object`.
    """
    try:
        module = importlib.import_module("pyspark.sql.streaming.datasource")
    except ImportError:
        return object
    kind: type = module.SupportsTriggerAvailableNow
    return kind


def read_limit(files: int | None, rows: int | None) -> object:
    """Return a stream's own limit as Spark's value; it has none for both, and files go first."""
    module = importlib.import_module("pyspark.sql.streaming.datasource")
    if files is not None:
        return module.ReadMaxFiles(files)
    return module.ReadAllAvailable() if rows is None else module.ReadMaxRows(rows)


def takes_everything(limit: object) -> bool:
    """Return whether Spark requests all available data, whatever the stream's own limits are."""
    return type(limit).__name__ == "ReadAllAvailable"
