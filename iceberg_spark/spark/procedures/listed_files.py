"""A list of files that a view or a frame has, for the search for orphans."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import TimestampNTZType, TimestampType

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.active_session import needed_session


def listed_files(view: object, spark: SparkSession | None) -> Any:  # pyarrow ships no types
    """Return the columns `file_path` and `last_modified` of a view (its name) or a frame.

    Times without a zone are of the session's. The driver holds the rows. Raises InvalidInputError
    for columns that are missing.
    """
    frame: Any = view
    if isinstance(view, str):
        frame = needed_session(spark).table(view)
    names = ("file_path", "last_modified")
    lacking = [name for name in names if name not in getattr(frame, "columns", ())]
    if lacking:
        raise InvalidInputError(
            f"file_list_view lacks {', '.join(lacking)}: it needs the columns file_path (text) and "
            "last_modified (timestamp)"
        )
    if isinstance(frame.schema["last_modified"].dataType, TimestampNTZType):
        frame = frame.withColumn("last_modified", frame["last_modified"].cast(TimestampType()))
    return frame.select(*names).toArrow()
