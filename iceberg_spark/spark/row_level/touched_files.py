"""Which files of a target hold rows that change: one narrow pass, a row per file comes back."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from iceberg_spark.spark.row_level.target_rows import FILE


def rows_by_file(rows: DataFrame) -> Mapping[str, int]:
    """Return how many rows of a frame lie in each file; the driver holds a path per file."""
    counted = rows.groupBy(FILE).agg(sf.count(sf.lit(1)).alias("rows")).collect()
    return {row[FILE]: row["rows"] for row in counted}
