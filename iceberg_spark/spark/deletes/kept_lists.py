"""Lists that are part of a frame's expressions, each handed to Java once: 4 MB take it 8 ms."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

from iceberg_spark.read.bounded_cache import BoundedCache
from iceberg_spark.spark.adapt.arrow_rows import frame_of
from iceberg_spark.spark.deletes.limits import KEPT_LIST_BYTES

_lists = BoundedCache(KEPT_LIST_BYTES)


def list_column(session: SparkSession, name: Hashable, values: Any) -> Column:
    """Return an Arrow array as one value, a list; `name` is the same for the same values only.

    A column of a subquery, so that no rule of Spark's optimizer looks into the list.
    """

    def make_frame() -> tuple[DataFrame, int]:
        element = pa.field("element", values.type, nullable=bool(values.null_count))
        offsets = pa.array([0, len(values)], pa.int32())
        lists = pa.ListArray.from_arrays(offsets, values, type=pa.list_(element))
        schema = pa.schema([pa.field("list", lists.type)])
        return frame_of(session, pa.table([lists], schema)), int(values.nbytes)

    frame: DataFrame = _lists.get_or_load((session, name), make_frame)
    return frame.scalar()
