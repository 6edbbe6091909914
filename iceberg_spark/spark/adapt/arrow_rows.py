"""Arrow rows as Spark frames, whatever the session's time zone and settings are."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a frame of an Arrow table; a timestamp without a zone stays one (TIMESTAMP_NTZ).

    By itself Spark takes it for an instant in the session's time zone, which skips some wall
    clocks and repeats others: Arrow refuses these then.
    """
    return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))
