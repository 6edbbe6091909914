"""The number of changing rows for each file of a target: one narrow pass, one row for each file."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from iceberg_spark.spark.row_level.target_rows import FILE


def rows_by_file(rows: DataFrame) -> Mapping[str, int]:
    """Return the number of rows by file; the driver holds a path for each file."""
    counted = rows.groupBy(FILE).agg(sf.count(sf.lit(1)).alias("rows")).collect()
    return {row[FILE]: row["rows"] for row in counted}
